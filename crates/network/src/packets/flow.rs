//! Flows, by number.

/// A flow, by its number among those of the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Flow(pub u32);

impl Flow {
    /// The one at this place in a list of all flows.
    #[inline(always)]
    pub fn new(index: usize) -> Flow {
        Flow(index as u32)
    }

    /// Its place in a list of all flows.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
