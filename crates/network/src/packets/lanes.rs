//! What is on its way to where it may meet others, in the order in which it will arrive.
//!
//! Acknowledgements clock the senders, so packets mostly leave their hosts in the order in which they will arrive at the next port,
//! or nearly so: they queue up in a lane and need no event queue. Those that are on their way for different times have a lane each.

use super::ring::Ring;
use super::OnWire;
use longpipe_events::Time;

/// What arrives somewhere.
pub(crate) trait Arrives: Copy + Default {
    /// When.
    fn arrival(&self) -> Time;
}

impl Arrives for OnWire {
    #[inline(always)]
    fn arrival(&self) -> Time {
        self.arrival
    }
}

/// Lanes, in each of which entries are in the order of their arrivals.
#[derive(Clone, Debug)]
pub(crate) struct Lanes<T, const N: usize> {
    /// First arrival of each lane [ps]; after every other one, and different, if it is empty.
    first: [u64; N],
    lanes: [Ring<T>; N],
}

/// The first arrival of a lane that is empty.
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
    /// Appends what arrives last in its lane, or is put in its place by what is done to the lane that is returned.
    #[inline(always)]
    pub fn push(&mut self, lane: usize, entry: T) -> &mut Ring<T> {
        self.first[lane] = self.first[lane].min(entry.arrival().0);
        self.lanes[lane].push(entry);
        &mut self.lanes[lane]
    }

    /// Puts an entry before the last ones of its lane, as many as it is to precede, but not before number `furthest`; its number.
    #[inline(always)]
    pub fn push_before(&mut self, lane: usize, entry: T, furthest: u64, to_precede: impl Fn(&T) -> bool) -> u64 {
        self.first[lane] = self.first[lane].min(entry.arrival().0);
        self.lanes[lane].push_before(entry, furthest, to_precede)
    }

    /// The entries of a lane.
    #[inline(always)]
    pub fn lane(&self, lane: usize) -> &Ring<T> {
        &self.lanes[lane]
    }

    /// The lane whose first entry arrives first, when it does, and whether that of another one does so, too.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        let (mut lane, mut at, mut tie) = (0, self.first[0], false);
        for (other, &first) in self.first.iter().enumerate().skip(1) {
            tie = (tie & (at <= first)) | (first == at);
            (lane, at) = if first < at { (other, first) } else { (lane, at) };
        }
        (lane, Time(at), tie)
    }

    /// Whether a lane is empty.
    #[inline(always)]
    pub fn is_empty(&self, lane: usize) -> bool {
        self.first[lane] == never(lane)
    }

    /// Whether the first entry of a lane arrives by `time`.
    #[inline(always)]
    pub fn arrives_by(&self, lane: usize, time: Time) -> bool {
        self.first[lane] <= time.0
    }

    /// The first entry of each lane that arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, &T)> {
        let first = self.lanes.iter().map(Ring::first).enumerate();
        first.filter_map(move |(lane, next)| Some((lane, next.filter(|next| next.arrival() == time)?)))
    }

    /// Takes the first entry of a lane, if there is one.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize) -> Option<T> {
        let entry = self.lanes[lane].pop()?;
        self.first[lane] = self.lanes[lane].first().map_or(never(lane), |next| next.arrival().0);
        Some(entry)
    }

    /// Every entry.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.lanes.iter().flat_map(Ring::iter)
    }
}
