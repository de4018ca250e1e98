//! Output ports of hosts and routers, which send whole packets.

mod accounts;
pub mod fifo;
pub mod interface;
pub mod line;
pub(crate) mod served;
