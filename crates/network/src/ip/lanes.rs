//! Packets on their way to where they may meet those of other wires, in the order in which they will.
//!
//! Acknowledgements clock the senders, so packets mostly leave their hosts in the order in which they will arrive at
//! the next router, or nearly so. Those that do queue up here and need no agenda; those that are far out of order wait
//! on their wires. Data and ACKs, which are on their way for different times, have a lane each.

use crate::packets::ring::Ring;
use crate::packets::{OnWire, Options};
use longpipe_events::{Entity, Order, Time};
use std::cmp::Ordering;

const LANES: usize = 2;
/// Most packets that one is put before.
const REACH: u64 = 32;

/// Packets in the order of their arrivals, equals by rank.
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
    /// ACKs that wait elsewhere for the event of their arrival at a shared port.
    pub astray: u64,
}

const EMPTY: [u64; LANES] = [u64::MAX, u64::MAX - 1];

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            first: EMPTY,
            last: [0; LANES],
            lanes: Default::default(),
            astray: 0,
        }
    }
}

impl Lanes {
    /// Appends a packet where it would be the last one; false if it might not.
    #[inline(always)]
    pub fn append(&mut self, next: OnWire, options: &Options) -> bool {
        let lane = next.packet.vc().way();
        let appended = self.append_plain(lane, next);
        if appended && next.packet.has_options() {
            self.lanes[lane].options.push(*options);
        }
        appended
    }

    /// The same of data without options.
    #[inline(always)]
    pub fn append_plain_data(&mut self, next: OnWire) -> bool {
        self.append_plain(0, next)
    }

    #[inline(always)]
    fn append_plain(&mut self, lane: usize, next: OnWire) -> bool {
        let at = next.arrival.0;
        if at <= self.last[lane] {
            return false;
        }
        self.last[lane] = at;
        self.first[lane] = self.first[lane].min(at);
        self.lanes[lane].packets.push(next);
        true
    }

    /// Puts a packet where it belongs, among equals by `rank`; false if that is too far from the end.
    pub fn insert(&mut self, next: OnWire, options: &Options, rank: impl Fn(&OnWire) -> (Order, Entity)) -> bool {
        let index = next.packet.vc().way();
        let Lane {
            packets,
            options: others,
        } = &mut self.lanes[index];
        let precedes = |other: &OnWire| match other.arrival.cmp(&next.arrival) {
            Ordering::Less => true,
            Ordering::Equal => rank(other) < rank(&next),
            Ordering::Greater => false,
        };
        let furthest = packets.tail().saturating_sub(REACH).max(packets.head());
        if furthest > packets.head() && !precedes(packets.get(furthest)) {
            return false;
        }
        let mut place = packets.tail();
        packets.push(next);
        while place > furthest && !precedes(packets.get(place - 1)) {
            *packets.get_mut(place) = *packets.get(place - 1);
            place -= 1;
        }
        *packets.get_mut(place) = next;
        if next.packet.has_options() {
            let after = (place + 1..packets.tail()).filter(|&number| packets.get(number).packet.has_options());
            others.insert(others.tail() - after.count() as u64, *options);
        }
        self.first[index] = self.first[index].min(next.arrival.0);
        true
    }

    /// The lane whose first packet arrives first, when it does, and whether that of the other one does so, too.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        let [data, acks] = self.first;
        let (lane, at) = if acks < data { (1, acks) } else { (0, data) };
        (lane, Time(at), data == acks)
    }

    /// Whether no ACK waits, here or elsewhere.
    #[inline(always)]
    pub fn have_no_ack(&self) -> bool {
        (self.first[1] == EMPTY[1]) & (self.astray == 0)
    }

    /// The first packet of each lane that arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, &OnWire)> {
        let first = self.lanes.iter().map(|lane| lane.packets.first());
        first
            .enumerate()
            .filter_map(move |(lane, next)| Some((lane, next.filter(|next| next.arrival == time)?)))
    }

    /// Takes the first packet of a lane that is not empty; `pop_options` takes its options if it has any.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize) -> OnWire {
        let (empty, first) = (EMPTY[lane], &mut self.first[lane]);
        let lane = &mut self.lanes[lane];
        let next = lane.packets.pop().unwrap_or_default();
        *first = lane.packets.first().map_or(empty, |next| next.arrival.0);
        next
    }

    /// The same if that packet has no options.
    #[inline(always)]
    pub fn pop_without_options(&mut self, lane: usize) -> Option<OnWire> {
        let first = self.lanes[lane].packets.first()?;
        (!first.packet.has_options()).then(|| self.pop(lane))
    }

    /// Takes the options of a packet just taken from a lane that has any.
    pub fn pop_options(&mut self, lane: usize) -> Options {
        self.lanes[lane].options.pop().unwrap_or_default()
    }

    /// Every packet.
    pub fn iter(&self) -> impl Iterator<Item = &OnWire> {
        self.lanes.iter().flat_map(|lane| lane.packets.iter())
    }
}
