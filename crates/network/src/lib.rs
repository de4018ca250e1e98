//! Hosts, switches or routers, links and flows, cell by cell or packet by packet.
//!
//! ```text
//! traffic ─▶ tcp::Sender ─▶ atm (AAL5 cells) ─▶ nic ─▶ link ─▶ port (buffer policy, scheduler) ─▶ link ─▶ … ─▶ tcp::Receiver
//!    └─ one packet, left to right; its ACK makes the same trip back ─┘        probe watches, nothing depends on it
//! ```

// What only the reference engine asks.
#![cfg_attr(not(feature = "reference"), allow(dead_code))]

pub mod atm;
mod clock;
pub mod defect;
pub mod hosts;
mod impairments;
pub mod ip;
mod lookahead;
mod medium;
mod motion;
pub mod observe;
mod packets;
pub mod policies;
pub mod queues;
pub mod report;
mod run;
pub mod scenario;
pub mod simulation;
mod ties;

/// Number of the engine: raised when any run's results change by a bit, and then alone. Stored runs of other numbers are
/// run again; `tests/golden.rs` holds the results of this one.
pub const ENGINE: u32 = 7;

pub use hosts::foreign::{Cause, Fate, ForeignPacket, Outcome};
pub use observe::arrived::Arrived;
pub use observe::probe::Probe;
pub use observe::recorder::Recorder;
pub use packets::circuit::Circuit;
pub use packets::contents::Datagram;
pub use packets::flow::Flow;
pub use packets::in_transit::REQUEST;
pub use packets::link::Link;
pub use report::Report;
pub use scenario::refusal::ScenarioError;
pub use scenario::Scenario;
pub use simulation::Simulation;
