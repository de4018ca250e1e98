//! Capacity of a port's buffer, in packets or bytes.

use crate::scenario::{BufferConfig, BufferUnit};

/// Maximum numbers of packets and of bytes that a port holds; tail drop refuses packets beyond them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    pub packets: u64,
    pub bytes: u64,
}

impl Capacity {
    /// Returns the capacity of a buffer; None is an unlimited buffer.
    pub fn new(buffer: Option<BufferConfig>) -> Capacity {
        let limit = |unit| {
            let buffer = buffer.filter(|buffer| buffer.unit == unit);
            buffer.map_or(u64::MAX, |buffer| buffer.limit)
        };
        Capacity {
            packets: limit(BufferUnit::Packets),
            bytes: limit(BufferUnit::Bytes),
        }
    }

    /// Returns whether there is room for a packet of `size` bytes besides the packets and bytes already held.
    #[inline(always)]
    pub fn has_room(self, held: (u64, u64), size: u64) -> bool {
        held.0 < self.packets && held.1 + size <= self.bytes
    }

    /// Returns the packets and bytes for which there is room besides those already held.
    #[inline]
    pub fn room(self, held: (u64, u64)) -> (u64, u64) {
        (self.packets.saturating_sub(held.0), self.bytes.saturating_sub(held.1))
    }
}

/// Returns whether occupancies are counted in bytes, because the buffer is limited in bytes.
pub(crate) fn counts_bytes(buffer: Option<BufferConfig>) -> bool {
    buffer.is_some_and(|buffer| buffer.unit == BufferUnit::Bytes)
}
