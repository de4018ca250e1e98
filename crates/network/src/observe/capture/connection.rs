//! What both hosts of a connection know, as far as it shows in headers.

use crate::observe::capture::headers::{ends, on_wire, timestamp, Carried, Connection};
use crate::packets::contents::Contents;
use crate::packets::in_transit::InTransit;
use crate::packets::in_transit::REQUEST;
use crate::scenario::{Scenario, TrafficConfig};
use longpipe_events::Time;

/// A host's side of a connection.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// The latest timestamp received [ms].
    recent: u32,
    /// First byte never sent.
    next: u64,
    /// The latest acknowledgement sent.
    acknowledged: u32,
}

/// One direction of data and the ACKs that answer it: what the packets under way carry.
#[derive(Debug, Default)]
struct Way {
    data: InTransit<Carried>,
    acks: InTransit<Carried>,
}

/// One connection.
#[derive(Debug)]
pub struct FlowState {
    /// What all its headers have in common.
    pub connection: Connection,
    /// Sending and receiving host.
    pub nodes: [usize; 2],
    sides: [Side; 2],
    /// Of the flow's data and of requests, if headers hold more than the segment tells.
    ways: Option<[Way; 2]>,
}

/// A packet with what its headers need.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its number on its circuit; with the mark `REQUEST` it is a request or the ACK of one.
    pub frame: u32,
    /// Its segment.
    pub contents: Contents,
    /// What its sender adds.
    pub carried: Carried,
}

impl Packet {
    fn is_data(&self) -> bool {
        matches!(self.contents, Contents::Data(_) | Contents::Datagram(_))
    }

    /// Whether it is of UDP.
    pub fn is_datagram(&self) -> bool {
        matches!(self.contents, Contents::Datagram(_))
    }

    /// 0: the flow's data and its ACKs; 1: requests and theirs.
    fn way(&self) -> usize {
        usize::from(self.frame & REQUEST != 0)
    }

    /// The side that sends it: 0 is the flow's sender.
    pub fn from(&self) -> usize {
        usize::from(self.is_data() == (self.frame & REQUEST != 0))
    }
}

impl FlowState {
    /// Nothing sent.
    pub fn new(scenario: &Scenario, flow: usize) -> FlowState {
        let connection = Connection::new(scenario, flow);
        let tcp = !scenario.flows[flow].traffic.is_datagrams();
        let more = (tcp && connection.timestamps) || matches!(scenario.flows[flow].traffic, TrafficConfig::Web(_));
        let side = Side {
            recent: 0,
            next: 0,
            acknowledged: 1,
        };
        FlowState {
            connection,
            nodes: ends(scenario, flow),
            sides: [side; 2],
            ways: more.then(<[Way; 2]>::default),
        }
    }

    /// A packet leaves its host.
    pub fn send(&mut self, now: Time, frame: u32, contents: Contents) -> Packet {
        let mut packet = Packet {
            frame,
            contents,
            carried: Carried::default(),
        };
        let Some(ways) = &mut self.ways else { return packet };
        let (side, way) = (&mut self.sides[packet.from()], &mut ways[packet.way()]);
        packet.carried.stamp = timestamp(now);
        match contents {
            Contents::Data(segment) => {
                packet.carried.echo = side.recent;
                packet.carried.other = side.acknowledged;
                side.next = side.next.max(segment.end());
                way.data.send(packet.carried);
            }
            Contents::Ack(ack) => {
                packet.carried.echo = ack.echo.get().map_or(0, timestamp);
                packet.carried.other = on_wire(side.next);
                side.acknowledged = on_wire(ack.acknowledgement);
                way.acks.send(packet.carried);
            }
            Contents::Datagram(_) => {}
        }
        packet
    }

    /// A packet reaches its host.
    pub fn receive(&mut self, frame: u32, contents: Contents) -> Packet {
        let packet = self.packet(frame, contents);
        if let Some(ways) = &mut self.ways {
            let way = &mut ways[packet.way()];
            let circuit = if packet.is_data() { &mut way.data } else { &mut way.acks };
            circuit.take(frame & !REQUEST);
            self.sides[1 - packet.from()].recent = packet.carried.stamp;
        }
        packet
    }

    /// A packet under way.
    pub fn packet(&self, frame: u32, contents: Contents) -> Packet {
        let mut packet = Packet {
            frame,
            contents,
            carried: Carried::default(),
        };
        if let Some(ways) = &self.ways {
            let way = &ways[packet.way()];
            let circuit = if packet.is_data() { &way.data } else { &way.acks };
            packet.carried = *circuit.get(frame & !REQUEST);
        }
        packet
    }
}
