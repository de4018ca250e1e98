//! External packets, which belong to real programs: they enter the network at one host and leave it at another, without
//! simulated end points.

use crate::packets::drops::DropCause;
use crate::packets::in_transit::InTransit;
use crate::packets::packet::external_bits;
use crate::packets::payload::Payload;
use crate::packets::{Circuit, Link, Options};
use longpipe_events::Time;

/// An external packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalPacket {
    /// Identifier that the program outside the simulation assigned to the packet.
    pub id: u64,
    /// Length [byte] of the IP packet.
    pub bytes: u16,
    /// Whether the packet is ECN-capable (RFC 3168 section 5).
    pub capable: bool,
    /// Whether the packet carries ECT(1), as used by scalable congestion controls (RFC 9331), instead of ECT(0).
    pub scalable: bool,
    /// Whether the packet already carried CE when it entered the simulated network.
    pub marked: bool,
}

impl Payload for ExternalPacket {
    fn packet_bytes(&self) -> u32 {
        u32::from(self.bytes)
    }

    fn sequence(&self) -> (u64, bool) {
        (self.id, false)
    }

    fn options(&self) -> Option<Options> {
        None
    }

    fn congestion(&self) -> u64 {
        external_bits(self.capable, self.scalable, self.marked)
    }
}

/// Fate of an external packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet has reached its host.
    Delivered {
        /// Whether the packet carries CE.
        marked: bool,
    },
    /// The packet was lost.
    Lost {
        /// Link at whose port or on whose wire the packet was lost, if known.
        link: Option<Link>,
        /// Cause of the loss.
        cause: DropCause,
    },
}

/// Fate of an external packet, with its time. The loss of a packet's cells is detected when the circuit's next packet
/// arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Time of the delivery or loss.
    pub time: Time,
    /// Identifier of the packet.
    pub id: u64,
    /// Fate of the packet.
    pub fate: Fate,
}

/// Packets of an external flow in transit as cells, in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExternalPackets {
    circuits: [InTransit<ExternalPacket>; 2],
    /// For each direction, the packets that were lost before the latest packet that was removed.
    lost: [Vec<u64>; 2],
}

impl ExternalPackets {
    /// Returns the frame number of a packet on its circuit. Stores the packet's contents here unless they travel with
    /// the frame.
    pub fn number(&mut self, vc: Circuit, travels: bool, packet: ExternalPacket) -> u32 {
        self.circuits[vc.way()].number(travels, packet)
    }

    /// Returns the packet of a frame.
    pub fn get(&self, vc: Circuit, frame: u32) -> &ExternalPacket {
        self.circuits[vc.way()].get(frame)
    }

    /// Removes and returns the packet of a frame. Also removes earlier packets, which were lost.
    pub fn take(&mut self, vc: Circuit, frame: u32) -> ExternalPacket {
        let way = vc.way();
        self.lost[way].extend(self.circuits[way].before(frame).map(|packet| packet.id));
        self.circuits[way].take(frame)
    }

    /// Removes and returns the packets that were lost before the latest packet that was removed.
    pub fn take_lost(&mut self, vc: Circuit) -> Vec<u64> {
        std::mem::take(&mut self.lost[vc.way()])
    }
}
