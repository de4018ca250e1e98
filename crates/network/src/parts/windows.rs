//! Windows of time that parts of a run simulate in turn.
//!
//! In round `k`, part `i` simulates the time before `(k + 1) w + o_i`. A packet that leaves part `i` in round `k` enters
//! part `j` at `k w + o_i + d_ij` or later, where `d_ij` is the minimum delay from `i` to `j`, so part `j` has not yet
//! simulated that time if `o_j + w <= o_i + d_ij`. Offsets `o` that satisfy this for all pairs exist if `w` is at most the
//! mean delay of each cycle of parts.

use longpipe_events::Time;

/// Windows of equal length, with an offset for each part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    /// Length [ps]; 0 if parts depend on each other without delay.
    pub length: i64,
    /// Offset [ps] of each part, at most 0.
    pub offsets: Vec<i64>,
}

impl Windows {
    /// Returns the longest windows for the given delays [ps] from part to part, of at most `duration` [ps].
    pub fn longest(delays: &[Vec<Option<i64>>], duration: i64) -> Windows {
        let (mut feasible, mut infeasible) = (0, duration + 1);
        while infeasible - feasible > 1 {
            let middle = feasible + (infeasible - feasible) / 2;
            match offsets(delays, middle) {
                Some(_) => feasible = middle,
                None => infeasible = middle,
            }
        }
        Windows {
            length: feasible,
            offsets: offsets(delays, feasible).unwrap_or_default(),
        }
    }

    /// Returns the end [ps] of a part's window in a round, which may be negative.
    pub fn end(&self, part: usize, round: u64) -> i128 {
        (i128::from(round) + 1) * i128::from(self.length) + i128::from(self.offsets[part])
    }

    /// Returns the round in which a part simulates a time.
    pub fn round_of(&self, part: usize, time: Time) -> u64 {
        let round = (i128::from(time.0) - i128::from(self.offsets[part])) / i128::from(self.length);
        round.clamp(0, i128::from(u64::MAX)) as u64
    }

    /// Returns the number of rounds after which all parts have simulated the time until `duration` [ps].
    pub fn rounds(&self, duration: u64) -> u64 {
        let least = self.offsets.iter().copied().min().unwrap_or(0);
        ((i128::from(duration) + 1 - i128::from(least)) / i128::from(self.length) + 1) as u64
    }
}

/// Returns offsets for windows of the given length; None if there are none.
fn offsets(delays: &[Vec<Option<i64>>], length: i64) -> Option<Vec<i64>> {
    let mut offsets = vec![0; delays.len()];
    for _ in 0..=delays.len() {
        let mut changes = false;
        for (from, of_part) in delays.iter().enumerate() {
            for (to, delay) in of_part.iter().enumerate() {
                let bound = delay.map_or(i64::MAX, |delay| offsets[from] + delay - length);
                changes |= bound < offsets[to];
                offsets[to] = bound.min(offsets[to]);
            }
        }
        if !changes {
            return Some(offsets);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_smallest_mean_delay_of_a_cycle() {
        // Hosts, and ports that hosts reach without delay and whose packets return after 100.
        let pair = [vec![None, Some(0)], vec![Some(100), None]];
        let windows = Windows::longest(&pair, 1000);
        assert_eq!(
            windows,
            Windows {
                length: 50,
                offsets: vec![0, -50]
            }
        );
        // The first part simulates times 0 to 49 in round 0, and the second one in round 1.
        let times = [0, 49, 50, 99].map(Time);
        assert_eq!(times.map(|time| windows.round_of(0, time)), [0, 0, 1, 1]);
        assert_eq!(times.map(|time| windows.round_of(1, time)), [1, 1, 2, 2]);
        // Without a cycle, one window is as long as the run.
        let line = [vec![None, Some(30)], vec![None, None]];
        assert_eq!(Windows::longest(&line, 1000).length, 1000);
        let no_delay = [vec![None, Some(0)], vec![Some(0), None]];
        assert_eq!(Windows::longest(&no_delay, 1000).length, 0);
    }

    #[test]
    fn every_part_reaches_the_end() {
        let windows = Windows {
            length: 50,
            offsets: vec![0, -50],
        };
        let last = windows.rounds(100) - 1;
        assert!((0..2).all(|part| windows.end(part, last) > 100));
        assert!((0..2).any(|part| windows.end(part, last - 1) <= 100));
    }
}
