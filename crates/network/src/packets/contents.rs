//! What a packet carries, as end points know it.

use longpipe_tcp::{AckSegment, DataSegment};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Data.
    Data(DataSegment),
    /// An acknowledgement alone.
    Ack(AckSegment),
}

impl Contents {
    /// Length of the IP packet [byte].
    #[inline(always)]
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Contents::Data(segment) => segment.packet_bytes(),
            Contents::Ack(ack) => ack.packet_bytes(),
        }
    }
}
