//! States of BBR and the pacing gains of ProbeBW.

use crate::congestion::path_model::Stage;

/// Pacing gains of the phases of ProbeBW (bbr_pacing_gain).
pub const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Startup: fills the pipe.
    Startup,
    /// Drain: removes the queue that Startup has built.
    Drain,
    /// ProbeBW: a phase of the gain cycle, given by its index in [`CYCLE`].
    ProbeBw(usize),
    /// ProbeRTT: reduces the data in flight to measure the minimum RTT.
    ProbeRtt,
}

impl Mode {
    /// Returns the state in the form that traces use.
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
