//! Packets on their way to where they may meet those of other wires, in the order in which they will: data and ACKs have a lane
//! each. Those that are far out of order wait on their wires.

use crate::packets::lanes;
use crate::packets::ring::Ring;
use crate::packets::{OnWire, Options};
use longpipe_events::{Entity, Order, Time};

/// Puts the options of packet number `place`, which are not among those of the others yet, where they belong.
pub(super) fn insert_options(others: &mut Ring<Options>, options: &Options, (packets, place): (&Ring<OnWire>, u64)) {
    let later = place + 1..packets.tail();
    // Mostly all have some.
    let with_options = match others.len() + 1 == packets.len() {
        true => packets.tail() - later.start,
        false => later.filter(|&number| packets.get(number).packet.has_options()).count() as u64,
    };
    others.insert(others.tail() - with_options, *options);
}

/// Most packets that one is put before.
const REACH: u64 = 32;

/// All lanes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    packets: lanes::Lanes<OnWire, 2>,
    /// Of the packets of each lane that have any, in the same order.
    options: [Ring<Options>; 2],
    /// Last arrival there ever was in each lane [ps].
    last: [u64; 2],
    /// ACKs that wait elsewhere for the event of their arrival at a shared port.
    pub astray: u64,
}

impl Lanes {
    /// Appends a packet where it would be the last one; false if it might not.
    #[inline(always)]
    pub fn append(&mut self, next: OnWire, options: &Options) -> bool {
        let lane = next.packet.vc().way();
        let appended = self.append_plain(lane, next);
        if appended && next.packet.has_options() {
            self.options[lane].push(*options);
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
        self.packets.push(lane, next);
        true
    }

    /// Puts a packet where it belongs, among equals by `rank`; false if that is too far from the end.
    pub fn insert(&mut self, next: OnWire, options: &Options, rank: impl Fn(&OnWire) -> (Order, Entity)) -> bool {
        let lane = next.packet.vc().way();
        let follows = |other: &OnWire| {
            other.arrival > next.arrival || (other.arrival == next.arrival && rank(other) >= rank(&next))
        };
        let packets = self.packets.lane(lane);
        let furthest = packets.tail().saturating_sub(REACH).max(packets.head());
        if furthest > packets.head() && follows(packets.get(furthest)) {
            return false;
        }
        let place = self.packets.push_before(lane, next, furthest, follows);
        if next.packet.has_options() {
            insert_options(&mut self.options[lane], options, (self.packets.lane(lane), place));
        }
        true
    }

    /// The lane whose first packet arrives first, when it does, and whether that of the other one does so, too.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        self.packets.first()
    }

    /// Whether no ACK waits, here or elsewhere.
    #[inline(always)]
    pub fn have_no_ack(&self) -> bool {
        self.packets.is_empty(1) & (self.astray == 0)
    }

    /// The first packet of each lane that arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, &OnWire)> {
        self.packets.at(time)
    }

    /// Takes the first packet of a lane that is not empty; `pop_options` takes its options if it has any.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize) -> OnWire {
        self.packets.pop(lane).unwrap_or_default()
    }

    /// The same if that packet has no options.
    #[inline(always)]
    pub fn pop_without_options(&mut self, lane: usize) -> Option<OnWire> {
        let first = self.packets.lane(lane).first()?;
        (!first.packet.has_options()).then(|| self.pop(lane))
    }

    /// Takes the options of a packet just taken from a lane that has any.
    pub fn pop_options(&mut self, lane: usize) -> Options {
        self.options[lane].pop().unwrap_or_default()
    }

    /// Every packet.
    pub fn iter(&self) -> impl Iterator<Item = &OnWire> {
        self.packets.iter()
    }
}
