//! The table of C functions through which a run calls a stack: `longpipe_end.h`, version 1.
//!
//! The object exports it as `longpipe_ends`. All calls for one end are made by one thread, one after another.

use crate::Ecn;
use std::ffi::{c_char, c_void};

/// Version of the interface.
pub const VERSION: u32 = 1;
/// NUL-terminated name under which a shared object exports its table.
pub const SYMBOL: &[u8] = b"longpipe_ends\0";
/// Value that stands for an unknown number.
pub const UNKNOWN: u64 = u64::MAX;
/// Size [byte] of the buffer for an error line, including the terminating NUL.
pub const LINE: usize = 512;

/// A name and a value, both NUL-terminated.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Setting {
    /// Name.
    pub name: *const c_char,
    /// Value.
    pub value: *const c_char,
}

/// Arguments for the creation of an end; valid only during the call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Setup {
    /// Seed of all randomness.
    pub seed: u64,
    /// Start time of the application [ps].
    pub start_ps: u64,
    /// Settings.
    pub settings: *const Setting,
    /// Number of settings.
    pub count: u32,
    /// Role of the end: 1 if it sends the flow's data, 0 if it receives them.
    pub sends: u32,
    /// Maximum UDP payload that the path carries [byte].
    pub most_bytes: u32,
    /// Number of paths between the two ends.
    pub paths: u32,
    /// 1 if the run calls `packets`, otherwise 0.
    pub logs_packets: u32,
}

/// Position of the path's number in a datagram's label.
const PATH_SHIFT: u32 = 8;

/// Returns the label of a datagram: the two ECN bits, and the number of its path in bits 8 to 15.
pub fn label(path: u8, ecn: Ecn) -> u32 {
    u32::from(path) << PATH_SHIFT | ecn as u32
}

/// Returns the path and the ECN bits of a label.
pub fn path_and_ecn(label: u32) -> (u8, Ecn) {
    ((label >> PATH_SHIFT) as u8, Ecn::from_bits(label))
}

/// Callback for the datagrams that an end sends; valid only during the call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Outbox {
    /// First argument of `send`.
    pub host: *mut c_void,
    /// Sends a copy of a datagram. The arguments are its payload, the payload's length, and its [`label`].
    pub send: unsafe extern "C" fn(host: *mut c_void, payload: *const u8, bytes: u32, label: u32),
}

/// State of a sender; values that the stack does not report are `UNKNOWN`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct State {
    /// Congestion window [byte].
    pub cwnd: u64,
    /// Slow-start threshold [byte].
    pub ssthresh: u64,
    /// Smoothed RTT [ps].
    pub srtt_ps: u64,
    /// Minimum RTT [ps].
    pub min_rtt_ps: u64,
    /// Pacing rate [bit/s].
    pub pacing_bps: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
}

/// Counters of an end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Report {
    /// Data received without gaps [byte].
    pub delivered_bytes: u64,
    /// Time at which the application had received all expected data [ps], or `UNKNOWN`.
    pub completed_ps: u64,
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
    /// Time at which the handshake was complete [ps], or `UNKNOWN`.
    pub handshake_ps: u64,
    /// Time at which the connection ended prematurely [ps], or `UNKNOWN`.
    pub closed_ps: u64,
    /// Reason why the connection ended prematurely: one NUL-terminated line.
    pub closed: [c_char; LINE],
}

/// An event of a packet. Numbers of kinds, types and evidence are those of [`crate::packets`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    /// Time [ps].
    pub at_ps: u64,
    /// Packet number, or the first one of a range.
    pub first: u64,
    /// Packet number, or the last one of a range.
    pub last: u64,
    /// Length [byte]; 0 if it is not known.
    pub length: u32,
    /// Kind of the event.
    pub kind: u32,
    /// Type of the packet.
    pub packet_type: u32,
    /// Evidence for a loss.
    pub evidence: u32,
}

/// Callback for an event of a packet. Its arguments are the `host` that was passed to `packets`, and the event.
pub type TellPacket = unsafe extern "C" fn(host: *mut c_void, packet: *const Packet);

/// Callback for an additional value of a report. Its arguments are the `host` that was passed to `report`, the value's
/// name, and the value.
pub type Tell = unsafe extern "C" fn(host: *mut c_void, name: *const c_char, value: f64);

/// Table of functions. A function that can fail returns 0, or 1 after writing a NUL-terminated line to `problem`, a
/// buffer of `LINE` bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Table {
    /// `VERSION`.
    pub version: u32,
    /// Length of this structure [byte].
    pub size: u32,
    /// NUL-terminated list of the object's stacks, for example "quinn 0.11.19, noq 1.4.0".
    pub stacks: *const c_char,
    /// Creates an end that runs a stack, and writes the end's state to `end`.
    pub create: unsafe extern "C" fn(
        stack: *const c_char,
        setup: *const Setup,
        end: *mut *mut c_void,
        problem: *mut c_char,
    ) -> u32,
    /// Destroys an end.
    pub destroy: unsafe extern "C" fn(end: *mut c_void),
    /// Returns the time at which `wake` must be called [ps], or `UNKNOWN`.
    pub due: unsafe extern "C" fn(end: *mut c_void) -> u64,
    /// Processes, at `now` [ps], expired timers, received datagrams and the application.
    pub wake: unsafe extern "C" fn(end: *mut c_void, now: u64, outbox: *const Outbox, problem: *mut c_char) -> u32,
    /// Receives a datagram at `now` [ps]. The arguments are its payload, the payload's length, and its [`label`].
    pub receive: unsafe extern "C" fn(
        end: *mut c_void,
        now: u64,
        payload: *const u8,
        bytes: u32,
        label: u32,
        problem: *mut c_char,
    ) -> u32,
    /// Writes the state of the sender.
    pub state: unsafe extern "C" fn(end: *mut c_void, state: *mut State),
    /// Writes the counters, and reports additional values through `tell`.
    pub report: unsafe extern "C" fn(end: *mut c_void, report: *mut Report, tell: Tell, host: *mut c_void),
    /// Reports the events of packets since the previous call through `tell`. The pointer is null if the object reports
    /// none; tables of objects that were built before this function existed end before it.
    pub packets: Option<unsafe extern "C" fn(end: *mut c_void, tell: TellPacket, host: *mut c_void)>,
}

/// Length [byte] of a table without its last function.
pub const MIN_BYTES: usize = std::mem::offset_of!(Table, packets);

// SAFETY: a table is constant; its pointers point to functions and to a constant text.
#[allow(unsafe_code)]
unsafe impl Sync for Table {}
