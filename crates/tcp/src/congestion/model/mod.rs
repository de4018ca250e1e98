//! Controllers that keep a model of the path, and set a pacing rate and the window during recovery.

pub mod bbr;
pub mod bbr3;
pub mod c4;
pub mod copa;
mod max_filter;
pub mod prague;
pub mod scream;
pub mod udp_prague;
