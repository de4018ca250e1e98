//! State of both hosts of a connection that appears in packet headers but that simulated segments do not carry.

use crate::observe::capture::headers::{ends, on_wire, timestamp, Carried, ConnectionHeaders};
use crate::packets::contents::Contents;
use crate::packets::in_transit::InTransit;
use crate::packets::in_transit::REQUEST;
use crate::scenario::Scenario;
use longpipe_events::Time;

/// State of one host.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Latest timestamp received (TS.Recent) [ms].
    recent: u32,
    /// First byte that has never been sent (SND.MAX).
    next: u64,
    /// Latest acknowledgement number that was sent.
    acknowledged: u32,
}

/// Header fields of the packets in flight: data in one direction, and the ACKs of the data.
#[derive(Debug, Default)]
struct HeadersInFlight {
    data: InTransit<Carried>,
    acks: InTransit<Carried>,
}

/// One connection.
#[derive(Debug)]
pub struct FlowState {
    /// Header fields that remain constant for the whole connection.
    pub connection: ConnectionHeaders,
    /// Sending and receiving host.
    pub nodes: [usize; 2],
    sides: [Side; 2],
    /// State for the flow's data and for its requests; empty if the segments carry all header fields.
    ways: Option<[HeadersInFlight; 2]>,
}

/// A packet, and the header fields that its segment does not carry.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket {
    /// Number of the packet on its circuit; the flag `REQUEST` marks a request or the ACK of a request.
    pub frame: u32,
    /// Segment of the packet.
    pub contents: Contents,
    /// Header fields that the packet's sender adds.
    pub carried: Carried,
}

impl CapturedPacket {
    fn is_data(&self) -> bool {
        matches!(self.contents, Contents::Data(_) | Contents::Datagram(_))
    }

    /// Returns whether the packet is a UDP datagram.
    pub fn is_datagram(&self) -> bool {
        matches!(self.contents, Contents::Datagram(_))
    }

    /// Returns the index into `ways`: 0 for the flow's data and their ACKs, 1 for requests and their ACKs.
    fn way(&self) -> usize {
        usize::from(self.frame & REQUEST != 0)
    }

    /// Returns the host that sends the packet; 0 is the flow's sender.
    pub fn from(&self) -> usize {
        usize::from(self.is_data() == (self.frame & REQUEST != 0))
    }
}

impl FlowState {
    /// Returns the state before the first packet.
    pub fn new(scenario: &Scenario, flow: usize) -> FlowState {
        let connection = ConnectionHeaders::new(scenario, flow);
        let tcp = !scenario.flows[flow].traffic.is_datagrams();
        let more = (tcp && connection.timestamps) || scenario.flows[flow].traffic.facts().has_requests;
        let side = Side {
            recent: 0,
            next: 0,
            acknowledged: 1,
        };
        FlowState {
            connection,
            nodes: ends(scenario, flow),
            sides: [side; 2],
            ways: more.then(<[HeadersInFlight; 2]>::default),
        }
    }

    /// Records that a packet leaves its host. Returns the packet with its header fields.
    pub fn send(&mut self, now: Time, frame: u32, contents: Contents) -> CapturedPacket {
        let mut packet = CapturedPacket {
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
            Contents::Datagram(_) | Contents::External(_) => {}
        }
        packet
    }

    /// Records that a packet reaches its host. Returns the packet with its header fields.
    pub fn receive(&mut self, frame: u32, contents: Contents) -> CapturedPacket {
        let packet = self.packet(frame, contents);
        if let Some(ways) = &mut self.ways {
            let way = &mut ways[packet.way()];
            let circuit = if packet.is_data() { &mut way.data } else { &mut way.acks };
            circuit.take(frame & !REQUEST);
            self.sides[1 - packet.from()].recent = packet.carried.stamp;
        }
        packet
    }

    /// Returns a packet in flight with its header fields.
    pub fn packet(&self, frame: u32, contents: Contents) -> CapturedPacket {
        let mut packet = CapturedPacket {
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
