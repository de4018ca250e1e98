//! Datagrams from a list.

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Pattern, Schedule, MAX_PAYLOAD};
use crate::bounds::MAX_DURATION;
use longpipe_events::Stream;
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
    // The core gets the content of the file: the send time [ps] of each datagram, which is relative to the start of the
    // flow and nondecreasing, and its payload [byte].
    #[field(written("file", "[1, 4096]"))]
    pub sent_ps: Vec<(u64, u32)>,
}

impl ArrivalsConfig {
    /// Returns the times and lengths of the datagrams.
    fn schedule(&self, stream: Stream) -> Schedule {
        let sent = self.sent_ps.clone().into_iter();
        Schedule::new(ListedDatagrams { sent }, stream)
    }
}

impl Parameters for ArrivalsConfig {
    const FACTS: Facts = Facts {
        varies_length: true,
        ..Facts::new(Transport::Datagrams)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        let problem = |value: u64, accepted| Some(Problem::new("sent", value, accepted));
        let sent = &self.sent_ps;
        if let Some(pair) = sent.windows(2).find(|pair| pair[0].0 > pair[1].0) {
            return problem(pair[1].0, "needs nondecreasing times, in ps");
        }
        if let Some(&(_, bytes)) = sent.iter().find(|(_, bytes)| !(1..=MAX_PAYLOAD).contains(bytes)) {
            return problem(u64::from(bytes), "needs a payload of 1 to 65 000 bytes");
        }
        match sent.last() {
            Some(&(time_ps, _)) if time_ps > MAX_DURATION => problem(time_ps, "needs at most 100 days, in ps"),
            _ => None,
        }
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Datagrams(self.schedule(flow.stream("datagrams")))
    }

    fn payloads(&self) -> Option<[u32; 2]> {
        let payloads = || self.sent_ps.iter().map(|sent| sent.1);
        Some([payloads().min().unwrap_or(1), payloads().max().unwrap_or(0)])
    }
}

/// The datagrams that have not been sent yet, as send times [ps] and payloads [byte].
#[derive(Debug)]
struct ListedDatagrams {
    sent: std::vec::IntoIter<(u64, u32)>,
}

impl Pattern for ListedDatagrams {
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
