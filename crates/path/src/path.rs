//! A path in virtual time for external packets. Packets enter at times that never decrease, and each packet is later
//! delivered or lost.

use longpipe_events::{mix, Time};
use longpipe_network::report::{InvariantError, Report};
use longpipe_network::{Circuit, DropCause, ExternalPacket, Fate, Outcome, Probe, Scenario, ScenarioError, Simulation};
use strum::EnumCount;

/// A packet that enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of entry.
    pub at: Time,
    /// Circuit of an external flow: 2f leads from the sender of flow f to its receiver, and 2f + 1 in the opposite
    /// direction.
    pub circuit: u32,
    /// Length of the IP packet [byte].
    pub bytes: u16,
    /// Whether the packet is ECN-capable.
    pub capable: bool,
    /// Whether the packet carries ECT(1) instead of ECT(0).
    pub scalable: bool,
    /// Whether the packet already carries CE.
    pub marked: bool,
}

/// Counters of packets, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that entered.
    pub entered: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Delivered packets that this path marked.
    pub marked: u64,
    /// Packets lost, by cause.
    pub lost: [u64; DropCause::COUNT],
}

/// Initial value of the hash over decisions.
const FIRST: u64 = 0x6c6f_6e67_7069_7065;

impl Counts {
    /// Returns the number of packets lost for any cause.
    pub fn all_lost(&self) -> u64 {
        self.lost.iter().sum()
    }
}

/// A run of a scenario with external flows, at its current time. `P` observes the run.
#[derive(Debug)]
pub struct Path<P: Probe = ()> {
    simulation: Simulation<P>,
    now: Time,
    end: Time,
    counts: Counts,
    decisions: u64,
    taken: Vec<Outcome>,
}

impl Path {
    /// Returns the path at time zero.
    ///
    /// # Errors
    /// Returns the first problem if the scenario is invalid.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Path, ScenarioError> {
        Path::observed(scenario, seed, ())
    }
}

impl<P: Probe> Path<P> {
    /// Returns the path at time zero, observed by `probe`.
    ///
    /// # Errors
    /// Returns the first problem if the scenario is invalid.
    pub fn observed(scenario: &Scenario, seed: u64, probe: P) -> Result<Path<P>, ScenarioError> {
        Ok(Path {
            simulation: Simulation::with_probe(scenario, seed, probe)?,
            now: Time::ZERO,
            end: Time(scenario.duration_ps),
            counts: Counts::default(),
            decisions: FIRST,
            taken: Vec::new(),
        })
    }

    /// Lets a packet enter at `arrival.at` or at the current time of the path, whichever is later. Returns the packet's
    /// number, counted from 0.
    pub fn enter(&mut self, arrival: Arrival) -> u64 {
        let id = self.counts.entered;
        self.counts.entered += 1;
        self.now = arrival.at.max(self.now).min(self.end);
        let packet = ExternalPacket {
            id,
            bytes: arrival.bytes,
            capable: arrival.capable,
            scalable: arrival.scalable,
            marked: arrival.marked,
        };
        self.simulation.enter(self.now, Circuit(arrival.circuit), packet);
        id
    }

    /// Advances to `time`. Returns the outcomes since the previous call, in order.
    pub fn advance_to(&mut self, time: Time) -> &[Outcome] {
        self.now = time.max(self.now).min(self.end);
        self.simulation.advance_to(self.now);
        self.decided()
    }

    /// Advances to the next time at which packets are delivered or lost, but not beyond `time`, and returns the
    /// outcomes of these packets. Afterwards [`now`](Path::now) returns that time.
    pub fn advance_until_decided(&mut self, time: Time) -> &[Outcome] {
        self.now = self.simulation.advance_until_outcome(time.max(self.now).min(self.end));
        self.decided()
    }

    /// Returns the outcomes since the last call, and counts them.
    fn decided(&mut self) -> &[Outcome] {
        self.taken.clear();
        self.taken.append(self.simulation.outcomes());
        for outcome in &self.taken {
            self.decisions = self.counts.take(self.decisions, outcome);
        }
        &self.taken
    }

    /// Returns the time of the next event, assuming that no packet enters before it.
    pub fn next_due(&mut self) -> Time {
        self.simulation.next_due()
    }

    /// Returns a lower bound on the time of the next delivery, assuming that no packet enters before it.
    pub fn horizon(&mut self) -> Time {
        self.simulation.horizon()
    }

    /// Returns the current time of the simulated path.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Returns the counters of packets.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns a hash over all outcomes: packet, time, and whether it was delivered, marked or lost.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Returns the simulation, including the probe.
    pub fn simulation(&mut self) -> &mut Simulation<P> {
        &mut self.simulation
    }

    /// Returns the simulation, from which the probe can be taken.
    pub fn into_simulation(self) -> Simulation<P> {
        self.simulation
    }

    /// Ends the run at the current time. Returns the counters of ports and flows.
    ///
    /// # Errors
    /// Returns an error if packets are not accounted for.
    pub fn report(&mut self) -> Result<Report, InvariantError> {
        self.simulation.stop();
        self.simulation.report()
    }
}

impl Counts {
    /// Counts an outcome. Returns `hash` updated with the outcome.
    fn take(&mut self, hash: u64, outcome: &Outcome) -> u64 {
        let fate = match outcome.fate {
            Fate::Delivered { marked } => {
                self.delivered += 1;
                self.marked += u64::from(marked);
                u64::from(marked)
            }
            Fate::Lost { link, cause } => {
                self.lost[cause.index()] += 1;
                (u64::from(link.map_or(0, |link| link.0 + 1)) << 8) | hash_code(cause)
            }
        };
        [outcome.time.0, outcome.id, fate]
            .iter()
            .fold(hash, |hash, word| mix(hash ^ mix(*word)))
    }
}

/// Returns the number of a cause in the hash over decisions. Records contain hashes of earlier releases, which
/// distinguished six causes.
fn hash_code(cause: DropCause) -> u64 {
    let shared = match cause.counted_as() {
        DropCause::Policer => DropCause::Aqm,
        DropCause::NoRoute => DropCause::Outage,
        other => other,
    };
    shared as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hash codes of causes in records of earlier releases.
    const RECORDED: [(DropCause, u64); 9] = [
        (DropCause::Overflow, 2),
        (DropCause::Aqm, 3),
        (DropCause::InjectedLoss, 4),
        (DropCause::Outage, 5),
        (DropCause::BitError, 6),
        (DropCause::PartialFrame, 7),
        (DropCause::AckFilter, 3),
        (DropCause::NoRoute, 5),
        (DropCause::Policer, 3),
    ];

    #[test]
    fn each_loss_cause_has_a_counter_and_stable_hash_code() {
        let mut counts = Counts::default();
        for (index, (cause, code)) in RECORDED.into_iter().enumerate() {
            let fate = Fate::Lost { link: None, cause };
            let (time, id) = (Time(5), index as u64);
            let hash = counts.take(FIRST, &Outcome { time, id, fate });
            assert_eq!(counts.lost[cause.index()], 1);
            assert_eq!(hash, mix_words([5, id, code]));
        }
        assert_eq!(counts.all_lost(), RECORDED.len() as u64);
    }

    fn mix_words(words: [u64; 3]) -> u64 {
        words.iter().fold(FIRST, |hash, word| mix(hash ^ mix(*word)))
    }
}
