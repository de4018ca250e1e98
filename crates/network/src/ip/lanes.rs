//! Packets in transit to a router where wires meet, in order of arrival. Data and ACKs have separate lanes. Packets
//! that are far out of order are queued on their wires instead.

use crate::packets::lanes::{self, Arrives};
use crate::packets::queued_options::{OtherOptions, Queued};
use crate::packets::{Carried, OnWire, Options, Packet};
use longpipe_events::{Entity, MaybeTime, Order, Time};

/// Maximum number of queued packets that an arriving packet may overtake when it is inserted.
const REACH: u64 = 32;

/// All lanes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketLanes {
    packets: lanes::Lanes<Queued, 2>,
    /// Options of each lane's packets other than timestamps.
    options: [OtherOptions; 2],
    /// Latest arrival time [ps] in each lane so far.
    last: [u64; 2],
    /// Number of ACKs, outside the lanes, that wait for their arrival event at a shared port.
    pub acks_elsewhere: u64,
}

impl PacketLanes {
    /// Appends a packet. If it may arrive before packets already queued, returns false without changing anything.
    #[inline(always)]
    pub fn append(&mut self, next: OnWire, options: impl Carried) -> bool {
        let lane = next.packet.vc().way();
        let appended = self.append_to(lane, Queued::new(next, options));
        if appended {
            self.options[lane].push(&next.packet, options);
        }
        appended
    }

    /// Like `append`, but for a packet whose only option, if any, is a timestamp.
    #[inline(always)]
    pub fn append_stamped(&mut self, next: OnWire, stamp: MaybeTime) -> bool {
        self.append_to(next.packet.vc().way(), Queued { next, stamp })
    }

    /// Like `append`, but for data without options.
    #[inline(always)]
    pub fn append_data_without_options(&mut self, next: OnWire) -> bool {
        let stamp = MaybeTime::NONE;
        self.append_to(0, Queued { next, stamp })
    }

    #[inline(always)]
    fn append_to(&mut self, lane: usize, next: Queued) -> bool {
        let at = next.arrival().0;
        if at <= self.last[lane] {
            return false;
        }
        self.last[lane] = at;
        self.packets.push(lane, next);
        true
    }

    /// Inserts a packet in order; simultaneous packets are ordered by `rank`. If its position is too far from the end,
    /// returns false without changing anything.
    pub fn insert(&mut self, next: OnWire, options: impl Carried, rank: impl Fn(&OnWire) -> (Order, Entity)) -> bool {
        let lane = next.packet.vc().way();
        let follows = |other: &Queued| {
            let other = &other.next;
            other.arrival > next.arrival || (other.arrival == next.arrival && rank(other) >= rank(&next))
        };
        let packets = self.packets.lane(lane);
        let furthest = packets.tail().saturating_sub(REACH).max(packets.head());
        if furthest > packets.head() && follows(packets.get(furthest)) {
            return false;
        }
        let queued = Queued::new(next, options);
        let place = self.packets.push_before(lane, queued, furthest, follows);
        self.options[lane].insert(options, (self.packets.lane(lane), place));
        true
    }

    /// Returns the lane with the first arrival, its time, and whether the other lane has a simultaneous arrival.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        self.packets.first()
    }

    /// Returns whether no ACK is in transit, either in the lanes or outside them.
    #[inline(always)]
    pub fn have_no_ack(&self) -> bool {
        self.packets.is_empty(1) & (self.acks_elsewhere == 0)
    }

    /// Returns the arrival time of the first ACK in the lanes; a time after all others if there is none.
    #[inline(always)]
    pub fn first_ack(&self) -> Time {
        self.packets.first_of(1)
    }

    /// Returns the first ACK in the lanes.
    pub fn peek_ack(&self) -> Option<Packet> {
        self.packets.lane(1).first().map(|first| first.next.packet)
    }

    /// Returns the first packet of each lane that arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, &OnWire)> {
        self.packets.at(time).map(|(lane, first)| (lane, &first.next))
    }

    /// Removes and returns the first packet of a non-empty lane. If it has options other than a timestamp, `pop_options`
    /// must be called next.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize) -> Queued {
        self.packets.pop(lane).unwrap_or_default()
    }

    /// Removes and returns the first packet of a lane if it has no options.
    #[inline(always)]
    pub fn pop_without_options(&mut self, lane: usize) -> Option<OnWire> {
        let first = self.packets.lane(lane).first()?;
        (!first.next.packet.has_options()).then(|| self.pop(lane).next)
    }

    /// Removes and returns the options of the packet just removed from a lane.
    #[inline(always)]
    pub fn pop_options(&mut self, lane: usize, first: &Queued) -> Options {
        self.options[lane].pop(first)
    }

    /// Removes all packets, in the order of each lane. `take` gets each packet, and its options if it has any but a
    /// timestamp.
    pub fn remove_all(&mut self, mut take: impl FnMut(&Queued, Option<&Options>)) {
        for (lane, options) in self.options.iter_mut().enumerate() {
            for queued in self.packets.lane(lane).iter() {
                match queued.next.packet.has_other_options() {
                    false => take(queued, None),
                    true => take(queued, Some(&options.pop(queued))),
                }
            }
            self.packets.clear(lane);
            self.last[lane] = 0;
        }
    }

    /// Returns all packets with their timestamps.
    pub fn queued(&self) -> impl Iterator<Item = &Queued> {
        self.packets.iter()
    }

    /// Returns all packets.
    pub fn iter(&self) -> impl Iterator<Item = &OnWire> {
        self.packets.iter().map(|packet| &packet.next)
    }
}
