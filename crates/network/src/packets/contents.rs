//! Contents of packets, as used by end points.

use longpipe_events::Time;
use longpipe_tcp::{AckSegment, DataSegment};

/// Total length [byte] of the headers of IPv4 (without options) and UDP (RFC 791, RFC 768).
pub const DATAGRAM_HEADER_BYTES: u32 = 28;

/// A UDP datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Time at which the application sent the datagram.
    pub sent: Time,
    /// Payload [byte].
    pub length: u32,
}

impl Datagram {
    /// Returns the length [byte] of the IP packet.
    pub fn packet_bytes(&self) -> u32 {
        self.length + DATAGRAM_HEADER_BYTES
    }
}

/// A packet from outside the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct External {
    /// Identifier that the program outside the simulation assigned to the packet.
    pub id: u64,
    /// Length [byte] of the IP packet.
    pub bytes: u32,
    /// Whether the packet carries CE.
    pub marked: bool,
}

/// Contents of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// A TCP segment with data.
    Data(DataSegment),
    /// A pure TCP acknowledgment.
    Ack(AckSegment),
    /// A UDP datagram.
    Datagram(Datagram),
    /// A packet from outside the simulation.
    External(External),
}

impl Contents {
    /// Returns the length [byte] of the IP packet.
    #[inline(always)]
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Contents::Data(segment) => segment.packet_bytes(),
            Contents::Ack(ack) => ack.packet_bytes(),
            Contents::Datagram(datagram) => datagram.packet_bytes(),
            Contents::External(packet) => packet.bytes,
        }
    }
}
