//! Packets in transit to the next shared port, in the order of their arrival.
//!
//! ACKs clock the senders, so packets usually leave their hosts in nearly the order in which they arrive at the next
//! port. They are queued in a lane instead of the event queue. Packets with different transit times use separate lanes.

use super::queued_options::Queued;
use longpipe_events::{Ring, Time};

/// An entry that has an arrival time.
pub(crate) trait Arrives: Copy + Default {
    /// Returns the arrival time.
    fn arrival(&self) -> Time;
}

impl Arrives for Queued {
    #[inline(always)]
    fn arrival(&self) -> Time {
        self.next.arrival
    }
}

/// Lanes with entries in the order of their arrival.
#[derive(Clone, Debug)]
pub(crate) struct Lanes<T, const N: usize> {
    /// First arrival time [ps] in each lane. Each empty lane has a distinct value that is later than all valid times.
    first: [u64; N],
    lanes: [Ring<T>; N],
}

/// Returns the value that stands for the first arrival in an empty lane.
#[inline(always)]
fn never(lane: usize) -> u64 {
    u64::MAX - lane as u64
}

impl<T: Arrives, const N: usize> Default for Lanes<T, N> {
    fn default() -> Lanes<T, N> {
        Lanes {
            first: std::array::from_fn(never),
            lanes: std::array::from_fn(|_| Ring::default()),
        }
    }
}

impl<T: Arrives, const N: usize> Lanes<T, N> {
    /// Appends an entry to a lane, and returns the lane. If the entry does not arrive last, the caller must move it to
    /// its position.
    #[inline(always)]
    pub fn push(&mut self, lane: usize, entry: T) -> &mut Ring<T> {
        self.first[lane] = self.first[lane].min(entry.arrival().0);
        self.lanes[lane].push(entry);
        &mut self.lanes[lane]
    }

    /// Inserts an entry before those entries at the end for which `to_precede` holds, but not before entry number
    /// `furthest`. Returns the number of the inserted entry.
    #[inline(always)]
    pub fn push_before(&mut self, lane: usize, entry: T, furthest: u64, to_precede: impl Fn(&T) -> bool) -> u64 {
        self.first[lane] = self.first[lane].min(entry.arrival().0);
        self.lanes[lane].push_before(entry, furthest, to_precede)
    }

    /// Returns the entries of a lane.
    #[inline(always)]
    pub fn lane(&self, lane: usize) -> &Ring<T> {
        &self.lanes[lane]
    }

    /// Returns the lane with the earliest arrival, the time of that arrival, and whether another lane has an arrival at
    /// the same time.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        let (mut lane, mut at, mut tie) = (0, self.first[0], false);
        for (other, &first) in self.first.iter().enumerate().skip(1) {
            tie = (tie & (at <= first)) | (first == at);
            (lane, at) = if first < at { (other, first) } else { (lane, at) };
        }
        (lane, Time(at), tie)
    }

    /// Returns the time of the first arrival in a lane; if the lane is empty, a time that is later than all valid times.
    #[inline(always)]
    pub fn first_of(&self, lane: usize) -> Time {
        Time(self.first[lane])
    }

    /// Returns whether a lane is empty.
    #[inline(always)]
    pub fn is_empty(&self, lane: usize) -> bool {
        self.first[lane] == never(lane)
    }

    /// Returns whether the first entry of a lane has arrived by `time`.
    #[inline(always)]
    pub fn arrives_by(&self, lane: usize, time: Time) -> bool {
        self.first[lane] <= time.0
    }

    /// Returns the first entry of each lane whose first entry arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, &T)> {
        let first = self.lanes.iter().map(Ring::first).enumerate();
        first.filter_map(move |(lane, next)| Some((lane, next.filter(|next| next.arrival() == time)?)))
    }

    /// Removes and returns the first entry of a lane.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize) -> Option<T> {
        let entry = self.lanes[lane].pop()?;
        self.first[lane] = self.lanes[lane].first().map_or(never(lane), |next| next.arrival().0);
        Some(entry)
    }

    /// Removes all entries of a lane.
    pub fn clear(&mut self, lane: usize) {
        self.lanes[lane].clear();
        self.first[lane] = never(lane);
    }

    /// Returns all entries.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.lanes.iter().flat_map(Ring::iter)
    }
}
