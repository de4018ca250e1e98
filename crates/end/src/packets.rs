//! Events of a stack's packets, which it reports to the run if [`Setup::logs_packets`](crate::Setup::logs_packets) is
//! set.

/// Kind of a packet's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketEventKind {
    /// The packet was sent.
    Sent = 0,
    /// The packet was received.
    Received = 1,
    /// The packet was declared lost.
    Lost = 2,
    /// A received packet acknowledges a range of packet numbers. The event follows that of the received packet.
    Acknowledged = 3,
    /// A datagram was sent. The run reports this event and the following one, not the stack.
    DatagramSent = 4,
    /// A datagram was received.
    DatagramReceived = 5,
}

/// Type of a QUIC packet (RFC 9000 section 17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketType {
    /// The type is not known.
    #[default]
    Unknown = 0,
    /// Initial.
    Initial = 1,
    /// Handshake.
    Handshake = 2,
    /// 0-RTT.
    ZeroRtt = 3,
    /// 1-RTT.
    OneRtt = 4,
}

/// Evidence for the loss of a packet (RFC 9002 section 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum LossEvidence {
    /// The evidence is not known.
    #[default]
    Unknown = 0,
    /// Later packets were acknowledged (kPacketThreshold).
    Reordering = 1,
    /// A later packet was acknowledged, and the time threshold has passed (kTimeThreshold).
    Time = 2,
}

/// An event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketEvent {
    /// Time [ps].
    pub at_ps: u64,
    /// Kind of the event.
    pub kind: PacketEventKind,
    /// Type of the packet, which determines its packet number space.
    pub packet_type: PacketType,
    /// Packet number; for `Acknowledged`, the first of the range.
    pub first: u64,
    /// Packet number; for `Acknowledged`, the last of the range.
    pub last: u64,
    /// Length of the packet [byte]; 0 if it is not known.
    pub length: u32,
    /// Evidence for a loss.
    pub evidence: LossEvidence,
}

impl PacketEventKind {
    /// Returns the kind with a number that a stack may report.
    pub fn from_number(number: u32) -> Option<PacketEventKind> {
        use PacketEventKind::{Acknowledged, Lost, Received, Sent};
        [Sent, Received, Lost, Acknowledged].get(number as usize).copied()
    }
}

impl PacketType {
    /// Returns the type with a number; unknown for other numbers.
    pub fn from_number(number: u32) -> PacketType {
        use PacketType::{Handshake, Initial, OneRtt, Unknown, ZeroRtt};
        let all = [Unknown, Initial, Handshake, ZeroRtt, OneRtt];
        all.get(number as usize).copied().unwrap_or_default()
    }
}

impl LossEvidence {
    /// Returns the evidence with a number; unknown for other numbers.
    pub fn from_number(number: u32) -> LossEvidence {
        use LossEvidence::{Reordering, Time, Unknown};
        let all = [Unknown, Reordering, Time];
        all.get(number as usize).copied().unwrap_or_default()
    }
}
