//! IP packets in place of cells: hosts' interfaces, routers with FIFO output buffers, whole packets on the wires.
//!
//! ```text
//! tcp::Sender ─▶ interface (unlimited) ─▶ line ─▶ router (buffer policy, FIFO) ─▶ line ─▶ … ─▶ tcp::Receiver
//! ```

pub mod interface;
pub mod line;
pub mod report;
pub mod router;
mod travel;
pub mod wire;

use crate::link::Delivery;
use longpipe_events::Time;

/// A packet on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Circuit: 2f for flow f's data, 2f + 1 for its ACKs.
    pub vc: u32,
    /// Its number within the circuit; stands for the packet's contents.
    pub frame: u32,
    /// Length, headers included [byte].
    pub bytes: u32,
    /// The step of its circuit that comes next.
    pub step: u32,
}

/// A packet on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnWire {
    /// When its last bit arrives downstream.
    pub arrival: Time,
    /// The packet.
    pub packet: Packet,
}

impl OnWire {
    /// Its arrival at a host.
    #[inline(always)]
    pub(crate) fn delivery(&self) -> Delivery {
        Delivery {
            time: self.arrival,
            vc: self.packet.vc,
            frame: self.packet.frame,
        }
    }
}
