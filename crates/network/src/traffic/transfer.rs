//! An application that sends one file.

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use crate::bounds::refuse_unless;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// An application that sends one file.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct TransferConfig {
    /// Size of the file [bytes], as in '8 MB'.
    #[field(range = "[1 B, 1000 GB]")]
    pub size_bytes: u64,
}

impl Parameters for TransferConfig {
    const FACTS: Facts = Facts {
        at_once: true,
        is_bulk: true,
        ..Facts::new(Transport::Tcp)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        // Tests simulate larger files than users may write.
        refuse_unless(self.size_bytes > 0, "size", self.size_bytes, "needs at least one byte")
    }

    fn application(&self, _flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Bulk(self.size_bytes)
    }

    fn min_segment(&self, mss: u64) -> u64 {
        match self.size_bytes % mss {
            0 => mss,
            last => last,
        }
    }
}
