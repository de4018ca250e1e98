//! Packets on their way to where they may meet those of other wires, in the order in which they will.
//!
//! Acknowledgements clock the senders, so packets mostly leave their hosts in the order in which they will arrive at
//! the next router. Those that do queue up here and need no agenda; the others wait on their wires. Data and ACKs,
//! which are on their way for different times, have two lanes each.

use super::{OnWire, Options, Packet};
use crate::ring::Ring;
use longpipe_events::Time;

const LANES: usize = 4;

/// Packets of strictly ascending arrivals.
#[derive(Clone, Debug, Default)]
struct Lane {
    packets: Ring<OnWire>,
    /// Of the packets that have any, in the same order.
    options: Ring<Options>,
}

/// All lanes of a run.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// First arrival of each lane [ps]; after every other one, and different, if it is empty.
    first: [u64; LANES],
    /// Last arrival there ever was in each lane [ps].
    last: [u64; LANES],
    lanes: [Lane; LANES],
}

const EMPTY: [u64; LANES] = [u64::MAX, u64::MAX - 1, u64::MAX - 2, u64::MAX - 3];

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            first: EMPTY,
            last: [0; LANES],
            lanes: Default::default(),
        }
    }
}

impl Lanes {
    /// Appends a packet where it would be the last one; false if it would not.
    #[inline(always)]
    pub fn append(&mut self, next: OnWire, options: &Options) -> bool {
        let at = next.arrival.0;
        let mut lane = (next.packet.vc() % 2) as usize;
        if at <= self.last[lane] {
            lane += 2;
            if at <= self.last[lane] {
                return false;
            }
        }
        self.last[lane] = at;
        self.first[lane] = self.first[lane].min(at);
        let lane = &mut self.lanes[lane];
        lane.packets.push(next);
        if next.packet.has_options() {
            lane.options.push(*options);
        }
        true
    }

    /// The lane whose first packet arrives first, when it does, and whether that of another one does so, too.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        let [a, b, c, d] = self.first;
        let (left, right) = (if b < a { (1, b) } else { (0, a) }, if d < c { (3, d) } else { (2, c) });
        let tie = (a == b) | (c == d) | (left.1 == right.1);
        let (lane, at) = if right.1 < left.1 { right } else { left };
        (lane, Time(at), tie)
    }

    /// The first packet of each lane that arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, Packet)> + '_ {
        let first = self.lanes.iter().map(|lane| lane.packets.first());
        first
            .enumerate()
            .filter_map(move |(lane, next)| Some((lane, next.filter(|next| next.arrival == time)?.packet)))
    }

    /// Takes the first packet of a lane that is not empty, and its options if it has any.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize, options: &mut Options) -> OnWire {
        let (empty, first) = (EMPTY[lane], &mut self.first[lane]);
        let lane = &mut self.lanes[lane];
        let next = lane.packets.pop().unwrap_or_default();
        *first = lane.packets.first().map_or(empty, |next| next.arrival.0);
        if next.packet.has_options() {
            *options = lane.options.pop().unwrap_or_default();
        }
        next
    }

    /// Every packet.
    pub fn iter(&self) -> impl Iterator<Item = &OnWire> {
        self.lanes.iter().flat_map(|lane| lane.packets.iter())
    }
}
