//! Hosts, switches or routers, links and flows, cell by cell or packet by packet.
//!
//! ```text
//! traffic ─▶ tcp::Sender ─▶ atm (AAL5 cells) ─▶ nic ─▶ link ─▶ port (buffer policy, scheduler) ─▶ link ─▶ … ─▶ tcp::Receiver
//!    └─ one packet, left to right; its ACK makes the same trip back ─┘        probe watches, nothing depends on it
//! ```

pub mod aal5;
mod ahead;
mod at_once;
pub mod capture;
mod cells;
mod certain;
pub mod check;
pub mod flow;
pub mod ip;
mod jitter;
pub mod link;
pub mod loss;
pub mod nic;
pub mod on_off;
mod plan;
pub mod port;
pub mod probe;
pub mod recorder;
pub mod report;
pub mod requests;
pub mod ring;
pub mod scenario;
mod sending;
pub mod simulation;
mod state_hash;
mod ties;
mod timers;
pub mod topology;
mod trains;
mod under_way;
mod vbr;
pub mod vc_queue;
mod watch;
pub mod web;

pub use check::ScenarioError;
pub use probe::Probe;
pub use recorder::Recorder;
pub use report::Report;
pub use scenario::Scenario;
pub use simulation::Simulation;
