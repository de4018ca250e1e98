//! The structures of `longpipe_control.h`, version 1. The header describes them in full.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// Version of the interface.
pub const VERSION: u32 = 1;
/// Value that stands for an absent time.
pub const NO_TIME: i64 = -1;
/// Value of `Grant::pacing_bps` that leaves the pacing rate unchanged.
pub const SAME_RATE: f64 = -1.0;

/// Optional inputs of a controller.
pub mod wants {
    /// Records of every transmission. With them, `delivered` includes SACKed bytes, and every ACK has an RTT sample.
    pub const RECORDS: u32 = 1;
    /// Delivery rate samples.
    pub const RATES: u32 = 2;
    /// Calls of `on_sent`.
    pub const SENDING: u32 = 4;
    /// Pacing at the rate that the grant contains.
    pub const PACING: u32 = 8;
    /// Calls of `on_lost`.
    pub const LOSSES: u32 = 16;
    /// The controller also sets the window during recovery; this requires `tcp.recovery = "rack"`.
    pub const OWNS_WINDOW: u32 = 32;
    /// One-way delays; these require timestamps.
    pub const DELAYS: u32 = 64;
}

/// Types of parameters.
pub mod types {
    /// int64_t.
    pub const INTEGER: u32 = 0;
    /// double.
    pub const REAL: u32 = 1;
    /// NUL-terminated text.
    pub const TEXT: u32 = 2;
}

/// The sender's sequence space and window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Flight {
    /// Time since the start of the run [ps].
    pub now_ps: u64,
    /// First unacknowledged byte.
    pub una: u64,
    /// Next byte to send.
    pub nxt: u64,
    /// First byte never sent.
    pub max: u64,
    /// Congestion window [byte].
    pub cwnd: f64,
    /// Slow-start threshold [byte]; infinite before the first loss.
    pub ssthresh: f64,
    /// Receiver's window [byte].
    pub rwnd: u64,
    /// Payload of a full segment [byte].
    pub mss: u32,
    /// Reserved; 0.
    pub reserved: u32,
}

/// Output of an operation, which initially contains the current values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Grant {
    /// Congestion window [byte].
    pub window: f64,
    /// Slow-start threshold [byte].
    pub ssthresh: f64,
    /// Pacing rate [bit/s], or [`SAME_RATE`].
    pub pacing_bps: f64,
    /// Minimum number of segments that a paced sender sends at once; 0 means two.
    pub burst_segments: u32,
    /// Reserved; 0.
    pub reserved: u32,
}

/// An ACK, before loss recovery processes it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Sample {
    /// Bytes by which `una` advanced.
    pub acked: u64,
    /// Bytes newly known to have arrived.
    pub delivered: u64,
    /// Bytes of `delivered` that were ECN-marked.
    pub marked: u64,
    /// RTT of the most recently sent segment that the ACK acknowledges [ps], or [`NO_TIME`].
    pub rtt_ps: i64,
    /// One-way delay [ps], or [`NO_TIME`].
    pub delay_ps: i64,
    /// Bytes delivered since the most recently sent acknowledged segment was sent; 0 if there is no sample.
    pub delivered_since_sent: u64,
    /// 1 if the ACK carries SACK blocks.
    pub has_sack_blocks: u32,
    /// 1 if the sender is paced.
    pub paced: u32,
}

/// An ACK, after loss recovery has processed it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Ack {
    /// Bytes by which `una` advanced; 0 for a duplicate ACK.
    pub acked: u64,
    /// Bytes newly known to have arrived.
    pub delivered: u64,
    /// Bytes of `delivered` that were ECN-marked.
    pub marked: u64,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// Bytes in flight before the ACK.
    pub in_flight_before: u64,
    /// Bytes in flight after the ACK.
    pub in_flight: u64,
    /// Maximum number of bytes in flight during the latest window of data.
    pub most_in_flight: u64,
    /// Congestion window [byte] when the ACK arrived, before loss recovery changed it.
    pub cwnd: f64,
    /// RTT sample [ps], or [`NO_TIME`].
    pub rtt_ps: i64,
    /// Smoothed RTT [ps], or [`NO_TIME`].
    pub srtt_ps: i64,
    /// Minimum RTT sample [ps], or [`NO_TIME`].
    pub min_rtt_ps: i64,
    /// Time [ps] until the pacer releases the next segment.
    pub held_ps: u64,
    /// Number of bytes delivered in the interval of the delivery rate sample.
    pub rate_delivered: u64,
    /// Interval of the delivery rate sample [ps], or [`NO_TIME`] if there is no sample.
    pub rate_interval_ps: i64,
    /// Bytes delivered before the sampled segment was sent.
    pub rate_prior_delivered: u64,
    /// Bytes in flight when the sampled segment was sent.
    pub rate_in_flight: u64,
    /// Bytes declared lost since the sampled segment was sent.
    pub rate_lost: u64,
    /// 1 if the application limited the sender when the sampled segment was sent.
    pub rate_app_limited: u32,
    /// 1 if the window may grow.
    pub grows: u32,
    /// 1 if no data are known to be lost or out of order.
    pub open: u32,
    /// State of loss recovery: 0 open, 1 fast recovery, 2 after a timeout.
    pub phase: u32,
    /// 1 if the congestion window was fully used when the ACK arrived.
    pub window_limited: u32,
    /// 1 if the congestion window was fully used at any time during the latest window of data.
    pub window_was_full: u32,
    /// 1 if the sender is paced.
    pub paced: u32,
    /// 1 if a segment that was not retransmitted was delivered after a segment sent later.
    pub reordered: u32,
}

/// A transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Sent {
    /// First byte.
    pub sequence: u64,
    /// First byte after the segment.
    pub end: u64,
    /// Bytes in flight, including this segment.
    pub in_flight: u64,
    /// 1 for a retransmission.
    pub retransmission: u32,
    /// 1 if the application, not the window, limits the sender.
    pub app_limited: u32,
}

/// A transmission that was declared lost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Lost {
    /// First byte.
    pub sequence: u64,
    /// First byte after the segment.
    pub end: u64,
    /// Bytes in flight when the segment was sent, including the segment.
    pub in_flight: u64,
    /// Bytes declared lost since the segment was sent, including the segment.
    pub lost: u64,
    /// Bytes delivered before the segment was sent.
    pub prior_delivered: u64,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// 1 if the application limited the sender when the segment was sent.
    pub app_limited: u32,
    /// Reserved; 0.
    pub reserved: u32,
}

/// Settings of a new connection.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    /// Returns a random number below the second argument, or any 32-bit number if the second argument is 0. The first
    /// argument is `source`.
    pub draw: extern "C" fn(*mut c_void, u32) -> u32,
    /// First argument of `draw`.
    pub source: *mut c_void,
    /// 1 if packets of the connection can be ECN-marked.
    pub ecn: u32,
    /// Reserved; 0.
    pub reserved: u32,
    /// Idle time [ps] between the establishment of the connection and its first segment.
    pub preconnect_ps: u64,
}

/// A parameter that a scenario may set.
#[derive(Debug)]
#[repr(C)]
pub struct Parameter {
    /// Name of the parameter; null in the entry that ends a list.
    pub name: *const c_char,
    /// One of [`types`].
    pub kind: u32,
    /// Reserved; 0.
    pub reserved: u32,
    /// Returns 0, or -1 if the value is not accepted.
    pub set: Option<unsafe extern "C" fn(*const Parameter, *const c_void) -> c_int>,
    /// Reserved for the controller's own use.
    pub at: *mut c_void,
}

impl Parameter {
    /// The entry that ends a list.
    pub const END: Parameter = Parameter {
        name: null(),
        kind: 0,
        reserved: 0,
        set: None,
        at: null_mut(),
    };
}

// SAFETY: a list of parameters is constant; `at` points to a static that the controller itself synchronizes.
unsafe impl Sync for Parameter {}

/// The state that `create` returned; it is the first argument of every operation on a connection.
type State = *mut c_void;

/// Operations of a controller. Optional ones may be null. The structure is smaller in objects built before `on_acked`
/// existed.
#[derive(Debug)]
#[repr(C)]
#[allow(clippy::type_complexity)]
pub struct Control {
    /// [`VERSION`].
    pub version: u32,
    /// Size of this structure [byte].
    pub size: u32,
    /// Name of the controller, or null.
    pub name: *const c_char,
    /// Optional. Returns null, or one line with the reason if the controller cannot run.
    pub open: Option<unsafe extern "C" fn(u32) -> *const c_char>,
    /// Optional. Returns the parameters that can be set, or null.
    pub parameters: Option<unsafe extern "C" fn() -> *const Parameter>,
    /// Optional. Returns bits of [`wants`].
    pub wants: Option<unsafe extern "C" fn() -> u32>,
    /// Creates the state of a connection.
    pub create: Option<unsafe extern "C" fn(*const Connection) -> State>,
    /// Ends a connection.
    pub destroy: Option<unsafe extern "C" fn(State)>,
    /// Optional. Invoked if the RTT is known before the first segment is sent.
    pub on_start: Option<unsafe extern "C" fn(State, u64, *const Flight, *mut Grant)>,
    /// Optional. Invoked for every ACK, before loss recovery processes it, unless the controller has `on_acked`.
    pub on_sample: Option<unsafe extern "C" fn(State, *const Sample, *const Flight)>,
    /// Invoked for every ACK, after loss recovery has processed it.
    pub on_ack: Option<unsafe extern "C" fn(State, *const Ack, *const Flight, *mut Grant)>,
    /// Optional. Invoked for every transmission.
    pub on_sent: Option<unsafe extern "C" fn(State, *const Sent, *const Flight, *mut Grant)>,
    /// Optional. Invoked for every transmission that is declared lost.
    pub on_lost: Option<unsafe extern "C" fn(State, *const Lost, *const Flight)>,
    /// Invoked once per recovery, timeout, or round with ECN marks.
    pub on_reduction: Option<unsafe extern "C" fn(State, c_int, *const Flight, *mut Grant)>,
    /// Optional. Invoked at the end of a recovery.
    pub on_recovered: Option<unsafe extern "C" fn(State, c_int, *const Flight, *mut Grant)>,
    /// Optional. Like `on_sample`, except that loss recovery uses the window and the threshold of the grant.
    pub on_acked: Option<unsafe extern "C" fn(State, *const Sample, *const Flight, *mut Grant)>,
}

/// Size [byte] of the operations of an object that was built before `on_acked` existed.
pub const SIZE_WITHOUT_ON_ACKED: usize = std::mem::offset_of!(Control, on_acked);

// SAFETY: the table is constant.
unsafe impl Sync for Control {}
