//! Frames in transit to their first port, represented by their edges, in the order in which their last cells arrive.
//!
//! The host's interface knows the arrival times of a frame's cells, so frames that start soon are queued here, in the
//! lane of their port.

use crate::packets::lanes::{Arrives, Lanes};
use crate::packets::{Link, Options, Packet};
use longpipe_events::{Ring, Time};
use std::cmp::Ordering;

/// Number of lanes; if there are more ports than lanes, several ports share a lane.
pub(crate) const LANES: usize = 4;

/// The last cell of a frame in transit; in traced runs, also the first cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edge {
    /// Arrival time.
    pub arrival: Time,
    /// Slot of the interface.
    pub slot: u64,
    /// Packet of the frame.
    pub packet: Packet,
    /// Link that the port feeds.
    pub link: Link,
    /// Number of cells of the frame.
    pub cells: u16,
    /// Whether this is the first cell.
    pub first: bool,
}

impl Arrives for Edge {
    #[inline(always)]
    fn arrival(&self) -> Time {
        self.arrival
    }
}

/// All edges in transit.
#[derive(Clone, Debug)]
pub(crate) struct EdgesInTransit {
    edges: Lanes<Edge, LANES>,
    /// Options of each VC's packets that have not reached their ports.
    options: Vec<Ring<Options>>,
    /// Number of ACKs that are queued at their hosts.
    pub acks_elsewhere: u64,
}

impl EdgesInTransit {
    /// Creates empty lanes for `vcs` circuits.
    pub fn new(vcs: usize) -> EdgesInTransit {
        EdgesInTransit {
            edges: Lanes::default(),
            options: vec![Ring::default(); vcs],
            acks_elsewhere: 0,
        }
    }

    /// Adds an edge to a lane; `before` orders simultaneous edges.
    #[inline(always)]
    pub fn insert(&mut self, lane: usize, edge: Edge, before: impl Fn(&Packet, &Packet) -> bool) {
        let lane = lane % LANES;
        let last = self.edges.lane(lane).last();
        let in_order = last.is_none_or(|last| last.arrival < edge.arrival);
        let lane = self.edges.push(lane, edge);
        if !in_order {
            sort_last(lane, before);
        }
    }

    /// Stores the options of a packet whose frame is represented by its edges, in the order of the VC's packets.
    #[inline(always)]
    pub fn keep_options(&mut self, packet: &Packet, options: &Options) {
        if packet.has_options() {
            self.options[packet.vc().index()].push(*options);
        }
    }

    /// Returns the lane with the earliest arrival, the time of that arrival, and whether another lane has an arrival at
    /// the same time.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        self.edges.first()
    }

    /// Returns whether a lane is empty.
    #[inline(always)]
    pub fn is_empty(&self, lane: usize) -> bool {
        self.edges.is_empty(lane % LANES)
    }

    /// Returns whether the first edge of a lane has arrived by `time`.
    pub fn arrives_by(&self, lane: usize, time: Time) -> bool {
        self.edges.arrives_by(lane % LANES, time)
    }

    /// Returns the first edge of each lane whose first edge arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, &Edge)> {
        self.edges.at(time)
    }

    /// Removes and returns the first edge of a lane. The packet's options are removed later, on arrival, by
    /// `take_options`.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize) -> Option<Edge> {
        self.edges.pop(lane)
    }

    /// Removes and returns the options of the circuit's first packet that has options.
    pub fn take_options(&mut self, packet: &Packet) -> Options {
        self.options[packet.vc().index()].pop().unwrap_or_default()
    }

    /// Returns all edges.
    pub fn iter(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter()
    }
}

#[inline(never)]
fn sort_last(lane: &mut Ring<Edge>, before: impl Fn(&Packet, &Packet) -> bool) {
    lane.sort_last(|other, edge| match other.arrival.cmp(&edge.arrival) {
        Ordering::Equal => before(&other.packet, &edge.packet),
        order => order.is_lt(),
    });
}
