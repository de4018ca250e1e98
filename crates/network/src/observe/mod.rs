//! Observation of a run: the probe interface, traces and captures.

pub mod arrived;
pub mod capture;
pub mod columns;
pub mod probe;
pub mod recorder;
pub mod stack_packets;
pub mod traces;
pub mod vc_queue;
