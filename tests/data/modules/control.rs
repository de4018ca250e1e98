//! The controller of control.c in Rust: slow start, then `gain` segments per round trip; a loss or a mark leaves `beta` of the
//! window.
//!
//! A library of cargo with crate-type = ["cdylib"] and the dependency longpipe-plugin (crates/plugin).
//!
//! SPDX-License-Identifier: Apache-2.0

use longpipe_plugin::{export_control, Ack, Cause, Control, Flight, Grant, Setting, Setup};

static BETA: Setting<f64> = Setting::real(0.5, |beta| 0.0 < beta && beta < 1.0);
static GAIN: Setting<i64> = Setting::integer(1, |gain| gain >= 1);

/// State of a connection: the number of window reductions.
struct Mine {
    reductions: u64,
}

impl Control for Mine {
    fn new(_: &Setup) -> Mine {
        Mine { reductions: 0 }
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight, grant: &mut Grant) {
        if ack.grows == 0 {
            return;
        }
        grant.window = if flight.cwnd < flight.ssthresh {
            flight.cwnd + ack.acked as f64
        } else {
            flight.cwnd + GAIN.get() as f64 * f64::from(flight.mss) * ack.acked as f64 / flight.cwnd
        };
    }

    fn on_reduction(&mut self, cause: Cause, flight: &Flight, grant: &mut Grant) {
        self.reductions += 1;
        grant.ssthresh = flight.cwnd * BETA.get();
        grant.window = if cause == Cause::Timeout { f64::from(flight.mss) } else { grant.ssthresh };
    }
}

export_control!(Mine, "mine", beta: real = BETA, gain: integer = GAIN);
