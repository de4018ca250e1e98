//! State of a frame at a port.

/// Treatment of the cells of a VC's current frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameState {
    /// The next cell starts a frame.
    #[default]
    Between,
    /// Cells are admitted if there is room.
    Admitted,
    /// Cells are admitted if there is room, although a cell of the frame was lost.
    Damaged,
    /// The policy rejected the whole frame.
    Refused,
    /// An injected loss removes the frame.
    Lost,
    /// The rest of the frame is discarded after a loss.
    Discarded,
}
