//! Queue protection: finds the flows that build a low-latency queue, so that their packets can be moved to another queue
//! (RFC 9957).
//!
//! A flow's score is the time that its bucket needs to drain. Each packet adds its length, multiplied by the probability
//! of a mark when it arrives. In contrast to the RFC, which hashes flows to 32 buckets, each flow has its own.

use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Traffic protection of a low-latency queue, which moves packets of flows that build a queue to the other queue.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueProtectionConfig {
    /// Every packet stays in the queue to which its codepoints assign it.
    #[default]
    #[described(name = "ProtectionOff")]
    Off,
    /// A packet moves if the delay that it finds, and this delay times its flow's score, exceed thresholds (RFC 9957).
    #[serde(rename = "rfc9957")]
    #[described(name = "QueueProtection")]
    Rfc9957 {
        /// Delay of the low-latency queue above which packets may move, at least the transmission time of two packets of
        /// 1500 bytes [time]; RFC 9957, CRITICALqL.
        #[field(range = "[1 us, 1000 s]", default = "1 ms")]
        delay_ps: u64,
        /// Score above which packets move at this delay; at a longer delay, a lower score suffices [time]; RFC 9957,
        /// CRITICALqLSCORE.
        #[field(range = "[1 us, 5 s]", default = "4 ms")]
        score_ps: u64,
        /// Rate at which scores decrease, in bits of packets that would be marked; RFC 9957, AGING (2^-11 byte/ns).
        #[field(range = "[1 bit/s, 1 Tbit/s]", default = "3906250 bit/s")]
        aging_bps: u64,
    },
}

impl QueueProtectionConfig {
    /// Returns whether packets never move.
    pub fn is_off(&self) -> bool {
        *self == QueueProtectionConfig::Off
    }
}

/// Upper limit of a score; RFC 9957, MAX_QLSCORE.
const MAX_SCORE: Span = Span::seconds(5);
/// Packet length [byte] of two packets whose transmission time bounds the delay threshold; RFC 9957, FLOOR.
const TWO_PACKETS: u64 = 3000;

/// Returns the transmission time [ps] of two packets of 1500 bytes at a rate in bit/s.
pub fn two_packets_ps(rate_bps: u64) -> u64 {
    TWO_PACKETS * 8 * PS_PER_SECOND / rate_bps.max(1)
}

/// Scores of the flows of a low-latency queue.
#[derive(Clone, Debug)]
pub struct QueueProtection {
    delay_ps: u64,
    score_ps: u64,
    aging_bps: u64,
    /// Time at which each flow's bucket is empty.
    expiry: Vec<Time>,
}

impl QueueProtection {
    /// Creates the scores of `flows` flows for a link of the given rate [bit/s]; None if the protection is off.
    pub fn new(config: &QueueProtectionConfig, rate_bps: u64, flows: usize) -> Option<QueueProtection> {
        match *config {
            QueueProtectionConfig::Off => None,
            QueueProtectionConfig::Rfc9957 {
                delay_ps,
                score_ps,
                aging_bps,
            } => Some(QueueProtection {
                delay_ps: delay_ps.max(two_packets_ps(rate_bps)),
                score_ps,
                aging_bps,
                expiry: vec![Time::ZERO; flows],
            }),
        }
    }

    /// Adds a packet of `bytes` bytes to its flow's score. `likelihood` is the probability with which the low-latency
    /// queue would mark the packet, and `delay_ps` the queueing delay that the packet finds. Returns whether the packet
    /// moves to the other queue.
    pub fn moves(&mut self, now: Time, flow: u32, bytes: u64, delay_ps: u64, likelihood: f64) -> bool {
        let score = self.fill(now, flow, bytes, likelihood);
        let product = |delay_ps: u64, score_ps: u64| u128::from(delay_ps) * u128::from(score_ps);
        delay_ps > self.delay_ps && product(delay_ps, score.0) > product(self.delay_ps, self.score_ps)
    }

    /// Adds a packet to its flow's score, and returns the score.
    fn fill(&mut self, now: Time, flow: u32, bytes: u64, likelihood: f64) -> Span {
        let expiry = &mut self.expiry[flow as usize];
        let added = likelihood * (bytes * 8) as f64 * PS_PER_SECOND as f64 / self.aging_bps as f64;
        *expiry = ((*expiry).max(now) + Span(added as u64)).min(now + MAX_SCORE);
        *expiry - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores and verdicts that an independent program (tests/queue_protection_witness.py) computes by the rules of RFC
    /// 9957. Each row is a packet that arrives at the low-latency queue.
    const WITNESS: &str = include_str!("protection_witness.csv");

    #[test]
    fn scores_equal_those_of_the_independent_program() {
        let config = QueueProtectionConfig::Rfc9957 {
            delay_ps: Span::millis(1).0,
            score_ps: Span::millis(4).0,
            aging_bps: 3_906_250,
        };
        let mut protection = QueueProtection::new(&config, 1_000_000_000, 6).expect("the protection is on");
        let mut moved = 0;
        for row in WITNESS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |index: usize| fields[index].parse::<u64>().expect(row);
            let now = Time(number(0) * 1000);
            let likelihood = number(4) as f64 / 64.0;
            let moves = protection.moves(now, number(1) as u32, number(2), number(3) * 1000, likelihood);
            let score = protection.expiry[number(1) as usize] - now;
            let expected = fields[5].parse::<f64>().expect(row) * 1000.0;
            // Scores are whole picoseconds.
            assert!((score.0 as f64 - expected).abs() < 2000.0, "{row}: {score:?}");
            assert_eq!(moves, number(6) == 1, "{row}");
            moved += u32::from(moves);
        }
        assert!(moved > 100);
    }

    #[test]
    fn the_delay_threshold_is_at_least_the_time_of_two_packets() {
        assert_eq!(two_packets_ps(20_000_000), Span::micros(1200).0);
    }
}
