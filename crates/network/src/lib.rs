//! Hosts, switches or routers, links and flows, cell by cell or packet by packet.
//!
//! ```text
//! traffic ─▶ hosts (TCP end points, timers) ─▶ medium: atm (cells) │ ip (packets) ─▶ hosts ─▶ observe (no result depends on it)
//!    └─ a packet moves from left to right; its ACK takes the same path in the other direction ─┘
//! ```

// Some items are used only by the reference engine.
#![cfg_attr(not(feature = "reference"), allow(dead_code))]

pub mod access;
pub mod atm;
mod bounds;
mod clock;
pub mod conditioners;
pub mod defect;
pub mod hosts;
mod impairments;
pub mod ip;
mod lookahead;
pub mod observe;
mod packets;
mod parts;
pub mod policies;
pub mod queues;
pub mod report;
mod run;
pub mod scenario;
pub mod schedulers;
pub mod simulation;
pub mod slots;
mod ties;
mod time_varying;
pub mod traffic;

/// Engine number, which is raised whenever any bit of a result changes. `tests/all/golden.rs` compares the engine's
/// results with recorded ones.
pub const ENGINE: u32 = 22;

pub use observe::arrived::Arrived;
pub use observe::probe::Probe;
pub use observe::recorder::Recorder;
pub use observe::stack_packets::StackPacket;
pub use packets::aal5;
pub use packets::circuit::Circuit;
pub use packets::contents::Datagram;
pub use packets::drops::{causes, CauseFacts, DropCause, Dropped, LostData};
pub use packets::external::{ExternalPacket, Fate, Outcome};
pub use packets::flow::Flow;
pub use packets::in_transit::REQUEST;
pub use packets::link::Link;
pub use report::Report;
pub use scenario::refusal::ScenarioError;
pub use scenario::Scenario;
pub use simulation::Simulation;
