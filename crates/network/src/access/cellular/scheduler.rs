//! Order in which a base station serves the users of a direction.

use super::parameters::Scheduler;

/// A user, as the scheduler sees it in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Number of its station.
    pub station: usize,
    /// Bytes that it could receive or send in the whole slot.
    pub bytes: u64,
}

/// State of the scheduler of a direction.
#[derive(Clone, Debug)]
pub(super) struct Order {
    scheduler: Scheduler,
    /// Share of a slot in the averages of proportional fairness.
    weight: f64,
    /// Mean number of bytes that each station was served in a slot.
    averages: Vec<f64>,
    /// Station that was served last.
    last: usize,
}

/// Averages below this number of bytes count as equal to it.
const LEAST: f64 = 1e-6;

impl Order {
    /// Creates the scheduler of stations whose averages have this time constant, as a number of slots.
    pub fn new(scheduler: Scheduler, stations: usize, memory: u64) -> Order {
        Order {
            scheduler,
            weight: 1.0 / memory.max(1) as f64,
            averages: vec![LEAST; stations],
            last: stations.saturating_sub(1),
        }
    }

    /// Returns the place of the user in the list that is served next. Of equal users, that one is served that follows
    /// the user that was served last.
    pub fn choose(&self, users: &[Candidate]) -> Option<usize> {
        let count = self.averages.len();
        let turn = |station: usize| (station + count - self.last - 1) % count;
        let metric = |user: &Candidate| match self.scheduler {
            Scheduler::ProportionalFair => user.bytes as f64 / self.averages[user.station].max(LEAST),
            Scheduler::RoundRobin => 0.0,
            Scheduler::MaximumRate => user.bytes as f64,
        };
        let mut users = users.iter().enumerate();
        let (mut best, first) = users.next()?;
        let (mut highest, mut station) = (metric(first), first.station);
        for (place, user) in users {
            let own = metric(user);
            if own > highest || (own == highest && turn(user.station) < turn(station)) {
                (best, highest, station) = (place, own, user.station);
            }
        }
        Some(best)
    }

    /// Records that a station has been served.
    pub fn serve(&mut self, station: usize, bytes: u64) {
        self.last = station;
        self.averages[station] += self.weight * bytes as f64;
    }

    /// Begins a slot in which some user is served.
    pub fn begin_slot(&mut self) {
        if self.scheduler == Scheduler::ProportionalFair {
            self.averages
                .iter_mut()
                .for_each(|average| *average *= 1.0 - self.weight);
        }
    }
}
