//! Where a sender is between losses.

use crate::congestion::control;
use strum::VariantNames;

/// Where a sender is between losses, and up to where it repairs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is lost.
    Open,
    /// The window falls for marks of data up to a byte.
    Reduced(u64),
    /// Repairs losses up to a byte.
    Recovery(u64),
    /// Likewise after the retransmission timer expired.
    Loss(u64),
}

impl Phase {
    /// What a congestion control hears of it.
    pub fn name(self) -> control::Phase {
        match self {
            Phase::Open | Phase::Reduced(_) => control::Phase::Open,
            Phase::Recovery(_) => control::Phase::Recovery,
            Phase::Loss(_) => control::Phase::Loss,
        }
    }

    /// The same, as Linux tells it.
    pub fn state(self) -> State {
        match self {
            Phase::Open => State::Open,
            Phase::Reduced(_) => State::Reduced,
            Phase::Recovery(_) => State::Recovery,
            Phase::Loss(_) => State::Loss,
        }
    }
}

/// A phase without its end, for those who tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum State {
    /// Nothing is lost.
    Open,
    /// The window falls for marks.
    Reduced,
    /// Repairs losses.
    Recovery,
    /// Likewise after the retransmission timer expired.
    Loss,
}
