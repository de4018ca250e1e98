//! States of BBR and the pacing gains of ProbeBW.

use crate::congestion::stage::Stage;

/// Pacing gains of the phases of ProbeBW (bbr_pacing_gain).
pub const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Fills the pipe.
    Startup,
    /// Removes the queue that Startup has built.
    Drain,
    /// A phase of the gain cycle, by its index in [`CYCLE`].
    ProbeBw(usize),
    /// Reduces the data in flight to measure the minimum RTT.
    ProbeRtt,
}

impl Mode {
    /// Returns the state as traces show it.
    pub fn stage(self) -> Stage {
        match self {
            Mode::Startup => Stage::Startup,
            Mode::Drain => Stage::Drain,
            Mode::ProbeBw(phase) if CYCLE[phase] > 1.0 => Stage::ProbeUp,
            Mode::ProbeBw(phase) if CYCLE[phase] < 1.0 => Stage::ProbeDown,
            Mode::ProbeBw(_) => Stage::Cruise,
            Mode::ProbeRtt => Stage::ProbeRtt,
        }
    }
}
