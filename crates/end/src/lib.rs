//! The interface between a run and a real protocol stack that ends one of its flows.
//!
//! A run drives each end in virtual time: it delivers packets ([`End::receive`]), wakes the end ([`End::wake`]), and
//! reads the time at which it must be woken next ([`End::due`]). An end uses neither the machine's clock nor its random
//! numbers.
//!
//! Stacks are in shared objects, which export the table of C functions in [`table`]; [`export`] creates this table from
//! an implementation of [`End`].

pub mod adapter;
pub mod export;
pub mod packets;
pub mod table;

pub use packets::PacketEvent;

/// Value that stands for an absent time [ps].
pub const NEVER: u64 = u64::MAX;

/// Length of the IPv4 and UDP headers before each payload [byte].
pub const HEADER_BYTES: u32 = 28;

/// The two ECN bits of an IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Returns the codepoint that the two low bits of a number encode; its other bits are ignored.
    pub fn from_bits(bits: u32) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// Role of an end in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that sends the flow's data.
    Sender,
    /// The end that receives the flow's data.
    Receiver,
}

/// Arguments for the creation of an end.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Role of the end.
    pub role: Role,
    /// Seed from which all randomness of the end is derived.
    pub seed: u64,
    /// Start time of the flow's application [ps].
    pub start_ps: u64,
    /// Maximum UDP payload that the path carries [byte].
    pub most_bytes: u32,
    /// Number of paths between the two ends, at least 1. Paths are numbered from 0.
    pub paths: u8,
    /// Names and values of the settings in the scenario. Names of settings of a path other than path 0 begin with
    /// [`path_prefix`].
    pub settings: &'a [(String, String)],
    /// Whether the run reads [`End::packets`].
    pub logs_packets: bool,
}

impl<'a> Setup<'a> {
    /// Returns a setting.
    pub fn setting(&self, name: &str) -> Option<&'a str> {
        let entry = self.settings.iter().find(|(key, _)| key == name);
        entry.map(|(_, value)| value.as_str())
    }

    /// Returns a setting that is a number, or `default` if it is absent.
    ///
    /// # Errors
    /// Returns an error that names the setting if its value is not a number.
    pub fn number(&self, name: &str, default: u64) -> Result<u64, String> {
        let Some(text) = self.setting(name) else {
            return Ok(default);
        };
        text.parse().map_err(|_| format!("{name}: {text:?}; needs a number"))
    }

    /// Checks that a stack knows all settings of the flow, and of its further paths.
    ///
    /// # Errors
    /// Returns an error that names the first setting that is not among `names`.
    pub fn accept(&self, names: &[&str]) -> Result<(), String> {
        for (name, _) in self.settings {
            let of_path = (1..usize::from(self.paths)).find_map(|path| name.strip_prefix(&path_prefix(path)));
            if !names.contains(&of_path.unwrap_or(name)) {
                return Err(format!("{name}: unknown setting; needs {}", names.join(", ")));
            }
        }
        Ok(())
    }
}

/// Returns the prefix of the names of a path's settings and values: "path1." for path 1, and nothing for path 0.
pub fn path_prefix(path: usize) -> String {
    match path {
        0 => String::new(),
        path => format!("path{path}."),
    }
}

/// Receives the datagrams that an end sends.
pub trait Outbox {
    /// Sends a UDP datagram on path 0.
    fn send(&mut self, payload: &[u8], ecn: Ecn) {
        self.send_on(0, payload, ecn);
    }

    /// Sends a UDP datagram on a path, which is less than [`Setup::paths`].
    fn send_on(&mut self, path: u8, payload: &[u8], ecn: Ecn);
}

/// A user's program that has run at an end of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramReport {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Time at which the program started [ps].
    pub started_ps: Option<u64>,
    /// Time at which the program ended, if it ended by itself [ps].
    pub ended_ps: Option<u64>,
    /// Exit code of a program that ended by itself, or 128 plus the number of the signal that ended it.
    pub exit_code: Option<u64>,
    /// Beginning of the standard output.
    pub output: String,
    /// Beginning of the standard error.
    pub errors: String,
}

/// A protocol stack at one end of a flow, with the application above it. Times are in picoseconds of the run.
pub trait End: Send {
    /// Returns the length of the headers below the payloads of this end [byte]: the length of the IPv4 and UDP headers,
    /// or 0 if its payloads are whole IP packets.
    fn header_bytes(&self) -> u32 {
        HEADER_BYTES
    }

    /// Returns whether the end shares a machine with other ends: a call to one of them may change the times at which
    /// the others act.
    fn shares_machine(&self) -> bool {
        false
    }

    /// Returns the time at which `wake` must be called if nothing is received earlier, or [`NEVER`].
    fn due(&mut self) -> u64;

    /// Processes expired timers, received datagrams and the application at `now`. Called once for each time at which
    /// there is work.
    ///
    /// # Errors
    /// Returns one line about the defect if the stack has one; the run then ends. A failed connection is not an error:
    /// see [`Report::closed`].
    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String>;

    /// Receives a UDP datagram that arrives at `now`; `wake` is called at the same time.
    ///
    /// # Errors
    /// Returns an error if the stack has a defect, as `wake` does.
    fn receive(&mut self, now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String>;

    /// Receives a UDP datagram that arrives on a path. Ends that use several paths replace this method; for others, the
    /// path is always 0.
    ///
    /// # Errors
    /// Returns an error if the stack has a defect, as `wake` does.
    fn receive_on(&mut self, now: u64, _path: u8, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        self.receive(now, payload, ecn)
    }

    /// Returns the state of the connection's sender, for traces.
    fn state(&mut self) -> State;

    /// Moves the events of packets since the previous call to `events`, in order. Called after `wake` if
    /// [`Setup::logs_packets`] is set. Stacks that do not report packets need not replace this method.
    fn packets(&mut self, _events: &mut Vec<PacketEvent>) {}

    /// Returns the counters of the end.
    fn report(&mut self) -> Report;

    /// Returns the report of the user's program at this end, if there is one. Called after `report`.
    fn program(&mut self) -> Option<ProgramReport> {
        None
    }

    /// Returns the error of the latest call to `state` or `report`: one line about a defect of the stack, which ends
    /// the run.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// State of a sender. If the stack does not report a value, it is None.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Congestion window [byte].
    pub cwnd: Option<u64>,
    /// Slow-start threshold [byte].
    pub ssthresh: Option<u64>,
    /// Smoothed RTT [ps].
    pub srtt_ps: Option<u64>,
    /// Minimum RTT [ps].
    pub min_rtt_ps: Option<u64>,
    /// Pacing rate [bit/s].
    pub pacing_bps: Option<u64>,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
}

/// Counters of an end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Data [byte] that the application has received in order, without gaps.
    pub delivered_bytes: u64,
    /// Time [ps] at which the application had received all expected data.
    pub completed_ps: Option<u64>,
    /// Packets sent.
    pub sent_packets: u64,
    /// Total UDP payload sent [byte].
    pub sent_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Total length of the packets that were declared lost [byte].
    pub lost_bytes: u64,
    /// Number of reductions of the congestion window.
    pub congestion_events: u64,
    /// Time at which the handshake was complete [ps].
    pub handshake_ps: Option<u64>,
    /// Time of the connection's premature end, and the reason in one line.
    pub closed: Option<(u64, String)>,
    /// Additional values; each name includes the unit. Names of values of a path other than path 0 begin with
    /// [`path_prefix`].
    pub values: Vec<(String, f64)>,
}
