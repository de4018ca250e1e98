//! Occupancy of a port by each circuit, for policies that depend on it.

/// Occupancies X_i, in packets or bytes as the buffer is limited.
#[derive(Clone, Debug)]
pub(super) struct VcOccupancies {
    by_bytes: bool,
    held: Vec<u64>,
    /// Number of active circuits N_a.
    pub active: u64,
}

impl VcOccupancies {
    /// Returns those of an empty port with `vcs` circuits.
    pub fn new(by_bytes: bool, vcs: usize) -> VcOccupancies {
        VcOccupancies {
            by_bytes,
            held: vec![0; vcs],
            active: 0,
        }
    }

    /// Returns the occupancy of the port's circuit `local`.
    #[inline]
    pub fn of(&self, local: u32) -> u64 {
        self.held[local as usize]
    }

    /// Adds a packet of `bytes` bytes.
    #[inline]
    pub fn add(&mut self, local: u32, bytes: u32) {
        let size = self.size(bytes);
        let held = &mut self.held[local as usize];
        self.active += u64::from(*held == 0);
        *held += size;
    }

    /// Removes a packet.
    #[inline]
    pub fn remove(&mut self, local: u32, bytes: u32) {
        let size = self.size(bytes);
        let held = &mut self.held[local as usize];
        *held -= size;
        self.active -= u64::from(*held == 0);
    }

    fn size(&self, bytes: u32) -> u64 {
        if self.by_bytes {
            u64::from(bytes)
        } else {
            1
        }
    }

    /// Returns whether X_i of every circuit and N_a are those of the given packets, each with its circuit and length.
    pub fn agree(&self, packets: impl Iterator<Item = (u32, u32)>) -> bool {
        let mut expected = VcOccupancies::new(self.by_bytes, self.held.len());
        packets.for_each(|(local, bytes)| expected.add(local, bytes));
        (self.active, &self.held) == (expected.active, &expected.held)
    }
}
