//! State of a frame at a port.

/// Treatment of the cells of a VC's current frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameState {
    /// The next cell starts a frame.
    #[default]
    Between,
    /// Cells enter if there is room.
    Admitted,
    /// Cells enter if there is room, although one was lost.
    Damaged,
    /// The policy rejected the whole frame.
    Refused,
    /// An injected loss removes the frame.
    Lost,
    /// The rest is discarded after a loss.
    Discarded,
}
