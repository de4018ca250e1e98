//! A controller that breaks its contract 1 s after the start, in the way that `misbehaves` selects.
//!
//! SPDX-License-Identifier: Apache-2.0

use longpipe_plugin::{export_control, Ack, Cause, Control, Flight, Grant, Setting, Setup};
use std::hint::black_box;

static MISBEHAVES: Setting<i64> = Setting::integer(0, |which| (0..=6).contains(&which));

struct Mine;

/// Recurses until the stack ends.
fn deep(depth: u64) -> u64 {
    if black_box(depth) == 0 { 0 } else { deep(black_box(depth + 1)) + depth }
}

impl Control for Mine {
    fn new(_: &Setup) -> Mine {
        Mine
    }

    fn on_ack(&mut self, _: &Ack, flight: &Flight, grant: &mut Grant) {
        grant.window = 40_000.0;
        if flight.now_ps < 1_000_000_000_000 {
            return;
        }
        match MISBEHAVES.get() {
            1 => grant.window = 0.0,
            2 => grant.window = f64::NAN,
            3 => std::process::abort(),
            4 => while black_box(true) {},
            5 => grant.window = deep(1) as f64,
            6 => panic!("no window"),
            _ => {}
        }
    }

    fn on_reduction(&mut self, _: Cause, flight: &Flight, grant: &mut Grant) {
        grant.ssthresh = flight.cwnd / 2.0;
    }
}

export_control!(Mine, "misbehaves", misbehaves: integer = MISBEHAVES);
