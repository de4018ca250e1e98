//! Who watches a run, and what it is told.

pub mod arrived;
pub mod capture;
pub mod probe;
pub mod recorder;
pub mod vc_queue;
pub(crate) mod watch;
