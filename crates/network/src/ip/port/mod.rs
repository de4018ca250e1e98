//! Output ports of hosts and routers, which send whole packets.

pub(crate) mod any_port;
mod arrival_rules;
pub(crate) mod capacity;
pub(crate) mod cell;
pub(crate) mod constant_rate;
pub mod delayed;
pub(crate) mod egress_queue;
pub mod fifo;
pub mod interface;
pub mod line;
mod occupancies;
pub mod router;
pub mod time_varying;
pub(crate) mod variable_rate;
pub(crate) mod wire_losses;
