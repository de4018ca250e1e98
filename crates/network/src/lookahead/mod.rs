//! Lookahead: events processed ahead of time, with the results of processing in order.

pub(crate) mod acks;
pub(crate) mod ahead;
mod frames;
mod hosts;
mod packets;
pub(crate) mod promises;
