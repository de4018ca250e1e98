//! AVQ: a virtual queue of adaptive capacity decides which packets are dropped or marked (Kunniyur and Srikant 2001).

use super::aqm::{Algorithm, AtEnqueue};
use super::parameters::{Decides, Facts, Marks, Parameters};
use super::{Arrival, Verdict};
use longpipe_events::{Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// AVQ: drops or marks packets that overflow a virtual queue, whose capacity adapts (Kunniyur and Srikant 2001).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "AVQ")]
pub struct AvqConfig {
    /// Desired utilization gamma of the link; Kunniyur and Srikant 2001.
    #[field(range = "(0, 1]", default = 0.98)]
    pub utilization: f64,
    /// Gain alpha of the virtual capacity [1/s]; Kunniyur and Srikant 2001.
    #[field(range = "(0, 1000]", default = 0.15)]
    pub gain: f64,
    /// Size of the virtual queue, 100 packets of 1000 bytes [bytes]; Kunniyur and Srikant 2001.
    #[field(range = "[1 B, 1 GB]", default = "100 KB")]
    pub virtual_buffer_bytes: u32,
    /// Mark ECN-capable packets instead of dropping them; RFC 3168 section 5.
    #[field(default = false)]
    pub ecn: bool,
}

impl Parameters for AvqConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue).marking(Marks::WithEcn);

    /// The virtual queue grows even if no packet waits.
    fn is_inert_without_queue(&self) -> bool {
        false
    }

    fn algorithm(&self, rate_bps: u64) -> Option<(Algorithm, bool)> {
        Some((Algorithm::Avq(Avq::new(self, rate_bps)), self.ecn))
    }
}

/// State of AVQ: the virtual queue and its capacity.
#[derive(Clone, Debug)]
pub struct Avq {
    config: AvqConfig,
    /// Rate [byte/s] of the link.
    rate: f64,
    /// Virtual capacity [byte/s].
    capacity: f64,
    /// Length [byte] of the virtual queue.
    queue: f64,
    /// Time of the latest arrival.
    latest: Time,
}

impl Avq {
    /// Creates the state of an idle line of the given rate, which is the first virtual capacity.
    pub fn new(config: &AvqConfig, rate_bps: u64) -> Avq {
        let rate = rate_bps as f64 / 8.0;
        Avq {
            config: config.clone(),
            rate,
            capacity: rate,
            queue: 0.0,
            latest: Time(0),
        }
    }

    /// Returns the length [byte] of the virtual queue and its capacity [byte/s].
    pub fn state(&self) -> (f64, f64) {
        (self.queue, self.capacity)
    }
}

impl AtEnqueue for Avq {
    /// Updates the virtual queue and its capacity (Kunniyur and Srikant 2001, figure 1).
    fn decide(&mut self, arrival: &Arrival, _draw: impl FnMut() -> f64) -> Verdict {
        let seconds = (arrival.now.0 - self.latest.0) as f64 / PS_PER_SECOND as f64;
        let bytes = arrival.bytes as f64;
        let AvqConfig { utilization, gain, .. } = self.config;
        self.latest = arrival.now;
        self.queue = (self.queue - self.capacity * seconds).max(0.0);
        let has_room = self.queue + bytes <= f64::from(self.config.virtual_buffer_bytes);
        if has_room {
            self.queue += bytes;
        }
        let grown = (self.capacity + gain * utilization * self.rate * seconds).min(self.rate);
        self.capacity = (grown - gain * bytes).max(0.0);
        if has_room {
            Verdict::Admit
        } else {
            Verdict::Mark
        }
    }
    /// Each arrival changes the virtual queue.
    fn ignores_idle_arrivals(&self) -> bool {
        false
    }
}
