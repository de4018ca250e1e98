//! Queues in front of the stations of a cell, for tests of single kinds of medium access.

use super::{StationEvent, Stations};
use longpipe_events::Time;
use std::collections::VecDeque;

/// Packet lengths [byte] that wait at each station, the times at which packets left each station or were lost there, and
/// the recorded events with their stations.
pub(super) struct Queues {
    pub waiting: Vec<VecDeque<u64>>,
    pub left: Vec<Vec<Time>>,
    pub lost: Vec<Vec<Time>>,
    pub recorded: Vec<(Time, usize, StationEvent)>,
}

impl Queues {
    /// Creates the empty queues of `count` stations.
    pub fn new(count: usize) -> Queues {
        Queues {
            waiting: vec![VecDeque::new(); count],
            left: vec![vec![]; count],
            lost: vec![vec![]; count],
            recorded: vec![],
        }
    }
}

impl Stations for Queues {
    fn waiting_bytes(&self, station: usize) -> u64 {
        self.waiting[station].iter().sum()
    }

    fn take(&mut self, station: usize, _now: Time) -> Option<u64> {
        self.waiting[station].pop_front()
    }

    fn leave(&mut self, station: usize, now: Time) {
        self.left[station].push(now);
    }

    fn discard_at(&mut self, station: usize, _place: usize, now: Time) {
        self.lost[station].push(now);
    }

    fn record(&mut self, station: usize, at: Time, event: StationEvent) {
        self.recorded.push((at, station, event));
    }
}
