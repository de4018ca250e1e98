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

use crate::packets::in_transit::InTransit;
use crate::report::files::File;
use crate::traffic::client::{Client, Playback};
use crate::traffic::parameters::NewFlow;
use longpipe_events::memory::Growing;
use longpipe_events::{MaybeTime, Span, Time};
use longpipe_tcp::{AckSegment, DataSegment, Receiver, Sender};

/// The client's half of a connection, and the application at the server.
#[derive(Debug)]
pub struct Requests {
    client: Box<dyn Client>,
    request_bytes: u64,
    /// Sender of requests, at the client.
    pub(crate) sender: Sender,
    /// Receiver of requests, at the server.
    pub(crate) receiver: Receiver,
    /// Requests in transit.
    pub(crate) segments: InTransit<DataSegment>,
    /// ACKs of requests in transit.
    pub(crate) acks: InTransit<AckSegment>,
    /// Files in the order of their requests.
    files: Vec<File>,
    answered: usize,
    completed: usize,
    /// Total length [byte] of the files that the server has written.
    scheduled: u64,
    /// Total length [byte] of the files that the client has received completely.
    delivered: u64,
}

impl Requests {
    /// Creates the state of a client without requests. `phase` is the time of the first tick of its coarse clock.
    pub(super) fn new(client: Box<dyn Client>, flow: &NewFlow<'_>, phase: Span) -> Box<Requests> {
        let mut sender = Sender::new(flow.tcp, phase);
        sender.draw_from(flow.stream("control of requests"));
        Box::new(Requests {
            request_bytes: u64::from(client.request_bytes()),
            client,
            sender,
            receiver: Receiver::new(flow.tcp),
            segments: InTransit::default(),
            acks: InTransit::default(),
            files: Vec::new(),
            answered: 0,
            completed: 0,
            scheduled: 0,
            delivered: 0,
        })
    }

    /// Disables all shortcuts of TCP.
    pub(super) fn disable_shortcuts(&mut self) {
        self.sender.disable_shortcuts();
        self.receiver.disable_shortcuts();
    }

    /// Requests a file. Returns the time of the next request if that time does not depend on the arrival of the file.
    pub(super) fn request_file(&mut self, now: Time) -> MaybeTime {
        let (request, next) = self.client.request(now);
        self.files.put(File {
            class: request.class,
            bytes: request.bytes,
            requested: now,
            answered: None,
            completed: None,
        });
        self.sender.write_up_to(self.files.len() as u64 * self.request_bytes);
        next
    }

    /// Returns whether the time of the next request depends on the arrival of files.
    pub(super) fn waits_for_files(&self) -> bool {
        self.client.waits_for_files()
    }

    /// Returns the time of the next request of a client that waits for files, if it is known.
    pub(super) fn next_request(&self) -> MaybeTime {
        self.client.next_request()
    }

    /// Requests the next file if the request is due, or ends the requests if the application has stopped.
    pub(super) fn request_if_due(&mut self, now: Time, is_active: bool) {
        if self.next_request() > now.into() {
            return;
        }
        if is_active {
            self.request_file(now);
        } else {
            self.client.stop(now);
        }
    }

    /// Returns the times that a player spent in playback and in stalls up to `now`; None for other clients.
    pub(crate) fn playback(&self, now: Time) -> Option<Playback> {
        self.client.playback(now)
    }

    /// Answers the requests that have arrived. Returns the total number of bytes written.
    pub(super) fn answer(&mut self, now: Time) -> u64 {
        let arrived = (self.receiver.delivered() / self.request_bytes) as usize;
        for file in &mut self.files[self.answered..arrived] {
            file.answered = Some(now);
            self.scheduled += file.bytes;
        }
        self.answered = arrived;
        self.scheduled
    }

    /// Invoked when the client has received the first `delivered` bytes of all files.
    pub(crate) fn on_delivered(&mut self, now: Time, delivered: u64) {
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

    /// Returns an invariant of requests and files that is violated, if any, given the bytes that the client has
    /// received.
    pub(crate) fn broken(&self, delivered: u64) -> Option<String> {
        let (space, counters) = (self.sender.flight(), self.sender.counters());
        let requested = self.files.len() as u64 * self.request_bytes;
        let answered: u64 = self.files[..self.answered].iter().map(|file| file.bytes).sum();
        let in_turn = |instant: fn(&File) -> Option<Time>, count: usize| {
            let (done, open) = self.files.split_at(count);
            done.windows(2).all(|pair| instant(&pair[0]) <= instant(&pair[1]))
                && done.iter().all(|file| instant(file) >= Some(file.requested))
                && open.iter().all(|file| instant(file).is_none())
        };
        let holds = space.una <= space.nxt
            && space.nxt <= space.max
            && space.una <= self.receiver.delivered()
            && self.receiver.highest() <= space.max
            && space.max <= requested
            && counters.sent_bytes == space.max + counters.retransmitted_bytes
            && self.answered as u64 == self.receiver.delivered() / self.request_bytes
            && self.scheduled == answered
            && self.completed <= self.answered
            && self.delivered <= delivered
            && delivered <= self.scheduled
            && in_turn(|file| file.answered, self.answered)
            && in_turn(|file| file.completed, self.completed);
        (!holds).then(|| {
            format!(
                "{space:?}, {} asked, {} answered, {} completed, {} bytes scheduled, {delivered} delivered",
                self.files.len(),
                self.answered,
                self.completed,
                self.scheduled
            )
        })
    }
}
