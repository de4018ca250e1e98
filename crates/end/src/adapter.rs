//! What the adapters of QUIC stacks have in common: their settings, their random numbers, and what they count.

use crate::{Role, Setup};
use std::ops::RangeInclusive;

const PS_PER_S: f64 = 1e12;

/// Names of the settings that each stack has.
const NAMES: [&str; 8] = [
    "congestion",
    "size",
    "workload",
    "requests",
    "request",
    "streams",
    "window",
    WEB,
];
/// Name of the setting with the requests of a web client, which the run adds to those of the scenario.
pub const WEB: &str = "web";
/// Name of the further setting that a stack lists if its end can frame web traffic as HTTP/3.
pub const HTTP3: &str = "http3";
/// Names of the further settings that a stack lists if it has datagrams.
pub const OF_DATAGRAMS: [&str; 2] = ["datagram", "interval_us"];
/// Name of the further setting that a stack lists if it resumes sessions.
pub const EARLY_DATA: &str = "early_data";
const PS_PER_US: u64 = 1_000_000;
/// Lengths of a datagram [byte]: it contains a time, and fits into the shortest packet of each stack.
const DATAGRAM_BYTES: RangeInclusive<u64> = 8..=1100;
/// Numbers of concurrent streams.
const STREAMS: RangeInclusive<u64> = 1..=100_000;

/// The application of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The flow's sender opens the connection and sends concurrent streams, among which the size is divided.
    Streams {
        /// Number of streams.
        count: u64,
    },
    /// The flow's receiver opens the connection and sends requests, one after another.
    Requests {
        /// Number of requests.
        count: u64,
        /// Length of a request [byte].
        request: u64,
    },
    /// The flow's sender opens the connection and sends datagrams (RFC 9221) at regular times.
    Datagrams {
        /// Length of a datagram [byte].
        bytes: u64,
        /// Time between two datagrams [ps].
        interval_ps: u64,
    },
    /// The flow's receiver opens the connection and sends requests at given times ([`WebExchange`]).
    Web {
        /// Number of requests.
        count: u64,
    },
}

/// Settings of a flow with a QUIC stack.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Role of the end.
    pub role: Role,
    /// Congestion control of the stack.
    pub congestion: &'static str,
    /// The application.
    pub workload: Workload,
    /// Length of the transfer, or of a response [byte]; `u64::MAX` means unlimited.
    pub size: u64,
    /// Whether the client resumes a session and sends data in its first flight (0-RTT).
    pub early_data: bool,
    /// Whether web traffic is framed as HTTP/3.
    pub http3: bool,
    /// Flow-control windows of the connection and its streams [byte], if they are set.
    pub window: Option<u64>,
}

impl Settings {
    /// Reads the settings of a stack with these congestion controls, the first of which is the default. `own` lists
    /// the names of further settings, and `most_bytes` is the longest UDP payload that the stack can send [byte].
    ///
    /// # Errors
    /// Returns an error that names the setting if a setting is invalid or unknown.
    pub fn read(
        setup: &Setup<'_>,
        controls: &[&'static str],
        own: &[&str],
        most_bytes: u32,
    ) -> Result<Settings, String> {
        setup.accept(&[&NAMES, own].concat())?;
        let name = setup.setting("congestion").unwrap_or(controls[0]);
        let Some(congestion) = controls.iter().find(|control| **control == name) else {
            return Err(format!("congestion: {name}; needs {}", controls.join(", ")));
        };
        if !(1200..=most_bytes).contains(&setup.most_bytes) {
            let payload_bytes = setup.most_bytes;
            return Err(format!(
                "longest_packet: payloads of {payload_bytes} bytes; needs 1200 to {most_bytes} bytes"
            ));
        }
        let flag = |name: &str| match setup.setting(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(format!("{name}: {other}; needs true or false")),
        };
        let (early_data, http3) = (flag(EARLY_DATA)?, flag(HTTP3)?);
        if http3 && setup.setting(WEB).is_none() {
            return Err(format!("{HTTP3}: true; needs traffic with the field web"));
        }
        let workload = read_workload(setup, own.contains(&OF_DATAGRAMS[0]))?;
        if matches!(workload, Workload::Requests { .. }) && setup.setting("size").is_none() {
            return Err("size: absent; needs the length of a response in bytes".to_owned());
        }
        let window = setup.number("window", 0)?;
        Ok(Settings {
            role: setup.role,
            congestion,
            workload,
            size: setup.number("size", u64::MAX)?,
            early_data,
            http3,
            window: setup.setting("window").map(|_| window),
        })
    }

    /// Returns whether this end opens the connection.
    pub fn connects(&self) -> bool {
        self.workload.is_requested() != (self.role == Role::Sender)
    }
}

impl Workload {
    /// Returns whether the flow's receiver opens the connection and requests the data.
    pub fn is_requested(self) -> bool {
        matches!(self, Workload::Requests { .. } | Workload::Web { .. })
    }

    /// Returns the number of concurrent streams.
    pub fn streams(self) -> u64 {
        match self {
            Workload::Streams { count } => count,
            _ => 1,
        }
    }

    /// Returns the length of one of the concurrent streams, among which `size` is divided [byte]; the first ones carry
    /// the remainder.
    pub fn share(self, size: u64, index: u64) -> u64 {
        let count = self.streams();
        match size {
            u64::MAX => u64::MAX,
            size => size / count + u64::from(index < size % count),
        }
    }
}

fn read_workload(setup: &Setup<'_>, has_datagrams: bool) -> Result<Workload, String> {
    let within = |name: &str, default: u64, range: &RangeInclusive<u64>, unit: &str| {
        let value = setup.number(name, default)?;
        let (least, most) = (range.start(), range.end());
        let refused = || format!("{name}: {value}; needs {least} to {most}{unit}");
        range.contains(&value).then_some(value).ok_or_else(refused)
    };
    if setup.setting(WEB).is_some() {
        for name in ["workload", "size"] {
            if let Some(value) = setup.setting(name) {
                return Err(format!("{name}: {value}; needs to be absent with web traffic"));
            }
        }
        let count = WebExchange::read(setup)?.count();
        return Ok(Workload::Web { count });
    }
    match setup.setting("workload").unwrap_or("bulk") {
        "bulk" => Ok(Workload::Streams { count: 1 }),
        "streams" => Ok(Workload::Streams {
            count: within("streams", 10, &STREAMS, "")?,
        }),
        "requests" => Ok(Workload::Requests {
            count: setup.number("requests", 1)?,
            request: setup.number("request", 100)?,
        }),
        "datagrams" if has_datagrams => Ok(Workload::Datagrams {
            bytes: within(OF_DATAGRAMS[0], 1000, &DATAGRAM_BYTES, " bytes")?,
            interval_ps: PS_PER_US * within(OF_DATAGRAMS[1], 10_000, &(1..=u64::from(u32::MAX)), "")?,
        }),
        other => {
            let last = if has_datagrams { ", datagrams" } else { "" };
            Err(format!("workload: {other}; needs bulk, streams, requests{last}"))
        }
    }
}

/// Times of what an application has received: from requests to the ends of their responses, from the flow's start to
/// the ends of concurrent streams, or of datagrams on their way.
#[derive(Clone, Debug, Default)]
pub struct Times {
    count: u64,
    sum_s: f64,
    longest_ps: u64,
}

impl Times {
    /// Adds a time [ps].
    pub fn push(&mut self, took_ps: u64) {
        self.count += 1;
        self.sum_s += took_ps as f64 / PS_PER_S;
        self.longest_ps = self.longest_ps.max(took_ps);
    }

    /// Returns the number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the values of a receiver's report about the times; none for a single stream.
    pub fn values(&self, workload: Workload) -> Vec<(String, f64)> {
        let (noun, counter) = match workload {
            Workload::Streams { count: 1 } | Workload::Web { .. } => return Vec::new(),
            Workload::Streams { .. } => ("stream", None),
            Workload::Requests { .. } => ("response", Some("responses")),
            Workload::Datagrams { .. } => ("datagram", Some("received_datagrams")),
        };
        let mut values: Vec<_> = counter
            .map(|name| (name.to_owned(), self.count as f64))
            .into_iter()
            .collect();
        if self.count > 0 {
            values.push((format!("mean_{noun}_s"), self.sum_s / self.count as f64));
            values.push((format!("max_{noun}_s"), self.longest_ps as f64 / PS_PER_S));
        } else if matches!(workload, Workload::Requests { .. }) {
            values.clear();
        }
        values
    }
}

/// A request of a web client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebRequest {
    /// Time of the request [ps].
    pub at_ps: u64,
    /// Length of the request [byte].
    pub request_bytes: u64,
    /// Length of the response [byte].
    pub response_bytes: u64,
}

/// The requests of a web client, each with a stream of its own, and when this end had received each request, or its
/// response, completely. Empty for other workloads.
#[derive(Clone, Debug, Default)]
pub struct WebExchange {
    requests: Vec<WebRequest>,
    /// Number of requests that were sent.
    sent: usize,
    received_ps: Vec<Option<u64>>,
    /// Number of requests or responses that were received.
    received: usize,
}

impl WebExchange {
    /// Reads the requests, each of which consists of a time, its length and that of its response.
    ///
    /// # Errors
    /// Returns an error that names the setting if it is invalid.
    pub fn read(setup: &Setup<'_>) -> Result<WebExchange, String> {
        let lines = setup.setting(WEB).unwrap_or_default().split(';');
        let requests = lines.filter(|line| !line.is_empty()).map(|line| {
            let numbers: Vec<u64> = line.split(' ').map_while(|word| word.parse().ok()).collect();
            let &[at_ps, request_bytes, response_bytes] = numbers.as_slice() else {
                return Err(format!("{WEB}: {line:?}; needs a time and two lengths"));
            };
            Ok(WebRequest {
                at_ps,
                request_bytes,
                response_bytes,
            })
        });
        let requests = requests.collect::<Result<Vec<_>, _>>()?;
        Ok(WebExchange {
            received_ps: vec![None; requests.len()],
            requests,
            ..WebExchange::default()
        })
    }

    /// Returns the number of requests.
    pub fn count(&self) -> u64 {
        self.requests.len() as u64
    }

    /// Returns the number of requests that the client has sent.
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// Returns the time of the client's next request [ps].
    pub fn due(&self) -> Option<u64> {
        self.requests.get(self.sent).map(|request| request.at_ps)
    }

    /// Returns the number and the content of the request that the client sends next, if it is due.
    pub fn next(&mut self, now: u64) -> Option<(usize, WebRequest)> {
        let (number, request) = (self.sent, *self.requests.get(self.sent)?);
        (request.at_ps <= now).then(|| {
            self.sent += 1;
            (number, request)
        })
    }

    /// Returns a request.
    pub fn request(&self, number: usize) -> Option<WebRequest> {
        self.requests.get(number).copied()
    }

    /// Records that a request, or its response, was received. Returns whether it was the last one.
    pub fn receive(&mut self, number: usize, now: u64) -> bool {
        if let Some(received @ None) = self.received_ps.get_mut(number) {
            *received = Some(now);
            self.received += 1;
        }
        self.received == self.requests.len()
    }

    /// Returns the values of a report: the time at which each request, or response, was received [ps].
    pub fn values(&self) -> Vec<(String, f64)> {
        let received = self.received_ps.iter().enumerate();
        received
            .filter_map(|(number, at)| at.map(|at| (format!("file {number}"), at as f64)))
            .collect()
    }
}

/// The datagrams that a sender passes to its connection, at regular times.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    bytes: u64,
    interval_ps: u64,
    size: u64,
    next_ps: Option<u64>,
    sent: u64,
}

impl DatagramSource {
    /// Creates a source of `size` bytes that has not begun; None for other workloads and for receivers.
    pub fn new(workload: Workload, role: Role, size: u64) -> Option<DatagramSource> {
        match workload {
            Workload::Datagrams { bytes, interval_ps } if role == Role::Sender => Some(DatagramSource {
                bytes,
                interval_ps,
                size,
                next_ps: None,
                sent: 0,
            }),
            _ => None,
        }
    }

    /// Begins at `now` [ps], unless it has begun.
    pub fn begin(&mut self, now: u64) {
        if self.sent == 0 {
            self.next_ps.get_or_insert(now);
        }
    }

    /// Returns the time of the next datagram [ps].
    pub fn due(&self) -> Option<u64> {
        self.next_ps
    }

    /// Returns whether the source has passed all its datagrams.
    pub fn is_done(&self) -> bool {
        self.sent > 0 && self.next_ps.is_none()
    }

    /// Returns the number of datagrams so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the datagram that is due, which begins with the time at which it was due [ps].
    pub fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        let at = self.next_ps.filter(|at| *at <= now)?;
        let mut datagram = vec![0; self.bytes as usize];
        datagram[..8].copy_from_slice(&at.to_le_bytes());
        self.sent += 1;
        let is_last = self.size != u64::MAX && self.sent * self.bytes >= self.size;
        self.next_ps = (!is_last).then_some(at + self.interval_ps);
        Some(datagram)
    }
}

/// Returns the time of a datagram on its way [ps], when it arrives at `now`; None if it contains no time.
pub fn datagram_took(datagram: &[u8], now: u64) -> Option<u64> {
    let sent = datagram.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))?;
    now.checked_sub(sent)
}

/// Counts reductions of the congestion window. A smaller window is a reduction if there were losses since the previous
/// one, because BBR also reduces its window without losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reductions {
    /// Latest window [byte].
    pub cwnd: u64,
    /// Losses at the latest reduction.
    losses: u64,
    /// Number of reductions.
    pub count: u64,
}

impl Reductions {
    /// Observes the window [byte] and the number of losses so far.
    pub fn observe(&mut self, cwnd: u64, losses: u64) {
        if cwnd < self.cwnd && losses > self.losses {
            self.count += 1;
            self.losses = losses;
        }
        self.cwnd = cwnd;
    }
}

/// The generator SplitMix64 (Steele, Lea and Flood 2014), for stacks that take their random numbers from a callback.
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// Fills a buffer with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(String, String)]) -> Result<bool, String> {
        let setup = Setup {
            role: Role::Receiver,
            seed: 1,
            start_ps: 0,
            most_bytes: 1452,
            paths: 1,
            settings: values,
            logs_packets: false,
        };
        Settings::read(&setup, &["cubic", "reno"], &["ecn", "early_data", "http3"], 65_527)
            .map(|settings| settings.connects())
    }

    #[test]
    fn settings_are_read_or_refused_in_one_line() {
        let of = |name: &str, value: &str| settings(&[(name.to_owned(), value.to_owned())]);
        assert_eq!(of("ecn", "none"), Ok(false));
        let lines = [
            ("congestion", "vegas", "congestion: vegas; needs cubic, reno"),
            ("workload", "pages", "workload: pages; needs bulk, streams, requests"),
            ("http3", "true", "http3: true; needs traffic with the field web"),
            ("web", "5 100", "web: \"5 100\"; needs a time and two lengths"),
            (
                "workload",
                "datagrams",
                "workload: datagrams; needs bulk, streams, requests",
            ),
            ("early_data", "yes", "early_data: yes; needs true or false"),
            (
                "workload",
                "requests",
                "size: absent; needs the length of a response in bytes",
            ),
            ("size", "much", "size: \"much\"; needs a number"),
        ];
        for (name, value, line) in lines {
            assert_eq!(of(name, value), Err(line.to_owned()));
        }
        assert!(of("windw", "1").is_err_and(|line| line.starts_with("windw: unknown setting; needs congestion, ")));
    }

    #[test]
    fn datagrams_carry_the_times_at_which_they_were_due() {
        let workload = Workload::Datagrams {
            bytes: 500,
            interval_ps: 7,
        };
        assert!(DatagramSource::new(workload, Role::Receiver, 1001).is_none());
        let mut source = DatagramSource::new(workload, Role::Sender, 1001).expect("a sender of datagrams");
        assert_eq!(source.next(100), None);
        source.begin(100);
        // The second one leaves late; the third one carries the last byte.
        let took: Vec<_> = [100, 110, 114, 121]
            .map(|now| source.next(now).and_then(|datagram| datagram_took(&datagram, now)))
            .into();
        assert_eq!(took, [Some(0), Some(3), Some(0), None]);
        assert!(source.is_done());
    }

    #[test]
    fn web_requests_are_sent_when_they_are_due() {
        let values = [("web".to_owned(), "5 128 102;9 128 5120".to_owned())];
        let setup = Setup {
            role: Role::Receiver,
            seed: 1,
            start_ps: 5,
            most_bytes: 1452,
            paths: 1,
            settings: &values,
            logs_packets: false,
        };
        let mut web = WebExchange::read(&setup).expect("two requests");
        assert_eq!(web.next(4), None);
        assert_eq!(
            web.next(6).map(|(number, request)| (number, request.response_bytes)),
            Some((0, 102))
        );
        assert_eq!((web.next(8), web.due()), (None, Some(9)));
        assert_eq!(
            web.next(9).map(|(number, request)| (number, request.request_bytes)),
            Some((1, 128))
        );
        // The responses arrive in the other order.
        assert_eq!([web.receive(1, 20), web.receive(0, 30)], [false, true]);
        assert_eq!(web.values(), [("file 0".to_owned(), 30.0), ("file 1".to_owned(), 20.0)]);
    }

    #[test]
    fn window_decrease_without_loss_is_not_a_reduction() {
        let mut reductions = Reductions::default();
        for (cwnd, losses) in [(10, 0), (5, 0), (10, 2), (7, 2), (6, 2), (8, 3), (7, 4)] {
            reductions.observe(cwnd, losses);
        }
        assert_eq!(reductions.count, 2);
    }

    #[test]
    fn random_bytes_are_those_of_the_published_generator() {
        // First output for the state 0, from the reference implementation of Vigna (splitmix64.c).
        let mut bytes = [0; 8];
        SplitMix64(0).fill(&mut bytes);
        assert_eq!(u64::from_le_bytes(bytes), 0xe220_a839_7b1d_cdaf);
    }
}
