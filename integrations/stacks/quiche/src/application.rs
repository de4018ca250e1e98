//! The application above a connection: a transfer, or requests one after another.

use longpipe_end::{Role, Setup};
use quiche::Connection;

const PS_PER_S: f64 = 1e12;
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
    responses_s: Vec<f64>,
    /// Flow data read so far [byte].
    pub delivered: u64,
    /// Time at which the flow's receiver had received all data [ps].
    pub completed_ps: Option<u64>,
}

impl Application {
    /// Reads the settings.
    pub fn new(setup: &Setup<'_>) -> Result<Application, String> {
        let requests = match setup.setting("workload").unwrap_or("bulk") {
            "bulk" => false,
            "requests" => true,
            other => return Err(format!("workload: {other}; needs bulk or requests")),
        };
        if requests && setup.setting("size").is_none() {
            return Err("size: absent; needs the length of a response in bytes".to_owned());
        }
        Ok(Application {
            role: setup.role,
            requests,
            size: setup.number("size", u64::MAX)?,
            request: setup.number("request", 100)?,
            count: if requests { setup.number("requests", 1)? } else { 1 },
            packet_bytes: setup.most_bytes as usize,
            outgoing: None,
            opened: 0,
            finished: 0,
            requested_ps: 0,
            responses_s: Vec::new(),
            delivered: 0,
            completed_ps: None,
        })
    }

    /// Returns whether the flow's receiver sends requests.
    pub fn is_requesting(&self) -> bool {
        self.requests
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
        if self.responses_s.is_empty() {
            return Vec::new();
        }
        let (count, sum) = (self.responses_s.len() as f64, self.responses_s.iter().sum::<f64>());
        let max = self.responses_s.iter().copied().fold(0.0, f64::max);
        [
            ("responses", count),
            ("mean_response_s", sum / count),
            ("max_response_s", max),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
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
        if connects
            && self.outgoing.is_none()
            && self.opened < self.count
            && self.opened == self.responses_s.len() as u64
        {
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
                self.responses_s.push((now - self.requested_ps) as f64 / PS_PER_S);
                if self.responses_s.len() as u64 == self.count {
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
