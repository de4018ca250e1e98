//! State of a model-based congestion controller (BBR), or phase of Careful Resume, for traces.

use strum::VariantNames;

/// State of BBR, or phase of Careful Resume. ProbeBW is divided by pacing gain; version 1 has gains of 1.25, 0.75 and
/// 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Stage {
    /// Startup: fills the pipe.
    Startup,
    /// Drain: removes the queue that Startup has built.
    Drain,
    /// ProbeBW with a gain above 1.
    ProbeUp,
    /// ProbeBW with a gain below 1.
    ProbeDown,
    /// ProbeBW with a gain of 1.
    Cruise,
    /// Version 3: refills the pipe with a gain of 1 before probing up.
    Refill,
    /// ProbeRTT: reduces the data in flight to measure the minimum RTT.
    ProbeRtt,
    /// Careful Resume: the initial window is in flight.
    Reconnaissance,
    /// Careful Resume: sends the saved window, paced over one RTT.
    Unvalidated,
    /// Careful Resume: waits until the data sent beyond the initial window are acknowledged.
    Validating,
    /// Careful Resume: congestion occurred before the data sent beyond the initial window were acknowledged.
    SafeRetreat,
}

/// State of the controller, and its estimates of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Current state.
    pub stage: Stage,
    /// Bandwidth estimate, or the saved window divided by the saved RTT; in bits of payload per second.
    pub bandwidth_bps: f64,
}
