//! IP packets in place of cells: hosts' interfaces, routers with FIFO output buffers, whole packets on the wires.
//!
//! ```text
//! tcp::Sender ─▶ interface (unlimited) ─▶ line ─▶ router (buffer policy, FIFO) ─▶ line ─▶ … ─▶ tcp::Receiver
//! ```

pub mod interface;
pub(crate) mod lanes;
pub mod line;
pub mod packet;
mod plain;
pub mod report;
pub mod router;
pub(crate) mod routes;
mod rules;
mod travel;
pub mod wire;

pub use packet::{OnWire, Options, Packet};
