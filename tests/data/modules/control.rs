//! A controller for longpipe_control.h: slow start, then `gain` segments per round trip; a loss or a mark leaves `beta` of the
//! window. The same controller in C is control.c.
//!
//! Build it with `rustc --edition 2021 -O --crate-type cdylib control.rs`, or as a library of cargo whose crate-type is "cdylib".
//!
//! SPDX-License-Identifier: Apache-2.0

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

// The structures of longpipe_control.h, version 1, as far as this controller reads them.

#[repr(C)]
pub struct Flight {
    now_ps: u64,
    una: u64,
    nxt: u64,
    max: u64,
    cwnd: f64,
    ssthresh: f64,
    rwnd: u64,
    mss: u32,
    reserved: u32,
}

#[repr(C)]
pub struct Grant {
    window: f64,
    ssthresh: f64,
    pacing_bps: f64,
    burst_segments: u32,
    reserved: u32,
}

#[repr(C)]
pub struct Ack {
    acked: u64,
    counts: [u64; 6],
    cwnd: f64,
    times: [i64; 3],
    rates: [u64; 6],
    rate_app_limited: u32,
    grows: u32,
    rest: [u32; 6],
}

#[repr(C)]
pub struct Parameter {
    name: *const c_char,
    kind: u32,
    reserved: u32,
    set: Option<unsafe extern "C" fn(*const Parameter, *const c_void) -> c_int>,
    at: *mut c_void,
}

type Optional = Option<unsafe extern "C" fn()>;

#[repr(C)]
pub struct Control {
    version: u32,
    size: u32,
    name: *const c_char,
    open: Option<unsafe extern "C" fn(u32) -> *const c_char>,
    parameters: Option<unsafe extern "C" fn() -> *const Parameter>,
    wants: Option<unsafe extern "C" fn() -> u32>,
    create: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    on_start: Optional,
    on_sample: Optional,
    on_ack: unsafe extern "C" fn(*mut c_void, *const Ack, *const Flight, *mut Grant),
    on_sent: Optional,
    on_lost: Optional,
    on_reduction: unsafe extern "C" fn(*mut c_void, c_int, *const Flight, *mut Grant),
    on_recovered: Optional,
}

unsafe impl Sync for Parameter {}
unsafe impl Sync for Control {}

const TIMEOUT: c_int = 1;
const INTEGER: u32 = 0;
const REAL: u32 = 1;

// Facts that longpipe reads without loading the object: LONGPIPE_FACT of the header.
#[used]
static INTERFACE: [u8; 22] = *b"\x01longpipe\x01interface=1\0";
#[used]
static BETA_FACT: [u8; 30] = *b"\x01longpipe\x01parameter=beta:real\0";
#[used]
static GAIN_FACT: [u8; 33] = *b"\x01longpipe\x01parameter=gain:integer\0";

static mut BETA: f64 = 0.5;
static mut GAIN: i64 = 1;

unsafe extern "C" fn set_beta(_: *const Parameter, value: *const c_void) -> c_int {
    let wanted = *value.cast::<f64>();
    if wanted <= 0.0 || wanted >= 1.0 {
        return -1;
    }
    BETA = wanted;
    0
}

unsafe extern "C" fn set_gain(_: *const Parameter, value: *const c_void) -> c_int {
    GAIN = *value.cast::<i64>();
    if GAIN >= 1 {
        0
    } else {
        -1
    }
}

static KNOWN: [Parameter; 3] = [
    Parameter { name: c"beta".as_ptr(), kind: REAL, reserved: 0, set: Some(set_beta), at: null::<u8>() as *mut c_void },
    Parameter { name: c"gain".as_ptr(), kind: INTEGER, reserved: 0, set: Some(set_gain), at: null::<u8>() as *mut c_void },
    Parameter { name: null(), kind: 0, reserved: 0, set: None, at: null::<u8>() as *mut c_void },
];

unsafe extern "C" fn parameters() -> *const Parameter {
    KNOWN.as_ptr()
}

/// What a connection remembers: how often its window fell.
#[derive(Default)]
struct Flow {
    reductions: u64,
}

unsafe extern "C" fn create(_: *const c_void) -> *mut c_void {
    Box::into_raw(Box::<Flow>::default()).cast()
}

unsafe extern "C" fn destroy(flow: *mut c_void) {
    drop(Box::from_raw(flow.cast::<Flow>()));
}

unsafe extern "C" fn on_ack(_: *mut c_void, ack: *const Ack, flight: *const Flight, grant: *mut Grant) {
    let (ack, flight, grant) = (&*ack, &*flight, &mut *grant);
    if ack.grows == 0 {
        return;
    }
    grant.window = if flight.cwnd < flight.ssthresh {
        flight.cwnd + ack.acked as f64
    } else {
        flight.cwnd + GAIN as f64 * f64::from(flight.mss) * ack.acked as f64 / flight.cwnd
    };
}

unsafe extern "C" fn on_reduction(flow: *mut c_void, cause: c_int, flight: *const Flight, grant: *mut Grant) {
    let (flow, flight, grant) = (&mut *flow.cast::<Flow>(), &*flight, &mut *grant);
    flow.reductions += 1;
    grant.ssthresh = flight.cwnd * BETA;
    grant.window = if cause == TIMEOUT { f64::from(flight.mss) } else { grant.ssthresh };
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static longpipe_control: Control = Control {
    version: 1,
    size: size_of::<Control>() as u32,
    name: c"mine".as_ptr(),
    open: None,
    parameters: Some(parameters),
    wants: None,
    create,
    destroy,
    on_start: None,
    on_sample: None,
    on_ack,
    on_sent: None,
    on_lost: None,
    on_reduction,
    on_recovered: None,
};
