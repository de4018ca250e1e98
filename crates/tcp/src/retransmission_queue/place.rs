//! Position of a segment among all segments of a connection. Segments keep their boundaries when they are
//! retransmitted.

/// Position of a segment; later segments compare greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the segment among all segments of the connection; retransmissions do not count.
    pub number: u64,
    /// First byte of the segment.
    pub start: u64,
}

impl Place {
    /// Returns the position of the next segment; `end` is the first byte after this one.
    #[inline]
    pub fn next(self, end: u64) -> Place {
        Place {
            number: self.number + 1,
            start: end,
        }
    }
}
