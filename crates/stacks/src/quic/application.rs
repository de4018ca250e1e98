//! The application at one end of a connection. This module is compiled for each stack: `proto` is the stack's crate.

use super::adapter;
use super::proto::{Connection, Dir, Event, StreamEvent, StreamId};
use crate::settings::Settings;
use bytes::Bytes;
use longpipe_end::adapter::{datagram_took, DatagramSource, Times, WebExchange, Workload};
use longpipe_end::{Role, Setup, NEVER};
use std::collections::{BTreeMap, VecDeque};
use std::sync::OnceLock;

/// Returns the source of the data that streams carry. Because chunks are large, the list of unacknowledged chunks stays
/// short. The memory is allocated but never written, so that all its pages are the system's zero page, which stays in
/// the processor's cache.
fn zeros() -> &'static [u8] {
    static ZEROS: OnceLock<Vec<u8>> = OnceLock::new();
    ZEROS.get_or_init(|| vec![0; CHUNK_BYTES])
}

/// Maximum length of a chunk [byte].
const CHUNK_BYTES: usize = 1 << 20;

/// The application.
#[derive(Debug)]
pub struct Application {
    role: Role,
    workload: Workload,
    size: u64,
    start_ps: u64,
    /// For each stream, the number of bytes still to be written before it is finished.
    outgoing: BTreeMap<StreamId, u64>,
    /// Streams that may accept data.
    writable: VecDeque<StreamId>,
    /// Streams that may have data to read.
    readable: VecDeque<StreamId>,
    /// Number of streams of the workload `Streams` that have not been opened.
    to_open: u64,
    opened: u64,
    /// Number of streams that were read to the end.
    ended: u64,
    /// Number of streams whose data the peer has acknowledged completely.
    acknowledged: u64,
    /// Start time [ps] of the current request, if there is one, and times of all responses, streams or datagrams.
    requested_ps: Option<u64>,
    times: Times,
    datagrams: Option<DatagramSource>,
    web: WebExchange,
    /// Latest time at which the application acted [ps].
    acted_ps: u64,
    /// Flow data read so far [byte]. Requests are not counted, because they are sent in the opposite direction.
    pub delivered: u64,
    /// Time [ps] at which the flow's receiver had received all data.
    pub completed_ps: Option<u64>,
}

impl Application {
    /// Creates an application that has not started yet.
    ///
    /// # Errors
    /// Returns an error that names the setting with the requests of a web client if it is invalid.
    pub fn new(settings: &Settings<'_>, setup: &Setup<'_>) -> Result<Application, String> {
        let role = setup.role;
        let to_open = match settings.workload {
            Workload::Streams { count } if role == Role::Sender => count,
            _ => 0,
        };
        Ok(Application {
            role,
            workload: settings.workload,
            size: settings.size,
            start_ps: setup.start_ps,
            outgoing: BTreeMap::new(),
            writable: VecDeque::new(),
            readable: VecDeque::new(),
            to_open,
            opened: 0,
            ended: 0,
            acknowledged: 0,
            requested_ps: None,
            times: Times::default(),
            datagrams: DatagramSource::new(settings.workload, role, settings.size),
            web: WebExchange::read(setup)?,
            acted_ps: 0,
            delivered: 0,
            completed_ps: None,
        })
    }

    /// Processes an event of the connection.
    pub fn take(&mut self, event: &Event, connection: &mut Connection, now: u64) {
        match event {
            Event::Connected => self.begin(connection, now),
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(id) = connection.streams().accept(*dir) {
                    self.readable.push_back(id);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => self.readable.push_back(*id),
            Event::Stream(StreamEvent::Writable { id }) => self.writable.push_back(*id),
            Event::Stream(StreamEvent::Finished { .. }) => self.acknowledged += 1,
            Event::DatagramReceived => {
                while let Some(datagram) = connection.datagrams().recv() {
                    self.take_datagram(&datagram, now);
                }
            }
            _ => {}
        }
    }

    /// Opens, writes and reads all streams that are ready. Returns whether there may be something to send afterwards.
    pub fn act(&mut self, connection: &mut Connection, now: u64) -> bool {
        let mut sends = false;
        self.acted_ps = now;
        while let Some(id) = self.readable.pop_front() {
            sends |= self.read(id, connection, now);
        }
        if connection.has_0rtt() {
            self.begin(connection, now);
        }
        if connection.has_0rtt() || !connection.is_handshaking() {
            self.open(connection);
            self.open_web(connection, now);
            sends |= self.send_datagrams(connection, now);
        }
        while let Some(id) = self.writable.pop_front() {
            sends = true;
            self.write(id, connection);
        }
        sends
    }

    /// Returns whether this end and its peer have received all data that they expect.
    pub fn is_done(&self) -> bool {
        match (self.role, self.workload) {
            (Role::Receiver, _) => self.completed_ps.is_some(),
            (
                Role::Sender,
                Workload::Streams { count } | Workload::Requests { count, .. } | Workload::Web { count },
            ) => self.acknowledged == count,
            (Role::Sender, Workload::Datagrams { .. }) => self.datagrams.as_ref().is_some_and(DatagramSource::is_done),
        }
    }

    /// Returns the time of the next datagram or of the next request of a web client [ps], or [`NEVER`].
    pub fn due(&self) -> u64 {
        let datagram = self.datagrams.as_ref().and_then(DatagramSource::due);
        // While the peer permits no further stream, a request waits for the peer's packet.
        let request = self.web.due().filter(|at| self.is_web_client() && *at > self.acted_ps);
        datagram.into_iter().chain(request).min().unwrap_or(NEVER)
    }

    /// Returns the values of a report about what this end has sent or received.
    pub fn values(&self) -> Vec<(String, f64)> {
        if let Workload::Web { .. } = self.workload {
            return self.web.values();
        }
        match (&self.datagrams, self.role) {
            (Some(source), _) => vec![("sent_datagrams".to_owned(), source.sent() as f64)],
            (None, Role::Sender) => Vec::new(),
            (None, Role::Receiver) => self.times.values(self.workload),
        }
    }

    /// Sends the datagrams that are due. Returns whether there was one.
    fn send_datagrams(&mut self, connection: &mut Connection, now: u64) -> bool {
        let Some(source) = &mut self.datagrams else {
            return false;
        };
        source.begin(now);
        let before = source.sent();
        while let Some(datagram) = source.next(now) {
            // If the queue is full, its oldest datagram is dropped.
            let _ = connection.datagrams().send(datagram.into(), true);
        }
        source.sent() > before
    }

    fn take_datagram(&mut self, datagram: &[u8], now: u64) {
        if let Some(took_ps) = datagram_took(datagram, now) {
            self.delivered += datagram.len() as u64;
            self.times.push(took_ps);
            if self.delivered >= self.size {
                self.completed_ps.get_or_insert(now);
            }
        }
    }

    fn open(&mut self, connection: &mut Connection) {
        while self.to_open > 0 {
            let Some(id) = connection.streams().open(Dir::Uni) else {
                return;
            };
            self.outgoing.insert(id, self.workload.share(self.size, self.opened));
            self.writable.push_back(id);
            self.to_open -= 1;
            self.opened += 1;
        }
    }

    fn is_web_client(&self) -> bool {
        self.role == Role::Receiver && matches!(self.workload, Workload::Web { .. })
    }

    /// Opens a stream for each request of the web client that is due.
    fn open_web(&mut self, connection: &mut Connection, now: u64) {
        while self.is_web_client() && self.web.due().is_some_and(|at| at <= now) {
            let Some(id) = connection.streams().open(Dir::Bi) else {
                return;
            };
            if let Some((_, request)) = self.web.next(now) {
                self.outgoing.insert(id, request.request_bytes);
                self.writable.push_back(id);
            }
        }
    }

    /// Sends the first request unless it has already been sent.
    fn begin(&mut self, connection: &mut Connection, now: u64) {
        if self.requested_ps.is_none() {
            self.send_request(connection, now);
        }
    }

    /// Sends the next request.
    fn send_request(&mut self, connection: &mut Connection, now: u64) {
        let Workload::Requests { request, count } = self.workload else {
            return;
        };
        if self.role == Role::Sender || self.times.count() >= count {
            return;
        }
        if let Some(id) = connection.streams().open(Dir::Bi) {
            self.requested_ps = Some(now);
            self.outgoing.insert(id, request);
            self.writable.push_back(id);
        }
    }

    fn write(&mut self, id: StreamId, connection: &mut Connection) {
        let Some(left) = self.outgoing.get_mut(&id) else {
            return;
        };
        while *left > 0 {
            let max = CHUNK_BYTES.min(usize::try_from(*left).unwrap_or(usize::MAX));
            // A later event reports that the stream accepts more data; a stopped stream has no such event.
            let Some(written) = adapter::write(connection, id, Bytes::from_static(&zeros()[..max])) else {
                return;
            };
            if *left < u64::MAX {
                *left -= written as u64;
            }
        }
        // A stream that the peer has stopped need not be finished, so the error is ignored.
        let _ = connection.send_stream(id).finish();
        self.outgoing.remove(&id);
    }

    /// Reads a stream. Returns whether flow-control credit has to be sent.
    fn read(&mut self, id: StreamId, connection: &mut Connection, now: u64) -> bool {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return false;
        };
        let mut got = 0;
        let over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => got += chunk.bytes.len() as u64,
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let sends = chunks.finalize().should_transmit();
        if self.role == Role::Receiver {
            self.delivered += got;
        }
        if over {
            self.ended += 1;
            self.on_end(id, connection, now);
        }
        sends
    }

    /// Processes the end of a stream.
    fn on_end(&mut self, id: StreamId, connection: &mut Connection, now: u64) {
        match (self.workload, self.role) {
            (Workload::Streams { count }, Role::Receiver) => {
                self.times.push(now - self.start_ps);
                if self.ended == count {
                    self.completed_ps = Some(now);
                }
            }
            (Workload::Requests { count, .. }, Role::Receiver) => {
                if let Some(requested) = self.requested_ps {
                    self.times.push(now - requested);
                }
                if self.ended == count {
                    self.completed_ps = Some(now);
                }
                self.send_request(connection, now);
            }
            (Workload::Requests { .. }, Role::Sender) => {
                self.outgoing.insert(id, self.size);
                self.writable.push_back(id);
            }
            (Workload::Web { .. }, role) => {
                let number = id.index() as usize;
                let is_last = self.web.receive(number, now);
                if role == Role::Receiver {
                    self.completed_ps = is_last.then_some(now);
                } else if let Some(request) = self.web.request(number) {
                    self.outgoing.insert(id, request.response_bytes);
                    self.writable.push_back(id);
                }
            }
            (Workload::Streams { .. }, Role::Sender) | (Workload::Datagrams { .. }, _) => {}
        }
    }
}
