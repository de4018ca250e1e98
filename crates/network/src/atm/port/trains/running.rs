//! Active trains, and the current batch.

use crate::atm::port::trains::vc::Rank;
use crate::packets::{Circuit, Link};
use longpipe_events::Time;

/// A VC that has a cell in each batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) local: u32,
    pub(super) vc: Circuit,
    pub(super) link: Link,
    /// Batch of the frame's last cell, which arrives as an edge.
    pub(super) last: u64,
}

/// The current batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub(super) number: u64,
    pub(super) time: Time,
    /// First slot that the batch's cells may use. If `open`, this is 0, because the first unused slot is at least as
    /// late.
    pub(super) slot: u64,
    /// Queue length X before the batch's first cell, or an upper bound if `open`; in cell-by-cell mode, the current X.
    pub(super) held: u64,
    /// Number of departures before the batch's arrival, or a lower bound if `open`.
    pub(super) departed: u64,
    /// Whether the batch's slots have not been computed yet.
    pub(super) open: bool,
    /// Number of cells of trains that ended with the batch; in cell-by-cell mode, number of admitted cells.
    pub(super) taken: u64,
    /// In cell-by-cell mode, the number of cells of active trains that have been processed, in order of rank.
    pub(super) cells: Option<usize>,
    pub(super) order: Vec<(Rank, u32)>,
}
