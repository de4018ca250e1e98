//! The application above a connection: a transfer, or requests one after another.

use longpipe_end::adapter::{ResponseTimes, Settings};
use longpipe_end::Role;
use quiche::Connection;

/// Amount of data that is offered to a stream at once [byte].
const CHUNK_BYTES: usize = 1 << 16;

static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// The application at one end.
#[derive(Debug)]
pub struct Application {
    role: Role,
    requests: bool,
    /// Bytes of the transfer, or of a response; `u64::MAX` means unlimited.
    size: u64,
    request: u64,
    count: u64,
    /// Payload of the path [byte].
    packet_bytes: usize,
    /// Stream that sends, and its bytes still to be written; None if there is none.
    outgoing: Option<(u64, u64)>,
    opened: u64,
    finished: u64,
    requested_ps: u64,
    responses: ResponseTimes,
    /// Flow data read so far [byte].
    pub delivered: u64,
    /// Time at which the flow's receiver had received all data [ps].
    pub completed_ps: Option<u64>,
}

impl Application {
    /// Creates an application that has not started yet.
    pub fn new(settings: &Settings, most_bytes: u32) -> Application {
        Application {
            role: settings.role,
            requests: settings.requests,
            size: settings.size,
            request: settings.request,
            count: settings.count,
            packet_bytes: most_bytes as usize,
            outgoing: None,
            opened: 0,
            finished: 0,
            requested_ps: 0,
            responses: ResponseTimes::default(),
            delivered: 0,
            completed_ps: None,
        }
    }

    /// Returns whether this end has sent and received all that it must.
    pub fn is_done(&self) -> bool {
        match self.role {
            Role::Receiver => self.completed_ps.is_some(),
            Role::Sender => self.finished == self.count,
        }
    }

    /// Returns the columns about responses.
    pub fn responses(&self) -> Vec<(String, f64)> {
        self.responses.values()
    }

    /// Reads and writes all streams that are ready.
    pub fn act(&mut self, open: &mut Connection, now: u64, connects: bool) {
        let mut buffer = [0; CHUNK_BYTES];
        let mut readable: Vec<u64> = open.readable().collect();
        readable.sort_unstable();
        for stream in readable {
            while let Ok((bytes, over)) = open.stream_recv(stream, &mut buffer) {
                if self.role == Role::Receiver {
                    self.delivered += bytes as u64;
                }
                if over {
                    self.on_end(stream, now);
                }
            }
        }
        if connects && self.outgoing.is_none() && self.opened < self.count && self.opened == self.responses.count() {
            self.requested_ps = now;
            let stream = if self.requests { 4 * self.opened } else { 2 };
            self.outgoing = Some((stream, if self.requests { self.request } else { self.size }));
            self.opened += 1;
        }
        self.write(open);
    }

    fn on_end(&mut self, stream: u64, now: u64) {
        match (self.requests, self.role) {
            (false, Role::Receiver) => self.completed_ps = Some(now),
            (true, Role::Sender) => self.outgoing = Some((stream, self.size)),
            (true, Role::Receiver) => {
                self.responses.push(now - self.requested_ps);
                if self.responses.count() == self.count {
                    self.completed_ps = Some(now);
                }
            }
            (false, Role::Sender) => {}
        }
    }

    fn write(&mut self, open: &mut Connection) {
        while let Some((stream, left)) = &mut self.outgoing {
            let offered = CHUNK_BYTES.min(usize::try_from(*left).unwrap_or(usize::MAX));
            let last = offered as u64 == *left;
            // A stream has no capacity before its first data. Capacity that is less than a packet would be sent in a short one, whose ACK would again free less.
            if open.stream_capacity(*stream).unwrap_or(usize::MAX) < offered.min(self.packet_bytes) {
                return;
            }
            let Ok(written) = open.stream_send(*stream, &ZEROS[..offered], last) else {
                return;
            };
            if *left != u64::MAX {
                *left -= written as u64;
            }
            if last && written == offered {
                self.outgoing = None;
                self.finished += 1;
            } else if written < offered {
                return;
            }
        }
    }
}
