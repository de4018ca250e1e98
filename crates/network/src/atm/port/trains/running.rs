//! Trains that run, and the batch that is being taken.

use crate::atm::port::trains::vc::Rank;
use crate::packets::{Circuit, Link};
use longpipe_events::Time;

/// A VC whose cells enter, one in each batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) local: u32,
    pub(super) vc: Circuit,
    pub(super) link: Link,
    /// Batch of the frame's last cell, which comes as an edge.
    pub(super) last: u64,
}

/// The batch that is being taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub(super) number: u64,
    pub(super) time: Time,
    /// First slot that its cells can have; 0 if `open`, for then it is not after the first one not yet used.
    pub(super) slot: u64,
    /// X before its first cell, or no less if `open`; cell by cell, X now.
    pub(super) held: u64,
    /// Cells that have left when it arrives, or fewer if `open`.
    pub(super) departed: u64,
    /// Whether it was not yet looked up which slots it finds.
    pub(super) open: bool,
    /// Cells of trains that ended with it; cell by cell, cells admitted.
    pub(super) taken: u64,
    /// Cell by cell: the cells of running trains in order, and how many of them are over.
    pub(super) cells: Option<usize>,
    pub(super) order: Vec<(Rank, u32)>,
}
