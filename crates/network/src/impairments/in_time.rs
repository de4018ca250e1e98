//! Losses that depend on time instead of packet numbers: a piecewise constant probability, and a two-state process in
//! continuous time.

use super::loss::Probability;
use longpipe_events::{Stream, Time};

/// A piecewise constant loss probability.
#[derive(Clone, Debug)]
pub struct LossSteps {
    steps: Vec<(u64, Probability)>,
    /// Number of steps that have begun.
    passed: usize,
    stream: Stream,
}

impl LossSteps {
    /// Creates the losses from ordered steps with times in picoseconds; no frame is lost before the first step.
    pub fn new(steps: &[(u64, f64)], stream: Stream) -> LossSteps {
        LossSteps {
            steps: steps.iter().map(|&(at, share)| (at, Probability::new(share))).collect(),
            passed: 0,
            stream,
        }
    }

    /// Returns whether the frame that enters at `now` is lost.
    pub fn loses(&mut self, now: Time) -> bool {
        while self.steps.get(self.passed).is_some_and(|step| step.0 <= now.0) {
            self.passed += 1;
        }
        let in_force = self.passed.checked_sub(1).map(|last| self.steps[last].1);
        in_force.is_some_and(|probability| probability.draw(&mut self.stream))
    }
}

/// A good and a bad state with exponentially distributed durations, so that bursts do not depend on the load.
#[derive(Clone, Debug)]
pub struct States {
    /// Mean durations [ps] of the good and the bad state.
    means: [u64; 2],
    lose: [Probability; 2],
    bad: bool,
    /// Time [ps] of the next change of state.
    until: u64,
    /// Streams for durations and for losses, which are separate so that neither affects the other.
    sojourns: Stream,
    losses: Stream,
}

impl States {
    /// Creates the process in the good state.
    pub fn new(means: [u64; 2], lose: [f64; 2], (seed, link): (u64, u64)) -> States {
        let mut states = States {
            means,
            lose: lose.map(Probability::new),
            bad: false,
            until: 0,
            sojourns: Stream::new(seed, "sojourn", link),
            losses: Stream::new(seed, "loss", link),
        };
        states.until = states.sojourns.exponential(means[0]);
        states
    }

    /// Returns whether the frame that enters at `now` is lost.
    pub fn loses(&mut self, now: Time) -> bool {
        while self.until <= now.0 {
            self.bad ^= true;
            let sojourn = self.sojourns.exponential(self.means[usize::from(self.bad)]);
            // A state of duration 0 would never advance the time.
            self.until = self.until.saturating_add(sojourn.max(1));
        }
        self.lose[usize::from(self.bad)].draw(&mut self.losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_shares_follow_the_time_in_each_state_at_any_load() {
        // The state is bad for 2 ms out of 12 ms on average; packets are sent either every 0.1 ms or every 1 ms.
        for (gap, packets) in [(100_000_000u64, 1_000_000u64), (1_000_000_000, 1_000_000)] {
            let mut states = States::new([10_000_000_000, 2_000_000_000], [0.0, 1.0], (1, 0));
            let lost = (0..packets).filter(|&number| states.loses(Time(number * gap))).count() as f64;
            let share = lost / packets as f64;
            // The standard deviation of the mean of a two-state process over a time T is sqrt(2 p (1 - p) tau / T),
            // where 1/tau = 1/10 + 1/2 per ms.
            let (p, tau, total) = (1.0 / 6.0, 10.0 / 6.0, (gap * packets) as f64 / 1e9);
            let deviation = (2.0 * p * (1.0 - p) * tau / total).sqrt();
            assert!((share - p).abs() < 3.0 * deviation, "{share} {deviation}");
        }
    }

    #[test]
    fn a_probability_applies_from_its_time_on() {
        let steps = [(10, 1.0), (20, 0.0), (30, 0.5)];
        let mut loss = LossSteps::new(&steps, Stream::new(1, "loss", 0));
        let lost: Vec<bool> = [0, 9, 10, 19, 20, 29].map(|at| loss.loses(Time(at))).to_vec();
        assert_eq!(lost, [false, false, true, true, false, false]);
        let half = (0..10_000).filter(|&later| loss.loses(Time(30 + later))).count();
        assert!((4700..5300).contains(&half), "{half}");
    }
}
