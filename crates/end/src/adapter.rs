//! What the adapters of QUIC stacks have in common: their settings, their random numbers, and what they count.

use crate::{Role, Setup};

const PS_PER_S: f64 = 1e12;

/// Names of the settings that [`Settings::read`] reads.
const NAMES: [&str; 6] = ["congestion", "size", "workload", "requests", "request", "window"];

/// Settings of a flow with a QUIC stack.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Role of the end.
    pub role: Role,
    /// Congestion control of the stack.
    pub congestion: &'static str,
    /// Whether the flow's receiver opens the connection and sends requests, one after another. Otherwise, the flow's
    /// sender opens it and sends one stream.
    pub requests: bool,
    /// Length of the transfer, or of a response [byte]; `u64::MAX` means unlimited.
    pub size: u64,
    /// Length of a request [byte].
    pub request: u64,
    /// Number of requests; 1 for a transfer.
    pub count: u64,
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
            let found = setup.most_bytes;
            return Err(format!(
                "longest_packet: payloads of {found} bytes; needs 1200 to {most_bytes} bytes"
            ));
        }
        let requests = match setup.setting("workload").unwrap_or("bulk") {
            "bulk" => false,
            "requests" => true,
            other => return Err(format!("workload: {other}; needs bulk or requests")),
        };
        if requests && setup.setting("size").is_none() {
            return Err("size: absent; needs the length of a response in bytes".to_owned());
        }
        let window = setup.number("window", 0)?;
        Ok(Settings {
            role: setup.role,
            congestion,
            requests,
            size: setup.number("size", u64::MAX)?,
            request: setup.number("request", 100)?,
            count: if requests { setup.number("requests", 1)? } else { 1 },
            window: setup.setting("window").map(|_| window),
        })
    }

    /// Returns whether this end opens the connection.
    pub fn connects(&self) -> bool {
        self.requests != (self.role == Role::Sender)
    }
}

/// Times from requests to the ends of their responses.
#[derive(Clone, Debug, Default)]
pub struct ResponseTimes(Vec<u64>);

impl ResponseTimes {
    /// Adds a response that took a time [ps].
    pub fn push(&mut self, took_ps: u64) {
        self.0.push(took_ps);
    }

    /// Returns the number of responses.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the values of a report about responses; none if there was no response.
    pub fn values(&self) -> Vec<(String, f64)> {
        let Some(longest) = self.0.iter().max() else {
            return Vec::new();
        };
        let seconds = |ps: u64| ps as f64 / PS_PER_S;
        let sum: f64 = self.0.iter().copied().map(seconds).sum();
        [
            ("responses", self.0.len() as f64),
            ("mean_response_s", sum / self.0.len() as f64),
            ("max_response_s", seconds(*longest)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
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
        Settings::read(&setup, &["cubic", "reno"], &["ecn"], 65_527).map(|settings| settings.connects())
    }

    #[test]
    fn settings_are_read_or_refused_in_one_line() {
        let of = |name: &str, value: &str| settings(&[(name.to_owned(), value.to_owned())]);
        assert_eq!(of("ecn", "none"), Ok(false));
        let lines = [
            ("congestion", "vegas", "congestion: vegas; needs cubic, reno"),
            ("workload", "web", "workload: web; needs bulk or requests"),
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
    fn a_window_that_shrinks_without_a_loss_is_no_reduction() {
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
