//! Numbers of links.

/// Index of a link in the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Link(pub u32);

impl Link {
    /// Creates the link number from an index in a list of all links.
    #[inline(always)]
    pub fn new(index: usize) -> Link {
        Link(index as u32)
    }

    /// Returns the index in a list of all links.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
