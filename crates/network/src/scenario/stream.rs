//! Traffic of applications that write to a TCP socket over time.

use super::datagrams::RATES;
use super::BurstsConfig;
use crate::bounds::refuse_unless;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Maximum length [byte] of a write.
const MAX_WRITE: u32 = 1 << 30;

/// Writes at a constant rate, or at a constant rate in bursts.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Rate [bit/s] of the data while on.
    pub rate_bps: u64,
    /// Length [byte] of each write; None means a full segment.
    pub write_bytes: Option<u32>,
    /// Durations of on and off periods; None means always on.
    pub bursts: Option<BurstsConfig>,
}

impl StreamConfig {
    /// Returns the length [byte] of a write.
    pub(crate) fn length(&self, tcp: &TcpConfig) -> u32 {
        self.write_bytes.unwrap_or(tcp.mss_bytes)
    }

    /// Returns the length of a write in bits.
    pub(super) fn write_bits(&self, tcp: &TcpConfig) -> u64 {
        8 * u64::from(self.length(tcp))
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        let write = self.write_bytes.unwrap_or(1);
        refuse_unless(
            RATES.contains(&self.rate_bps),
            "rate",
            self.rate_bps,
            "needs 1 kbit/s to 10 Tbit/s, in bit/s",
        )
        .or_else(|| {
            let fits = (1..=MAX_WRITE).contains(&write);
            refuse_unless(fits, "write", write, "needs 1 byte to 1 GiB, in bytes")
        })
        .or_else(|| {
            let problem = self.bursts.and_then(|bursts| bursts.problem());
            problem.map(|problem| problem.within("bursts"))
        })
    }
}
