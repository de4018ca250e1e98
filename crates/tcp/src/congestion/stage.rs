//! What a control that models its path is about, for those who watch it.

use strum::VariantNames;

/// A stage of BBR's; version 1's phases of a cycle by their gain: 1.25, .75 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Stage {
    /// Fills the pipe.
    Startup,
    /// Lets the queue drain that this left.
    Drain,
    /// Sends more than it measured.
    ProbeUp,
    /// Makes up for it.
    ProbeDown,
    /// Sends what it measured.
    Cruise,
    /// Likewise, before it sends more (version 3).
    Refill,
    /// Empties the path to see its round trip.
    ProbeRtt,
}

/// What such a control knows, and does about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// What it is about.
    pub stage: Stage,
    /// Bandwidth that it goes by: payload [bit/s].
    pub bandwidth_bps: f64,
}
