//! The cells that count: a frame's first and last, and those that are late.

use crate::atm::port::trains::vc::Rank;
use longpipe_events::Time;

/// The first or the last cell of a frame, as it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub time: Time,
    pub batch: u64,
    /// Its place among the cells of that instant.
    pub rank: Rank,
    pub local: u32,
    /// Cells of the frame.
    pub cells: u16,
}

/// The first cell of a frame, which will arrive.
#[derive(Clone, Copy, Debug, Default)]
pub struct First {
    /// Slot of the interface in which it leaves.
    pub batch: u64,
    /// The VC's number at this port.
    pub local: u32,
    /// Cells of the frame.
    pub cells: u16,
}

/// The last cell of a frame, as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    /// When.
    pub time: Time,
    /// Slot of the interface in which it left.
    pub batch: u64,
    /// The VC's number at this port.
    pub local: u32,
    /// Cells of the frame.
    pub cells: u16,
}

/// Cells admitted that have not left the path behind the port by the end of the run, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// Slot of the first one here.
    pub slot: u64,
    /// How many.
    pub cells: u64,
    /// Their VC's number here.
    pub local: u32,
    /// Whether the first one begins a frame for whoever comes next.
    pub begins: bool,
}
