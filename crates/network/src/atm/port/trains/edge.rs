//! Edges, which are the first and last cells of frames, and cells that are still queued at the end of the run.

use crate::atm::port::trains::vc::Rank;
use longpipe_events::Time;

/// The first or last cell of a frame, at its arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameEdge {
    pub time: Time,
    pub batch: u64,
    /// Rank among simultaneous cells.
    pub rank: Rank,
    pub local: u32,
    /// Number of cells of the frame.
    pub cells: u16,
}

/// The first cell of a frame, before it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct First {
    /// Slot of the interface.
    pub batch: u64,
    /// Index of the VC at this port.
    pub local: u32,
    /// Number of cells of the frame.
    pub cells: u16,
}

/// The last cell of a frame, at its arrival.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    /// Arrival time.
    pub time: Time,
    /// Slot of the interface.
    pub batch: u64,
    /// Index of the VC at this port.
    pub local: u32,
    /// Number of cells of the frame.
    pub cells: u16,
}

/// Consecutive admitted cells that have not left the path by the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// Slot of the first cell at this port.
    pub slot: u64,
    /// Number of cells.
    pub cells: u64,
    /// Index of the cells' VC at this port.
    pub local: u32,
    /// Whether the first cell starts a frame for the next node.
    pub begins: bool,
}
