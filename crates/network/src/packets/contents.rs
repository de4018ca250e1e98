//! What a packet carries, as end points know it.

use longpipe_events::Time;
use longpipe_tcp::{AckSegment, DataSegment};

/// Headers of IPv4 without options and of UDP (RFC 791, RFC 768) [byte].
pub const DATAGRAM_HEADER_BYTES: u32 = 28;

/// A datagram of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// When its application sent it.
    pub sent: Time,
    /// Bytes of payload.
    pub length: u32,
}

impl Datagram {
    /// Length of the IP packet [byte].
    pub fn packet_bytes(&self) -> u32 {
        self.length + DATAGRAM_HEADER_BYTES
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Data.
    Data(DataSegment),
    /// An acknowledgement alone.
    Ack(AckSegment),
    /// A datagram of UDP.
    Datagram(Datagram),
}

impl Contents {
    /// Length of the IP packet [byte].
    #[inline(always)]
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Contents::Data(segment) => segment.packet_bytes(),
            Contents::Ack(ack) => ack.packet_bytes(),
            Contents::Datagram(datagram) => datagram.packet_bytes(),
        }
    }
}
