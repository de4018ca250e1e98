//! What the two end points send each other.

use longpipe_events::Time;

/// Bytes of a TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
/// Bytes of an IPv4 header without options.
pub const IP_HEADER_BYTES: u32 = 20;
/// Bytes that a timestamp option adds, padding included (RFC 7323 appendix A).
pub const TIMESTAMP_OPTION_BYTES: u32 = 12;

/// A segment with payload. Sequence numbers are 64-bit byte offsets and never wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSegment {
    /// First byte of the payload.
    pub sequence: u64,
    /// Bytes of payload.
    pub length: u32,
    /// Whether these bytes had been sent before.
    pub retransmission: bool,
    /// Sender's clock, where timestamps are on.
    pub timestamp: Option<Time>,
}

/// A pure acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSegment {
    /// Next byte expected.
    pub acknowledgement: u64,
    /// Timestamp sent back, where timestamps are on.
    pub echo: Option<Time>,
}

impl DataSegment {
    /// First byte after the payload.
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }

    /// Length of the IP packet [byte].
    pub fn packet_bytes(&self) -> u32 {
        self.length + header_bytes(self.timestamp)
    }
}

impl AckSegment {
    /// Length of the IP packet [byte].
    pub fn packet_bytes(&self) -> u32 {
        header_bytes(self.echo)
    }
}

fn header_bytes(timestamp: Option<Time>) -> u32 {
    TCP_HEADER_BYTES + IP_HEADER_BYTES + if timestamp.is_some() { TIMESTAMP_OPTION_BYTES } else { 0 }
}
