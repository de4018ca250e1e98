//! Linux itself as an end: all Linux hosts of a run are network namespaces of one user-mode Linux guest, in the run's time.

pub mod end;
pub mod frame;
pub mod guest;
