//! Results of a queue of cells.

/// Counters of one queue of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Cells that arrived.
    pub cells_in: u64,
    /// Number of cells whose slot has ended.
    pub cells_out: u64,
    /// Cells that found the buffer full.
    pub lost_overflow: u64,
    /// Cells of frames that the policy dropped as a whole.
    pub lost_aqm: u64,
    /// Cells discarded after a loss in their frame.
    pub lost_discarded: u64,
    /// Cells of frames that the link's loss model dropped.
    pub lost_injected: u64,
    /// Cells rejected or dropped at the port because of an outage of the link.
    pub lost_outage: u64,
    /// Cells lost on the wire because of an outage of the link.
    pub lost_on_wire: u64,
    /// Frames whose first cell arrived.
    pub frames_in: u64,
    /// Frames that were admitted but lost a cell here.
    pub frames_damaged: u64,
    /// Maximum occupancy [cell].
    pub peak_queue: u64,
    /// Total time [cell·ps] that cells spent from arrival to the end of their slot.
    pub cell_time: u128,
}

impl QueueCounters {
    /// Returns the number of cells lost from all causes.
    pub fn lost(&self) -> u64 {
        let at_the_port = self.lost_overflow + self.lost_aqm + self.lost_discarded + self.lost_injected;
        at_the_port + self.lost_outage + self.lost_on_wire
    }
}
