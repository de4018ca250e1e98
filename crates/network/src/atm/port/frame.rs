//! What becomes of a frame at a port.

/// What the port does with the cells of a VC's current frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frame {
    /// The next cell begins a frame.
    #[default]
    Between,
    /// Cells enter if there is room.
    Admitted,
    /// Likewise, though one was lost.
    Damaged,
    /// The policy refused the frame whole.
    Refused,
    /// The link loses the frame by force.
    Lost,
    /// The rest is discarded after a loss.
    Discarded,
}
