//! Congestion controllers in Rust for longpipe.
//!
//! Implement [`Control`], name the type in [`export_control!`], and build a `cdylib`; `tcp.congestion` loads it as `{
//! kind = "module", file = "libmine.so" }`. If it is built for wasm32, it is a module that longpipe runs in a sandbox.
//!
//! ```
//! use longpipe_plugin::{export_control, Ack, Cause, Control, Flight, Grant, Setting, Setup};
//!
//! /// Share of the window that a loss leaves.
//! static BETA: Setting<f64> = Setting::real(0.5, |beta| 0.0 < beta && beta < 1.0);
//!
//! struct Mine;
//!
//! impl Control for Mine {
//!     fn new(_: &Setup) -> Mine {
//!         Mine
//!     }
//!
//!     fn on_ack(&mut self, ack: &Ack, flight: &Flight, grant: &mut Grant) {
//!         if ack.grows != 0 {
//!             grant.window += f64::from(flight.mss) * ack.acked as f64 / flight.cwnd;
//!         }
//!     }
//!
//!     fn on_reduction(&mut self, _: Cause, flight: &Flight, grant: &mut Grant) {
//!         grant.ssthresh = flight.cwnd * BETA.get();
//!         grant.window = grant.ssthresh;
//!     }
//! }
//!
//! export_control!(Mine, "mine", beta: real = BETA);
//! # fn main() {}
//! ```
//!
//! A panic ends the process of the run, or the module in its sandbox; the error of the run then contains the panic.

mod control;
pub mod export;
pub mod setting;
pub mod table;

pub use control::{Cause, Control, Random, Setup};
pub use setting::Setting;
pub use table::{wants, Ack, Flight, Grant, Lost, Sample, Sent, NO_TIME, SAME_RATE};
