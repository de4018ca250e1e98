//! Datagrams from a list.

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Pattern, Schedule, MAX_PAYLOAD};
use longpipe_events::{Stream, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Datagrams from a CSV file with the columns time (after the start, in seconds or with a unit) and bytes.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(fact("in_lab", false))]
#[serde(deny_unknown_fields)]
pub struct ArrivalsConfig {
    /// A path to the file, which is read when the scenario is checked.
    // Send time [ps], relative to the start and ascending, and payload [byte] of each datagram.
    #[field(written("file", "[1, 4096]"))]
    pub sent_ps: Vec<(u64, u32)>,
}

impl ArrivalsConfig {
    /// Returns the times and lengths of the datagrams.
    fn schedule(&self, stream: Stream) -> Schedule {
        let sent = self.sent_ps.clone().into_iter();
        Schedule::new(List { sent }, stream)
    }
}

impl Parameters for ArrivalsConfig {
    const FACTS: Facts = Facts {
        varies_length: true,
        ..Facts::new(Transport::Datagrams)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        let (sent, refuse) = (&self.sent_ps, |value: u64, accepted| {
            Problem::new("sent", value, accepted)
        });
        let back = sent.windows(2).find(|pair| pair[0].0 > pair[1].0);
        let odd = sent.iter().find(|(_, bytes)| !(1..=MAX_PAYLOAD).contains(bytes));
        let late = sent.last().filter(|last| last.0 > 100 * 86_400 * PS_PER_SECOND);
        back.map(|pair| refuse(pair[1].0, "needs nondecreasing times, in ps"))
            .or_else(|| odd.map(|&(_, bytes)| refuse(u64::from(bytes), "needs a payload of 1 to 65 000 bytes")))
            .or_else(|| late.map(|&(at, _)| refuse(at, "needs at most 100 days, in ps")))
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Datagrams(self.schedule(flow.stream("datagrams")))
    }

    fn payloads(&self) -> Option<[u32; 2]> {
        let payloads = || self.sent_ps.iter().map(|sent| sent.1);
        Some([payloads().min().unwrap_or(1), payloads().max().unwrap_or(0)])
    }
}

#[derive(Debug)]
struct List {
    sent: std::vec::IntoIter<(u64, u32)>,
}

impl Pattern for List {
    fn next(&mut self, _stream: &mut Stream) -> Option<(u64, u32)> {
        self.sent.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::schedule::first;

    #[test]
    fn a_list_is_sent_unchanged() {
        let sent_ps = vec![(5, 100), (5, 200), (9, 1)];
        let list = ArrivalsConfig {
            sent_ps: sent_ps.clone(),
        };
        assert_eq!(first(|stream| list.schedule(stream), 10), sent_ps);
    }
}
