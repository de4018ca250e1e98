//! Where a segment is among all of a connection, which stays as it was cut.

/// A segment; those that come later are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Segments before it.
    pub number: u64,
    /// Its first byte.
    pub start: u64,
}

impl Place {
    /// The one behind it, which ends before byte `end`.
    #[inline]
    pub fn next(self, end: u64) -> Place {
        Place {
            number: self.number + 1,
            start: end,
        }
    }

    /// How many segments it is behind another, which is not later.
    #[inline]
    pub fn after(self, first: Place) -> usize {
        (self.number - first.number) as usize
    }
}
