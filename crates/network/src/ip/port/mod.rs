//! Output ports of hosts and routers, which send whole packets.

mod accounts;
pub mod delayed;
pub(crate) mod discipline;
pub mod fifo;
pub mod interface;
pub mod line;
pub mod moving;
pub(crate) mod prompt;
pub(crate) mod served;
