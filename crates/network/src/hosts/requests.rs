//! Requests of clients, such as browsers and video players, in a run: requests are sent from the client to the server over the
//! flow's reverse circuit, and files from the server to the client over its data circuit.
//!
//! ```text
//! client clock ─▶ Sender ── request ─▶ reverse circuit ─▶ Receiver ─▶ server ─▶ flow's Sender ── file ─▶ … ─▶ client
//!                    ◀────────────────── data circuit ◀───── ACK ────┘
//! ```
//!
//! Each direction has its own sender and receiver: a lost request is retransmitted like any data, and requests are
//! acknowledged like files. The directions share circuits but no packets, because ACKs are sent at once and not
//! piggybacked.
//!
//! If proxies split the connection, each of its parts carries requests. The last part, which ends at the client, has the
//! state of the application (`Exchange`).

use crate::packets::in_transit::InTransit;
use crate::report::files::File;
use crate::traffic::client::{Client, Playback};
use crate::traffic::parameters::NewFlow;
use longpipe_events::memory::Growing;
use longpipe_events::{MaybeTime, Span, Time};
use longpipe_tcp::{AckSegment, DataSegment, Receiver, Sender};

/// The direction of a connection that carries requests.
#[derive(Debug)]
pub struct Requests {
    /// State of the application; None at the parts of a split connection that end at a proxy.
    pub(super) exchange: Option<Exchange>,
    /// Sender of requests, at the client or at a proxy.
    pub(crate) sender: Sender,
    /// Receiver of requests, at the server or at a proxy.
    pub(crate) receiver: Receiver,
    /// Requests in transit.
    pub(crate) segments: InTransit<DataSegment>,
    /// ACKs of requests in transit.
    pub(crate) acks: InTransit<AckSegment>,
}

impl Requests {
    /// Creates the state of a connection without requests; `client` is None if the connection ends at a proxy. `phase` is
    /// the time of the first tick of the coarse clock.
    pub(super) fn new(client: Option<Box<dyn Client>>, flow: &NewFlow<'_>, phase: Span) -> Box<Requests> {
        let mut sender = Sender::new(flow.tcp, phase);
        sender.draw_from(flow.stream("control of requests"));
        Box::new(Requests {
            exchange: client.map(Exchange::new),
            sender,
            receiver: Receiver::new(flow.tcp),
            segments: InTransit::default(),
            acks: InTransit::default(),
        })
    }

    /// Disables all shortcuts of TCP.
    pub(super) fn disable_shortcuts(&mut self) {
        self.sender.disable_shortcuts();
        self.receiver.disable_shortcuts();
    }

    /// Requests a file. Returns the time of the next request if that time does not depend on the arrival of the file.
    pub(super) fn request_file(&mut self, now: Time) -> MaybeTime {
        let Some(exchange) = &mut self.exchange else {
            return MaybeTime::NONE;
        };
        let next = exchange.request_file(now);
        self.sender.write_up_to(exchange.requested_bytes());
        next
    }

    /// Returns whether the time of the next request depends on the arrival of files.
    pub(super) fn waits_for_files(&self) -> bool {
        let exchange = self.exchange.as_ref();
        exchange.is_some_and(|exchange| exchange.client.waits_for_files())
    }

    /// Returns the time of the next request of a client that waits for files, if it is known.
    pub(super) fn next_request(&self) -> MaybeTime {
        let exchange = self.exchange.as_ref();
        exchange.map_or(MaybeTime::NONE, |exchange| exchange.client.next_request())
    }

    /// Requests the next file if the request is due, or ends the requests if the application has stopped.
    pub(super) fn request_if_due(&mut self, now: Time, is_active: bool) {
        if self.next_request() > now.into() {
            return;
        }
        if is_active {
            self.request_file(now);
        } else if let Some(exchange) = &mut self.exchange {
            exchange.client.stop(now);
        }
    }

    /// Invoked when the receiving end of the connection has received the first `delivered` bytes of all files.
    pub(crate) fn on_delivered(&mut self, now: Time, delivered: u64) {
        if let Some(exchange) = &mut self.exchange {
            exchange.on_delivered(now, delivered);
        }
    }

    /// Returns an invariant of the sequence numbers of requests that is violated, if any; `written` bytes of requests
    /// have been written.
    pub(crate) fn broken(&self, written: u64) -> Option<String> {
        let (space, counters) = (self.sender.flight(), self.sender.counters());
        let holds = space.una <= space.nxt
            && space.nxt <= space.max
            && space.una <= self.receiver.delivered()
            && self.receiver.highest() <= space.max
            && space.max <= written
            && counters.sent_bytes == space.max + counters.retransmitted_bytes;
        (!holds).then(|| format!("{space:?}, {written} bytes of requests written"))
    }
}

/// The client, and the files that it has requested from the server.
#[derive(Debug)]
pub struct Exchange {
    client: Box<dyn Client>,
    request_bytes: u64,
    /// Files in the order of their requests.
    files: Vec<File>,
    answered: usize,
    completed: usize,
    /// Total length [byte] of the files that the server has written.
    scheduled: u64,
    /// Total length [byte] of the files that the client has received completely.
    delivered: u64,
}

impl Exchange {
    fn new(client: Box<dyn Client>) -> Exchange {
        Exchange {
            request_bytes: u64::from(client.request_bytes()),
            client,
            files: Vec::new(),
            answered: 0,
            completed: 0,
            scheduled: 0,
            delivered: 0,
        }
    }

    fn request_file(&mut self, now: Time) -> MaybeTime {
        let (request, next) = self.client.request(now);
        self.files.put(File {
            class: request.class,
            bytes: request.bytes,
            requested: now,
            answered: None,
            completed: None,
        });
        next
    }

    /// Returns the total length [byte] of all requests.
    pub(crate) fn requested_bytes(&self) -> u64 {
        self.files.len() as u64 * self.request_bytes
    }

    /// Returns the times that a player spent in playback and in stalls up to `now`; None for other clients.
    pub(crate) fn playback(&self, now: Time) -> Option<Playback> {
        self.client.playback(now)
    }

    /// Answers the requests that have arrived completely; the server has received the first `arrived` bytes of all
    /// requests. Returns the total number of bytes written.
    pub(super) fn answer(&mut self, now: Time, arrived: u64) -> u64 {
        let arrived = (arrived / self.request_bytes) as usize;
        for file in &mut self.files[self.answered..arrived] {
            file.answered = Some(now);
            self.scheduled += file.bytes;
        }
        self.answered = arrived;
        self.scheduled
    }

    fn on_delivered(&mut self, now: Time, delivered: u64) {
        while let Some(file) = self.files[..self.answered].get_mut(self.completed) {
            if self.delivered + file.bytes > delivered {
                return;
            }
            self.delivered += file.bytes;
            self.completed += 1;
            file.completed = Some(now);
            self.client.on_file(now, file.requested, file.bytes);
        }
    }

    /// Returns the requested files, in order.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Returns the number of bytes that the server has written.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Returns an invariant of files that is violated, if any, given the bytes of requests that the server has received
    /// and the bytes of files that the client has received.
    pub(crate) fn broken(&self, arrived: u64, delivered: u64) -> Option<String> {
        let answered: u64 = self.files[..self.answered].iter().map(|file| file.bytes).sum();
        let in_turn = |instant: fn(&File) -> Option<Time>, count: usize| {
            let (done, open) = self.files.split_at(count);
            done.windows(2).all(|pair| instant(&pair[0]) <= instant(&pair[1]))
                && done.iter().all(|file| instant(file) >= Some(file.requested))
                && open.iter().all(|file| instant(file).is_none())
        };
        let holds = self.answered as u64 == arrived / self.request_bytes
            && self.scheduled == answered
            && self.completed <= self.answered
            && self.delivered <= delivered
            && delivered <= self.scheduled
            && in_turn(|file| file.answered, self.answered)
            && in_turn(|file| file.completed, self.completed);
        (!holds).then(|| {
            format!(
                "{} asked, {} answered, {} completed, {} bytes scheduled, {delivered} delivered",
                self.files.len(),
                self.answered,
                self.completed,
                self.scheduled
            )
        })
    }
}
