//! Storage of the real packets on the path, indexed by packet number, in reusable buffers.

use std::collections::VecDeque;

/// A stored packet.
#[derive(Debug, Default)]
pub struct StoredPacket {
    /// Destination host.
    pub to: usize,
    /// Time [ns] by which the packet may have entered late.
    pub late_ns: u64,
    /// The whole packet.
    pub packet: Vec<u8>,
}

/// All stored packets, numbered in order of arrival.
#[derive(Debug, Default)]
pub struct Store {
    first: u64,
    kept: VecDeque<Option<StoredPacket>>,
    spare: Vec<Vec<u8>>,
}

/// Maximum number of spare buffers.
const SPARE: usize = 4096;

impl Store {
    /// Stores a copy of the next packet.
    pub fn put(&mut self, to: usize, packet: &[u8], late_ns: u64) {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(packet);
        self.kept.push_back(Some(StoredPacket {
            to,
            late_ns,
            packet: copy,
        }));
    }

    /// Removes and returns the packet with number `id`.
    pub fn take(&mut self, id: u64) -> Option<StoredPacket> {
        let taken = self.kept.get_mut(id.checked_sub(self.first)? as usize)?.take();
        while matches!(self.kept.front(), Some(None)) {
            self.kept.pop_front();
            self.first += 1;
        }
        taken
    }

    /// Returns the number of the first packet that may still be stored; all packets before it have been taken.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Reuses the buffer of a packet that was taken.
    pub fn give_back(&mut self, kept: StoredPacket) {
        if self.spare.len() < SPARE {
            self.spare.push(kept.packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_is_taken_once_by_number() {
        let mut store = Store::default();
        (0..5u8).for_each(|n| store.put(usize::from(n), &[n; 3], 0));
        for id in [1, 0, 4, 2] {
            let kept = store.take(id).expect("kept");
            assert_eq!((kept.to as u64, &kept.packet[..]), (id, &[id as u8; 3][..]));
            store.give_back(kept);
            assert!(store.take(id).is_none());
        }
        store.put(5, &[], 0);
        assert!(store.take(5).is_some_and(|kept| kept.packet.is_empty()));
        assert!(store.take(9).is_none());
    }
}
