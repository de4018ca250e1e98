//! Numbers of flows.

/// Index of a flow in the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Flow(pub u32);

impl Flow {
    /// Creates the flow number from an index in a list of all flows.
    #[inline(always)]
    pub fn new(index: usize) -> Flow {
        Flow(index as u32)
    }

    /// Returns the index in a list of all flows.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
