//! Queues that act when a packet leaves: what follows next, and what is dropped or marked on the way out.

mod backlog;
pub mod codel;
pub mod fq_codel;

pub use backlog::{Backlog, Queued};
