//! Packet captures at a host or a link, as pcapng files with complete IP and TCP headers.
//!
//! Unless the handshake is simulated, connections are already established at the start. A capture then inserts a
//! handshake, marked by a comment, before the first packet of each connection, because programs that read captures can
//! learn the window scale and the use of SACK and timestamps only from the handshake.

mod connection;
mod external;
mod headers;
pub mod pcapng;
mod point;
mod udp;

use crate::observe::probe::{Detail, Event, Probe, Slot};
use crate::packets::aal5::{frame_cells, Cell};
use crate::packets::contents::{Contents, External};
use crate::packets::external::Fate;
use crate::packets::{Circuit, Flow, Link};
use crate::scenario::{FlowConfig, Scenario};
use connection::{CapturedPacket, FlowState};
pub use external::StackBytes;
use external::{StackPacketInFlight, StackPackets};
use headers::Handshake;
use longpipe_events::Time;
use pcapng::Direction;
use point::Point;
use std::io;
use std::path::PathBuf;

/// Point at which packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a host (node number): packets are captured when TCP passes them to the interface, and when they arrive.
    Host(usize),
    /// On a link (link number): packets are captured when their last bit leaves.
    Link(usize),
}

/// A requested capture.
#[derive(Clone, Debug)]
pub struct CaptureConfig {
    /// Point at which packets are captured.
    pub place: Place,
    /// Path of the file.
    pub path: PathBuf,
}

/// Result of a capture.
#[derive(Debug)]
pub struct CaptureReport {
    /// Packets captured.
    pub packets: u64,
    /// The first error; the file lacks all packets after it.
    pub error: Option<io::Error>,
}

/// All captures of a run.
#[derive(Debug, Default)]
pub struct Captures {
    points: Vec<Point>,
    /// Indices into `points`, for each node and for each link.
    hosts: Vec<Option<usize>>,
    links: Vec<Option<usize>>,
    flows: Vec<FlowState>,
    stacks: StackPackets,
    end: Time,
}

impl Captures {
    /// Opens the files.
    ///
    /// # Errors
    /// Returns an error if a file cannot be created, together with the index of the capture in `wanted`.
    pub fn new(scenario: &Scenario, wanted: &[CaptureConfig]) -> Result<Captures, (usize, io::Error)> {
        let mut captures = Captures {
            hosts: vec![None; scenario.nodes.len()],
            links: vec![None; scenario.links.len()],
            end: Time(scenario.duration_ps),
            ..Captures::default()
        };
        if wanted.is_empty() {
            return Ok(captures);
        }
        // The connections of arriving flows share the addresses and ports of one flow.
        let arriving = |flow: &FlowConfig| flow.traffic.facts().many_connections;
        if scenario.flows.iter().any(arriving) {
            return Err((0, io::Error::new(io::ErrorKind::Unsupported, "flow-arrivals")));
        }
        for (index, config) in wanted.iter().enumerate() {
            let point = Point::new(scenario, config).map_err(|error| (index, error))?;
            captures.points.push(point);
            match config.place {
                Place::Host(node) => captures.hosts[node] = Some(index),
                Place::Link(link) => captures.links[link] = Some(index),
            }
        }
        captures.flows = (0..scenario.flows.len())
            .map(|flow| FlowState::new(scenario, flow))
            .collect();
        Ok(captures)
    }

    /// Closes the files. Returns the result of each, in the order in which they were requested.
    pub fn finish(self) -> Vec<CaptureReport> {
        let reports = self.points.into_iter().map(|point| {
            let (packets, error) = point.finish();
            CaptureReport { packets, error }
        });
        reports.collect()
    }

    /// Captures a packet that leaves its host.
    fn leaves(&mut self, now: Time, flow: Flow, frame: u32, contents: Contents) {
        let Some(state) = self.flows.get_mut(flow.index()) else {
            return;
        };
        let packet = state.send(now, frame, contents);
        self.at_host(now, Direction::Outbound, flow, packet);
    }

    /// Captures a packet that reaches its host.
    fn arrives(&mut self, now: Time, flow: Flow, frame: u32, contents: Contents) {
        let Some(state) = self.flows.get_mut(flow.index()) else {
            return;
        };
        let packet = state.receive(frame, contents);
        self.at_host(now, Direction::Inbound, flow, packet);
    }

    fn at_host(&mut self, now: Time, direction: Direction, flow: Flow, packet: CapturedPacket) {
        let state = &self.flows[flow.index()];
        let side = match direction {
            Direction::Outbound => packet.from(),
            Direction::Inbound => 1 - packet.from(),
        };
        if let Some(index) = self.hosts[state.nodes[side]] {
            let opener = if side == state.connection.opener {
                Direction::Outbound
            } else {
                Direction::Inbound
            };
            let handshake = [
                (Handshake::Syn, opener),
                (Handshake::SynAck, opener.reversed()),
                (Handshake::Ack, opener),
            ];
            // Datagrams have no handshake.
            let packets: &[(Handshake, Direction)] = if packet.is_datagram() { &[] } else { &handshake };
            let point = &mut self.points[index];
            point.begin(flow.0, (now, packet.carried.stamp), &state.connection, packets, None);
            point.packet(now, direction, &state.connection, packet, None);
        }
    }

    /// Captures a packet of a stack at one of its hosts: 0 is the host of the flow's sender.
    fn stack_at_host(&mut self, now: Time, direction: Direction, packet: &StackPacketInFlight, id: u64, marked: bool) {
        let side = match direction {
            Direction::Outbound => packet.from,
            Direction::Inbound => 1 - packet.from,
        };
        let Some(state) = self.flows.get(packet.flow.index()) else {
            return;
        };
        if let Some(index) = self.hosts[state.nodes[side]] {
            self.points[index].stack_packet((now, direction), &state.connection, (id, packet), marked, None);
        }
    }

    fn on_link(&mut self, at: Time, link: Link, vc: Circuit, frame: u32, contents: Contents) {
        if let Some(index) = self.links[link.index()] {
            if let Contents::External(External { id, marked, .. }) = contents {
                if let Some(packet) = self.stacks.get(id) {
                    let (point, connection) = (&mut self.points[index], &self.flows[vc.flow().index()].connection);
                    let circuit = point.of_cells().then_some(vc.0);
                    let when = (at, Direction::Outbound);
                    point.stack_packet(when, connection, (id, packet), marked, circuit);
                }
                return;
            }
            let state = &self.flows[vc.flow().index()];
            let packet = state.packet(frame, contents);
            let packets: &[(Handshake, Direction)] = if packet.is_datagram() {
                &[]
            } else if packet.from() == state.connection.opener {
                &[
                    (Handshake::Syn, Direction::Outbound),
                    (Handshake::Ack, Direction::Outbound),
                ]
            } else {
                &[(Handshake::SynAck, Direction::Outbound)]
            };
            let point = &mut self.points[index];
            let circuit = point.of_cells().then_some(vc.0);
            point.begin(vc.0, (at, packet.carried.stamp), &state.connection, packets, circuit);
            point.packet(at, Direction::Outbound, &state.connection, packet, circuit);
        }
    }

    fn cell(&mut self, slot: Slot, cell: &Cell, contents: &dyn Fn() -> Contents) {
        let Some(index) = self.links[slot.link.index()] else {
            return;
        };
        if slot.departure > self.end {
            return;
        }
        let Some(cells) = self.points[index].reassembled(*cell) else {
            return;
        };
        let contents = contents();
        if cells == frame_cells(contents.packet_bytes()) {
            self.on_link(slot.departure, slot.link, cell.vc, cell.frame, contents);
        }
    }
}

impl Probe for Captures {
    fn wants(&self, detail: Detail) -> bool {
        match detail {
            Detail::Cells => self.links.iter().any(Option::is_some),
            Detail::StackBytes => !self.points.is_empty(),
            Detail::Control | Detail::Queue | Detail::SenderEvents => false,
        }
    }

    fn observe(&mut self, event: Event<'_>) {
        match event {
            Event::Sent(now, flow, frame, segment) => self.leaves(now, flow, frame, Contents::Data(*segment)),
            Event::Answered(now, flow, frame, ack) => self.leaves(now, flow, frame, Contents::Ack(*ack)),
            Event::SentDatagram(now, flow, frame, datagram) => {
                self.leaves(now, flow, frame, Contents::Datagram(*datagram));
            }
            Event::Received(now, flow, frame, segment) => self.arrives(now, flow, frame, Contents::Data(*segment)),
            Event::Acknowledged(now, flow, frame, ack) => self.arrives(now, flow, frame, Contents::Ack(*ack)),
            Event::ReceivedDatagram(now, flow, frame, datagram, _) => {
                self.arrives(now, flow, frame, Contents::Datagram(*datagram));
            }
            Event::StackSent(now, packet) => {
                let copy = self.stacks.put(packet).clone();
                self.stack_at_host(now, Direction::Outbound, &copy, packet.id, false);
            }
            Event::StackLeft(now, id, fate) => {
                if let (Some(packet), Fate::Delivered { marked }) = (self.stacks.take(id), fate) {
                    self.stack_at_host(now, Direction::Inbound, &packet, id, marked);
                }
            }
            Event::Cell(slot, cell, contents) => self.cell(slot, cell, contents),
            Event::Packet(slot, vc, frame, contents)
                if slot.departure <= self.end && self.links[slot.link.index()].is_some() =>
            {
                self.on_link(slot.departure, slot.link, vc, frame, contents());
            }
            _ => {}
        }
    }
}
