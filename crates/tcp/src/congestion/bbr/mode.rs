//! What the sender is about, and the gains of its cycle.

use crate::congestion::stage::Stage;

/// Pacing gains of the phases of a cycle, and which of them are told from the others.
pub const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// What the sender is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Fills the pipe.
    Startup,
    /// Lets the queue drain that this left.
    Drain,
    /// A phase of the cycle that tries more, makes up for it, and cruises.
    ProbeBw(usize),
    /// Empties the path to see its round trip.
    ProbeRtt,
}

impl Mode {
    /// As those who watch call it.
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
