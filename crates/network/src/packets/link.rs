//! Links, by number.

/// A link, by its number among those of the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Link(pub u32);

impl Link {
    /// The one at this place in a list of all links.
    #[inline(always)]
    pub fn new(index: usize) -> Link {
        Link(index as u32)
    }

    /// Its place in a list of all links.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
