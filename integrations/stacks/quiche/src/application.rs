//! The application above a connection: streams, requests one after another, or datagrams.

use crate::http::Http;
use longpipe_end::adapter::{datagram_took, DatagramSource, Settings, Times, WebExchange, Workload};
use longpipe_end::{Role, Setup};
use quiche::Connection;
use std::collections::BTreeMap;

/// Amount of data that is offered to a stream at once [byte].
pub const CHUNK_BYTES: usize = 1 << 16;

pub static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// The application at one end.
pub struct Application {
    settings: Settings,
    start_ps: u64,
    /// Payload of the path [byte].
    packet_bytes: usize,
    /// Bytes that each stream that sends still has to write.
    outgoing: BTreeMap<u64, u64>,
    /// Stream that is offered data first, in turn.
    turn: u64,
    datagrams: Option<DatagramSource>,
    web: WebExchange,
    http: Option<Http>,
    /// Latest time at which the application acted [ps].
    acted_ps: u64,
    opened: u64,
    finished: u64,
    requested_ps: u64,
    times: Times,
    /// Flow data read so far [byte].
    pub delivered: u64,
    /// Time at which the flow's receiver had received all data [ps].
    pub completed_ps: Option<u64>,
}

impl Application {
    /// Creates an application that has not started yet.
    ///
    /// # Errors
    /// Returns an error that names the setting with the requests of a web client if it is invalid.
    pub fn new(settings: &Settings, setup: &Setup<'_>) -> Result<Application, String> {
        Ok(Application {
            settings: *settings,
            start_ps: setup.start_ps,
            packet_bytes: setup.most_bytes as usize,
            outgoing: BTreeMap::new(),
            turn: 0,
            datagrams: DatagramSource::new(settings.workload, settings.role, settings.size),
            web: WebExchange::read(setup)?,
            http: None,
            acted_ps: 0,
            opened: 0,
            finished: 0,
            requested_ps: 0,
            times: Times::default(),
            delivered: 0,
            completed_ps: None,
        })
    }

    /// Returns whether this end has sent and received all that it must.
    pub fn is_done(&self) -> bool {
        match (self.settings.role, self.settings.workload) {
            (Role::Receiver, _) => self.completed_ps.is_some(),
            (
                Role::Sender,
                Workload::Streams { count } | Workload::Requests { count, .. } | Workload::Web { count },
            ) => self.finished == count,
            (Role::Sender, Workload::Datagrams { .. }) => self.datagrams.as_ref().is_some_and(DatagramSource::is_done),
        }
    }

    /// Returns the time of the next datagram or of the next request of a web client [ps].
    pub fn due(&self) -> Option<u64> {
        let datagram = self.datagrams.as_ref().and_then(DatagramSource::due);
        // While the peer permits no further stream, a request waits for the peer's packet.
        let request = self.web.due().filter(|at| self.is_web_client() && *at > self.acted_ps);
        datagram.into_iter().chain(request).min()
    }

    fn is_web_client(&self) -> bool {
        self.settings.role == Role::Receiver && matches!(self.settings.workload, Workload::Web { .. })
    }

    /// Returns the columns about what this end has sent or received.
    pub fn values(&self) -> Vec<(String, f64)> {
        if let Workload::Web { .. } = self.settings.workload {
            return self.web.values();
        }
        match (&self.datagrams, self.settings.role) {
            (Some(source), _) => vec![("sent_datagrams".to_owned(), source.sent() as f64)],
            (None, Role::Sender) => Vec::new(),
            (None, Role::Receiver) => self.times.values(self.settings.workload),
        }
    }

    /// Reads and writes all streams and datagrams that are ready.
    ///
    /// # Errors
    /// Returns an error if HTTP/3 fails.
    pub fn act(&mut self, open: &mut Connection, now: u64, connects: bool) -> Result<(), String> {
        self.acted_ps = now;
        if self.settings.http3 && matches!(self.settings.workload, Workload::Web { .. }) {
            let http = match &mut self.http {
                Some(http) => http,
                none => none.insert(Http::new(open)?),
            };
            return http
                .act(
                    open,
                    now,
                    self.packet_bytes,
                    self.settings.role,
                    &mut self.web,
                    &mut self.delivered,
                )
                .map(|done| {
                    self.finished = http.finished();
                    if done && self.settings.role == Role::Receiver {
                        self.completed_ps.get_or_insert(now);
                    }
                });
        }
        self.read(open, now);
        if connects {
            self.open(now);
        }
        if let Some(source) = &mut self.datagrams {
            // quiche sends none in early data.
            if open.is_established() {
                source.begin(now);
            }
            while let Some(datagram) = source.next(now) {
                // A full queue drops it, as it drops those of any application.
                let _ = open.dgram_send(&datagram);
            }
        }
        self.write(open);
        Ok(())
    }

    fn read(&mut self, open: &mut Connection, now: u64) {
        let mut buffer = [0; CHUNK_BYTES];
        let mut readable: Vec<u64> = open.readable().collect();
        readable.sort_unstable();
        for stream in readable {
            while let Ok((bytes, over)) = open.stream_recv(stream, &mut buffer) {
                if self.settings.role == Role::Receiver {
                    self.delivered += bytes as u64;
                }
                if over {
                    self.on_end(stream, now);
                }
            }
        }
        while let Ok(bytes) = open.dgram_recv(&mut buffer) {
            if let Some(took_ps) = datagram_took(&buffer[..bytes], now) {
                self.delivered += bytes as u64;
                self.times.push(took_ps);
                if self.delivered >= self.settings.size {
                    self.completed_ps.get_or_insert(now);
                }
            }
        }
    }

    /// Opens the streams of the transfer, or that of the next request.
    fn open(&mut self, now: u64) {
        match self.settings.workload {
            Workload::Streams { count } => {
                while self.opened < count {
                    // The identifiers of a client's streams in one direction (RFC 9000 section 2.1).
                    self.outgoing.insert(
                        4 * self.opened + 2,
                        self.settings.workload.share(self.settings.size, self.opened),
                    );
                    self.opened += 1;
                }
            }
            Workload::Requests { count, request } => {
                if self.opened < count && self.opened == self.times.count() {
                    self.requested_ps = now;
                    self.outgoing.insert(4 * self.opened, request);
                    self.opened += 1;
                }
            }
            Workload::Web { .. } => {
                while let Some((number, request)) = self.web.next(now) {
                    self.outgoing.insert(4 * number as u64, request.request_bytes);
                }
            }
            Workload::Datagrams { .. } => {}
        }
    }

    fn on_end(&mut self, stream: u64, now: u64) {
        match (self.settings.workload, self.settings.role) {
            (Workload::Streams { count }, Role::Receiver) => {
                self.times.push(now - self.start_ps);
                if self.times.count() == count {
                    self.completed_ps = Some(now);
                }
            }
            (Workload::Requests { .. }, Role::Sender) => {
                self.outgoing.insert(stream, self.settings.size);
            }
            (Workload::Requests { count, .. }, Role::Receiver) => {
                self.times.push(now - self.requested_ps);
                if self.times.count() == count {
                    self.completed_ps = Some(now);
                }
            }
            (Workload::Web { .. }, role) => {
                let number = (stream / 4) as usize;
                let is_last = self.web.receive(number, now);
                if role == Role::Receiver {
                    self.completed_ps = is_last.then_some(now);
                } else if let Some(request) = self.web.request(number) {
                    self.outgoing.insert(stream, request.response_bytes);
                }
            }
            (Workload::Streams { .. }, Role::Sender) | (Workload::Datagrams { .. }, _) => {}
        }
    }

    /// Offers data to the streams, in turn, until none takes any.
    fn write(&mut self, open: &mut Connection) {
        let concurrent = self.outgoing.len() > 1;
        let chunk_bytes = if concurrent { self.packet_bytes } else { CHUNK_BYTES };
        let mut idle = 0;
        while idle < self.outgoing.len() {
            let mut streams = self.outgoing.range(self.turn..).chain(&self.outgoing);
            let Some(stream) = streams.next().map(|(stream, _)| *stream) else {
                return;
            };
            self.turn = stream + 1;
            idle = if self.write_stream(open, stream, chunk_bytes) {
                0
            } else {
                idle + 1
            };
        }
    }

    /// Returns whether the stream took data.
    fn write_stream(&mut self, open: &mut Connection, stream: u64, chunk_bytes: usize) -> bool {
        let Some(left) = self.outgoing.get_mut(&stream) else {
            return false;
        };
        let offered = chunk_bytes.min(usize::try_from(*left).unwrap_or(usize::MAX));
        let last = offered as u64 == *left;
        // A stream has no capacity before its first data. Capacity that is less than a packet would be sent in a short one, whose ACK would again free less.
        if open.stream_capacity(stream).unwrap_or(usize::MAX) < offered.min(self.packet_bytes) {
            return false;
        }
        let Ok(written) = open.stream_send(stream, &ZEROS[..offered], last) else {
            return false;
        };
        if *left != u64::MAX {
            *left -= written as u64;
        }
        if last && written == offered {
            self.outgoing.remove(&stream);
            self.finished += 1;
            return true;
        }
        written > 0
    }
}
