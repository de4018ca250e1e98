//! Random access: slotted ALOHA, and CRDSA (contention resolution diversity slotted ALOHA; Casini, De Gaudenzi and
//! Herrero, IEEE Trans. Wireless Communications 6(4), 2007).
//!
//! Terminals send each burst in one slot of a frame, or copies of it in several. The gateway decodes a burst that is
//! alone in a slot, and with CRDSA then cancels its copies, which may leave other bursts alone. Cancellation is perfect,
//! and there is no capture: without cancellation, two bursts in a slot are lost.

use longpipe_events::{Span, Stream};

/// Scale of the time in which bursts of other terminals arrive: a frame lasts this long.
const FRAME: u64 = 1 << 40;

/// Rules of random access in a beam.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Slots of a frame.
    pub slots: u64,
    /// Copies of each burst, in different slots.
    pub replicas: u64,
    /// Bytes of a burst, without those that identify the terminal and the copies.
    pub burst_bytes: u64,
    /// Mean number of bursts of other terminals in a slot, counting each burst once.
    pub load: f64,
}

/// Rules of a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnRules {
    /// Maximum number of bursts in a frame.
    pub bursts: u64,
    /// Probability that the terminal waits for `backoff` before it begins to use consecutive frames.
    pub backoff_probability: f64,
    pub backoff: Span,
}

/// Consecutive frames that a terminal uses at most, and frames between that it leaves to others (SNS3).
pub(super) const CONSECUTIVE: u64 = 4;
pub(super) const IDLE: u64 = 2;

/// Slots for random access of a beam.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub rules: Rules,
    stream: Stream,
    /// Whether the event of the next frame is scheduled.
    pub is_due: bool,
    /// Slots of all copies in the present frame, `replicas` for each burst.
    chosen: Vec<usize>,
}

impl Channel {
    /// Creates a channel whose frames are empty.
    pub fn new(rules: Rules, seed: u64, link: usize) -> Channel {
        Channel {
            rules,
            stream: Stream::new(seed, "random-access", link as u64),
            is_due: false,
            chosen: Vec::new(),
        }
    }

    /// Returns a number in [0, 1).
    pub fn fraction(&mut self) -> f64 {
        self.stream.fraction()
    }

    /// Draws a frame in which each terminal sends the given number of bursts. Returns, for each burst, the slot at whose
    /// end the gateway has decoded it: the first slot in which it is alone, or the last one if it is decoded after a
    /// cancellation; None if it is lost.
    pub fn frame(&mut self, bursts: &[u64]) -> Vec<Option<u64>> {
        self.chosen.clear();
        bursts.iter().for_each(|&bursts| self.choose(bursts));
        let own = self.chosen.len() / self.rules.replicas as usize;
        for _ in 0..self.others() {
            self.choose(1);
        }
        let mut decoded = decode(&self.chosen, self.rules.replicas as usize, self.rules.slots as usize);
        decoded.truncate(own);
        decoded
    }

    /// Draws the slots of all copies of a terminal's bursts, which are different, because it sends one at a time.
    fn choose(&mut self, bursts: u64) {
        let first = self.chosen.len();
        for _ in 0..bursts * self.rules.replicas {
            let slot = loop {
                let slot = self.stream.below(self.rules.slots) as usize;
                if !self.chosen[first..].contains(&slot) {
                    break slot;
                }
            };
            self.chosen.push(slot);
        }
    }

    /// Draws the number of bursts of other terminals, which has a Poisson distribution.
    fn others(&mut self) -> u64 {
        let mean = self.rules.load * self.rules.slots as f64;
        if mean <= 0.0 {
            return 0;
        }
        let gap = (FRAME as f64 / mean) as u64;
        let (mut time, mut number) = (self.stream.exponential(gap), 0);
        while time < FRAME {
            number += 1;
            time += self.stream.exponential(gap);
        }
        number
    }
}

/// Decodes a frame. `chosen` has the slots of `replicas` copies for each burst.
fn decode(chosen: &[usize], replicas: usize, slots: usize) -> Vec<Option<u64>> {
    // Number of copies in each slot, and the exclusive or of the numbers of their bursts.
    let mut copies = vec![(0u32, 0usize); slots];
    for (copy, &slot) in chosen.iter().enumerate() {
        copies[slot].0 += 1;
        copies[slot].1 ^= copy / replicas;
    }
    let mut decoded = vec![None; chosen.len() / replicas];
    let mut alone: Vec<usize> = (0..slots).rev().filter(|&slot| copies[slot].0 == 1).collect();
    for &slot in &alone {
        decoded[copies[slot].1] = Some(slot as u64);
    }
    let mut cancelled = vec![false; decoded.len()];
    while let Some(slot) = alone.pop() {
        let (1, burst) = copies[slot] else { continue };
        decoded[burst].get_or_insert(slots as u64 - 1);
        if std::mem::replace(&mut cancelled[burst], true) {
            continue;
        }
        for &slot in &chosen[burst * replicas..(burst + 1) * replicas] {
            copies[slot].0 -= 1;
            copies[slot].1 ^= burst;
            if copies[slot].0 == 1 {
                alone.push(slot);
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(load: f64, replicas: u64) -> Rules {
        Rules {
            slots: 100,
            replicas,
            burst_bytes: 33,
            load,
        }
    }

    /// A row of the table of random access: its load, its number of replicas, and the value with its tolerance.
    fn rows(quantity: &str, users: &str) -> Vec<(f64, u64, f64, f64)> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/access/random-access.csv");
        let text = std::fs::read_to_string(path).expect("the table of random access");
        let rows = text
            .lines()
            .filter(|line| line.starts_with(quantity) && line.contains(users));
        rows.map(|row| {
            let columns: Vec<&str> = row.split(',').collect();
            let condition = |name: &str| {
                let mut pairs = columns[1].split(' ').filter_map(|pair| pair.split_once('='));
                pairs.find(|(key, _)| *key == name).map_or("1", |(_, value)| value)
            };
            (
                condition("G").parse().expect("a load"),
                condition("replicas").parse().expect("a number"),
                columns[2].parse().expect("a value"),
                columns[4].parse().expect("a tolerance"),
            )
        })
        .collect()
    }

    /// Returns the share of bursts that are lost of a terminal that sends one in each frame.
    fn lost(load: f64, replicas: u64, frames: u64) -> f64 {
        let mut channel = Channel::new(rules(load, replicas), 1, 0);
        let lost = (0..frames).filter(|_| channel.frame(&[1])[0].is_none()).count();
        lost as f64 / frames as f64
    }

    #[test]
    fn losses_of_crdsa_equal_the_table() {
        let rows = rows("CRDSA loss", "users=poisson");
        assert_eq!(rows.len(), 20);
        // The bursts of a terminal, which do not depend on the number of others, are lost as the mean burst is.
        let frames = 20_000;
        for (load, replicas, expected, tolerance) in rows {
            let share = lost(load, replicas, frames);
            let own = 4.0 * (expected.max(1e-4) / frames as f64).sqrt();
            println!(
                "G {load}, {replicas} replicas: {share:.5}, expected {expected:.5} ± {:.5}",
                tolerance + own
            );
            assert!(
                (share - expected).abs() < tolerance + own,
                "{load} {replicas}: {share} {expected}"
            );
        }
    }

    #[test]
    fn losses_of_slotted_aloha_equal_the_closed_form() {
        let rows = rows("slotted ALOHA throughput", "stations=infinite");
        assert!(!rows.is_empty());
        let frames = 20_000;
        for (load, _, throughput, _) in rows {
            let share = lost(load, 1, frames);
            let expected = 1.0 - throughput / load;
            assert!(
                (share - expected).abs() < 4.0 * (0.25 / frames as f64).sqrt(),
                "{load}: {share} {expected}"
            );
        }
    }

    #[test]
    fn a_burst_is_decoded_after_the_cancellation_of_another() {
        // Burst 0 is alone in slot 4; its copy in slot 1 is cancelled, and then that of burst 1 in slot 3.
        assert_eq!(decode(&[1, 4, 1, 3, 3, 5, 5, 3], 2, 7), [Some(4), Some(6), None, None]);
        assert_eq!(decode(&[2, 2, 0], 1, 3), [None, None, Some(0)]);
        // Without an interval of its own, the first of two slots is that of the decoding.
        assert_eq!(decode(&[5, 2], 2, 6), [Some(2)]);
    }

    #[test]
    fn copies_of_a_terminal_are_in_different_slots() {
        let mut channel = Channel::new(rules(0.0, 3), 1, 0);
        for _ in 0..100 {
            assert!(channel.frame(&[3]).iter().all(Option::is_some));
        }
        assert!(channel.frame(&[]).is_empty());
    }
}
