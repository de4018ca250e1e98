//! The structures of `longpipe_control.h`, version 1.

use std::ffi::{c_char, c_int, c_void};

/// Version of the interface that this build loads.
pub const VERSION: u32 = 1;
/// Value for an absent time.
pub const NO_TIME: i64 = -1;
/// Value of `Grant::pacing_bps` that leaves the rate unchanged.
pub const SAME_RATE: f64 = -1.0;

/// Bits of `Control::wants`.
pub mod wants {
    pub const RECORDS: u32 = 1;
    pub const RATES: u32 = 2;
    pub const SENDING: u32 = 4;
    pub const PACING: u32 = 8;
    pub const LOSSES: u32 = 16;
    pub const OWNS_WINDOW: u32 = 32;
    pub const DELAYS: u32 = 64;
}

/// Types of parameters.
pub mod types {
    pub const INTEGER: u32 = 0;
    pub const REAL: u32 = 1;
    pub const TEXT: u32 = 2;
}

#[repr(C)]
pub struct Flight {
    pub now_ps: u64,
    pub una: u64,
    pub nxt: u64,
    pub max: u64,
    pub cwnd: f64,
    pub ssthresh: f64,
    pub rwnd: u64,
    pub mss: u32,
    pub reserved: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Grant {
    pub window: f64,
    pub ssthresh: f64,
    pub pacing_bps: f64,
    pub burst_segments: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Sample {
    pub acked: u64,
    pub delivered: u64,
    pub marked: u64,
    pub rtt_ps: i64,
    pub delay_ps: i64,
    pub delivered_since_sent: u64,
    pub has_sack_blocks: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Ack {
    pub acked: u64,
    pub delivered: u64,
    pub marked: u64,
    pub lost: u64,
    pub in_flight_before: u64,
    pub in_flight: u64,
    pub most_in_flight: u64,
    pub cwnd: f64,
    pub rtt_ps: i64,
    pub srtt_ps: i64,
    pub min_rtt_ps: i64,
    pub held_ps: u64,
    pub rate_delivered: u64,
    pub rate_interval_ps: i64,
    pub rate_prior_delivered: u64,
    pub rate_in_flight: u64,
    pub rate_lost: u64,
    pub rate_app_limited: u32,
    pub grows: u32,
    pub open: u32,
    pub phase: u32,
    pub window_limited: u32,
    pub window_was_full: u32,
    pub paced: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Sent {
    pub sequence: u64,
    pub end: u64,
    pub in_flight: u64,
    pub retransmission: u32,
    pub app_limited: u32,
}

#[repr(C)]
pub struct Lost {
    pub sequence: u64,
    pub end: u64,
    pub in_flight: u64,
    pub lost: u64,
    pub prior_delivered: u64,
    pub delivered: u64,
    pub app_limited: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Connection {
    pub draw: extern "C" fn(*mut c_void, u32) -> u32,
    pub source: *mut c_void,
    pub ecn: u32,
    pub preconnect_us: u32,
}

#[repr(C)]
pub struct Parameter {
    pub name: *const c_char,
    pub kind: u32,
    pub reserved: u32,
    pub set: Option<unsafe extern "C" fn(*const Parameter, *const c_void) -> c_int>,
    pub at: *mut c_void,
}

/// The state that `create` returned, the first argument of every operation on a connection.
type State = *mut c_void;

#[repr(C)]
pub struct Control {
    pub version: u32,
    pub size: u32,
    pub name: *const c_char,
    pub open: Option<unsafe extern "C" fn(u32) -> *const c_char>,
    pub parameters: Option<unsafe extern "C" fn() -> *const Parameter>,
    pub wants: Option<unsafe extern "C" fn() -> u32>,
    pub create: Option<unsafe extern "C" fn(*const Connection) -> State>,
    pub destroy: Option<unsafe extern "C" fn(State)>,
    pub on_start: Option<unsafe extern "C" fn(State, u64, *const Flight, *mut Grant)>,
    pub on_sample: Option<unsafe extern "C" fn(State, *const Sample, *const Flight)>,
    pub on_ack: Option<unsafe extern "C" fn(State, *const Ack, *const Flight, *mut Grant)>,
    pub on_sent: Option<unsafe extern "C" fn(State, *const Sent, *const Flight, *mut Grant)>,
    pub on_lost: Option<unsafe extern "C" fn(State, *const Lost, *const Flight)>,
    pub on_reduction: Option<unsafe extern "C" fn(State, c_int, *const Flight, *mut Grant)>,
    pub on_recovered: Option<unsafe extern "C" fn(State, c_int, *const Flight, *mut Grant)>,
}
