//! Linux as an end: all Linux hosts of a run are network namespaces of one user-mode Linux guest, which runs in virtual
//! time.

pub mod counts;
pub mod end;
pub mod frame;
pub mod guest;
mod limits;
