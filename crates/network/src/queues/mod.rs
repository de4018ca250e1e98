//! Queues that act when a packet leaves: what follows next, and what is dropped or marked on the way out.

mod backlog;
pub mod codel;
pub mod dualpi2;
pub mod fq;
pub mod fq_codel;
pub mod round_robin;
pub mod strict;

pub use backlog::{Backlog, Queued};
