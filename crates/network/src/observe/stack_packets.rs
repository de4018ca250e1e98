//! Packets and datagrams of real stacks, as their senders report them.

use crate::packets::Flow;
use longpipe_events::memory::Growing;
use longpipe_events::Time;

/// Value that stands for an unknown packet number.
pub const UNKNOWN: i64 = -1;

/// A packet or datagram at the sender of a flow with a stack, or packets that an ACK frame acknowledges. Kinds, types
/// and evidence are the numbers of the interface with stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackPacket {
    /// Time at which it was sent or received, or declared lost.
    pub time: Time,
    /// Kind of the event.
    pub kind: u8,
    /// Type of the packet, which determines its packet number space.
    pub packet_type: u8,
    /// Packet number, or `UNKNOWN`; for an ACK frame, the first number of a range.
    pub first: i64,
    /// Packet number, or `UNKNOWN`; for an ACK frame, the last number of a range.
    pub last: i64,
    /// Length [byte]; 0 if it is unknown.
    pub length: u32,
    /// Evidence for a loss.
    pub evidence: u8,
}

/// Packets of real stacks; one row per event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketTrace {
    /// Time [ps].
    pub time: Vec<u64>,
    /// Flow index.
    pub flow: Vec<u32>,
    /// Kind of the event.
    pub kind: Vec<u8>,
    /// Type of the packet.
    pub packet_type: Vec<u8>,
    /// Packet number, or the first one of a range; -1 if it is unknown.
    pub first: Vec<i64>,
    /// Packet number, or the last one of a range; -1 if it is unknown.
    pub last: Vec<i64>,
    /// Length [byte]; 0 if it is unknown.
    pub length: Vec<u32>,
    /// Evidence for a loss.
    pub evidence: Vec<u8>,
}

impl PacketTrace {
    /// Appends a row.
    pub(super) fn put(&mut self, flow: Flow, packet: &StackPacket) {
        self.time.put(packet.time.0);
        self.flow.put(flow.0);
        self.kind.put(packet.kind);
        self.packet_type.put(packet.packet_type);
        self.first.put(packet.first);
        self.last.put(packet.last);
        self.length.put(packet.length);
        self.evidence.put(packet.evidence);
    }
}
