//! Frames that go by edges on their way to their first port, in the order in which their last cells will reach it.
//!
//! The host's interface knows when a frame's cells will arrive, so that frames that begin soon queue up here, by port.

use crate::packets::lanes::{Arrives, Lanes};
use crate::packets::ring::Ring;
use crate::packets::{Link, Options, Packet};
use longpipe_events::Time;
use std::cmp::Ordering;

/// Ports share them, if there are more.
pub(crate) const LANES: usize = 4;

/// A frame's last cell on its way, or its first where somebody watches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edge {
    /// When it arrives.
    pub arrival: Time,
    /// Slot of the interface in which it leaves.
    pub slot: u64,
    /// What the frame carries.
    pub packet: Packet,
    /// The link behind the port.
    pub link: Link,
    /// Cells of the frame.
    pub cells: u16,
    /// Whether it is the first cell.
    pub first: bool,
}

impl Arrives for Edge {
    #[inline(always)]
    fn arrival(&self) -> Time {
        self.arrival
    }
}

/// All such frames of a run.
#[derive(Clone, Debug)]
pub(crate) struct UnderWay {
    edges: Lanes<Edge, LANES>,
    /// Options of the packets that have any and have not reached their ports, by VC.
    options: Vec<Ring<Options>>,
    /// ACKs that wait at their hosts.
    pub astray: u64,
}

impl UnderWay {
    /// None on `vcs` circuits.
    pub fn new(vcs: usize) -> UnderWay {
        UnderWay {
            edges: Lanes::default(),
            options: vec![Ring::default(); vcs],
            astray: 0,
        }
    }

    /// Adds an edge to a lane; `before` orders those that arrive at one instant.
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

    /// Keeps the options of a packet that goes by edges and has any, in the order of its VC.
    #[inline(always)]
    pub fn keep_options(&mut self, packet: &Packet, options: &Options) {
        if packet.has_options() {
            self.options[packet.vc().index()].push(*options);
        }
    }

    /// The lane whose first edge arrives first, when it does, and whether that of another one does so, too.
    #[inline(always)]
    pub fn first(&self) -> (usize, Time, bool) {
        self.edges.first()
    }

    /// Whether no frame is in this lane.
    #[inline(always)]
    pub fn is_empty(&self, lane: usize) -> bool {
        self.edges.is_empty(lane % LANES)
    }

    /// Whether the first edge of this lane arrives by `time`.
    pub fn arrives_by(&self, lane: usize, time: Time) -> bool {
        self.edges.arrives_by(lane % LANES, time)
    }

    /// The first edge of each lane that arrives at `time`.
    pub fn at(&self, time: Time) -> impl Iterator<Item = (usize, &Edge)> {
        self.edges.at(time)
    }

    /// Takes the first edge of a lane that is not empty; `take_options` takes those of its packet, once it has arrived.
    #[inline(always)]
    pub fn pop(&mut self, lane: usize) -> Option<Edge> {
        self.edges.pop(lane)
    }

    /// Takes the options of the first packet of its circuit that has any.
    pub fn take_options(&mut self, packet: &Packet) -> Options {
        self.options[packet.vc().index()].pop().unwrap_or_default()
    }

    /// Every edge.
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
