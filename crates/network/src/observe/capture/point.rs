//! One capture point and its file.

use crate::observe::capture::connection::CapturedPacket;
use crate::observe::capture::external::StackPacketInFlight;
use crate::observe::capture::headers::{address, identification, ConnectionHeaders, Handshake};
use crate::observe::capture::pcapng::{CaptureInterface, Direction, LinkType, Writer};
use crate::observe::capture::{CaptureConfig, Place};
use crate::packets::aal5::{Cell, Reassembler};
use crate::packets::contents::Contents;
use crate::packets::Circuit;
use crate::scenario::{FlowConfig, Framing, NodeKind, Scenario};
use longpipe_events::Time;
use longpipe_tcp::segment::Opening;
use std::io;

const ADDED: &str = "not simulated: shows the window scale, SACK and timestamps of a connection that begins open";
const LLC_SNAP_IP: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
/// Upper limit [byte] of the length of a host name (RFC 1035 section 2.3.4).
const MAX_NAME_BYTES: usize = 255;
const SUN_ATM_BYTES: u32 = 4;
/// Flags in a SunATM header: LLC encapsulation (low bits) and packet sent (highest bit).
const SUN_ATM_SENT_LLC: u8 = 0x82;
/// Lower VCIs are reserved (ITU-T I.361).
const FIRST_VCI: u32 = 32;
const VCIS: u32 = 65_536 - FIRST_VCI;
/// Total length [byte] of the SunATM and LLC/SNAP headers, an IP header, and the longest TCP header.
const SNAP_LENGTH: u32 = SUN_ATM_BYTES + LLC_SNAP_IP.len() as u32 + 20 + 60;
/// Maximum length of a captured packet if there are real stacks, whose packets are captured completely.
const WHOLE_SNAP_LENGTH: u32 = SUN_ATM_BYTES + LLC_SNAP_IP.len() as u32 + 65_535;
const HEADERS_ONLY: &str = "simulated; times count from the start of the run, payload is zero and cut off";
const WITH_STACKS: &str =
    "simulated; times count from the start of the run, payload of modeled flows is zero and cut off";

/// A capture point.
#[derive(Debug)]
pub struct Point {
    writer: Writer,
    /// Whether the handshake has been written, for each flow (capture at a host) or each circuit (capture on a link).
    begun: Vec<bool>,
    /// Reassembly state of each circuit's current frame; empty if the link carries packets instead of cells.
    reassemblers: Vec<Reassembler>,
}

impl Point {
    /// Creates the file.
    pub fn new(scenario: &Scenario, config: &CaptureConfig) -> io::Result<Point> {
        let circuits = Circuit::of_flows(scenario.flows.len());
        let name = |node: usize| scenario.nodes[node].name.as_str();
        let (name, description, speed, cells) = match config.place {
            Place::Host(node) => (
                name(node).to_owned(),
                "packets sent and received by a host",
                None,
                false,
            ),
            Place::Link(link) => {
                let link = &scenario.links[link];
                let cells = scenario.framing == Framing::Aal5;
                let what = match (cells, scenario.nodes[link.from].kind) {
                    (true, NodeKind::Host) => "AAL5 frames leaving a host",
                    (true, NodeKind::Switch) => "AAL5 frames leaving a switch",
                    (false, NodeKind::Host) => "IP packets leaving a host",
                    (false, NodeKind::Switch) => "IP packets leaving a router",
                };
                (
                    format!("{}->{}", name(link.from), name(link.to)),
                    what,
                    Some(link.rate_bps),
                    cells,
                )
            }
        };
        let is_stack = |flow: &FlowConfig| flow.traffic.is_of_stack();
        let has_stacks = scenario.flows.iter().any(is_stack);
        let interface = CaptureInterface {
            name: &name,
            description,
            comment: if has_stacks { WITH_STACKS } else { HEADERS_ONLY },
            link_type: if cells { LinkType::SunAtm } else { LinkType::Raw },
            snap_length: if has_stacks { WHOLE_SNAP_LENGTH } else { SNAP_LENGTH },
            speed,
        };
        let mut writer = Writer::create(&config.path, &interface)?;
        let hosts = scenario.nodes.iter().enumerate();
        let hosts = hosts.filter(|(_, node)| node.kind == NodeKind::Host && node.name.len() <= MAX_NAME_BYTES);
        writer.names(hosts.map(|(index, node)| (address(index), node.name.as_str())));
        Ok(Point {
            writer,
            begun: vec![false; circuits],
            reassemblers: vec![Reassembler::default(); if cells { circuits } else { 0 }],
        })
    }

    /// Returns whether the captured link carries cells.
    pub fn of_cells(&self) -> bool {
        !self.reassemblers.is_empty()
    }

    /// Records a cell. If it completes a frame without loss, returns the number of cells in the frame.
    pub fn reassembled(&mut self, cell: Cell) -> Option<u16> {
        self.reassemblers[cell.vc.index()].on_cell(cell)
    }

    /// If this is the first packet of connection or circuit `number` and the handshake is not simulated, writes the
    /// inserted handshake. The packet was captured `at` and carries the timestamp `stamp`.
    pub fn begin(
        &mut self,
        number: u32,
        (at, stamp): (Time, u32),
        connection: &ConnectionHeaders,
        packets: &[(Handshake, Direction)],
        circuit: Option<u32>,
    ) {
        if !connection.opens && !std::mem::replace(&mut self.begun[number as usize], true) {
            for &(packet, direction) in packets {
                self.handshake((at, stamp), direction, connection, packet, circuit);
            }
        }
    }

    /// Closes the file. Returns the number of packets and the first error, if any.
    pub fn finish(self) -> (u64, Option<io::Error>) {
        self.writer.finish()
    }

    /// Writes a packet; `circuit` is the packet's circuit if the link carries cells.
    pub fn packet(
        &mut self,
        at: Time,
        direction: Direction,
        connection: &ConnectionHeaders,
        packet: CapturedPacket,
        circuit: Option<u32>,
    ) {
        let CapturedPacket {
            frame,
            contents,
            carried,
        } = packet;
        let from = packet.from();
        let length = link_header_bytes(circuit) + contents.packet_bytes();
        let simulated = |packet: Handshake, out: &mut Vec<u8>| {
            connection.handshake(packet, (carried.stamp, carried.echo), identification(frame), out);
        };
        self.writer.packet(at, length, direction, None, |out| {
            link_header(circuit, out);
            match contents {
                Contents::Data(segment) if segment.opening.is_syn() => simulated(Handshake::Syn, out),
                Contents::Data(segment) if segment.opening == Opening::Ack => simulated(Handshake::Ack, out),
                Contents::Ack(ack) if ack.opening.is_syn() => simulated(Handshake::SynAck, out),
                Contents::Data(segment) => connection.data(from, frame, &segment, carried, out),
                Contents::Ack(ack) => connection.ack(from, frame, &ack, carried, out),
                Contents::Datagram(datagram) => connection.datagram(from, frame, &datagram, out),
                // `stack_packet` writes these packets.
                Contents::External(_) => {}
            }
        });
    }

    /// Writes a packet of a real stack with its number; `marked` is whether the network has marked it.
    pub fn stack_packet(
        &mut self,
        (at, direction): (Time, Direction),
        connection: &ConnectionHeaders,
        (id, packet): (u64, &StackPacketInFlight),
        marked: bool,
        circuit: Option<u32>,
    ) {
        let mut bytes = Vec::with_capacity(WHOLE_SNAP_LENGTH as usize);
        link_header(circuit, &mut bytes);
        connection.stack_packet(id, packet, marked, &mut bytes);
        let length = bytes.len() as u32;
        self.writer
            .packet(at, length, direction, None, |out| out.extend_from_slice(&bytes));
    }

    fn handshake(
        &mut self,
        (at, stamp): (Time, u32),
        direction: Direction,
        connection: &ConnectionHeaders,
        packet: Handshake,
        circuit: Option<u32>,
    ) {
        let mut bytes = Vec::with_capacity(SNAP_LENGTH as usize);
        link_header(circuit, &mut bytes);
        let (echo, number) = match packet {
            Handshake::Syn => (0, 0),
            Handshake::SynAck => (stamp, 0),
            Handshake::Ack => (stamp, 1),
        };
        // The inserted handshake has the timestamp of the first real packet, because timestamps must not decrease.
        connection.handshake(packet, (stamp, echo), number, &mut bytes);
        let length = bytes.len() as u32;
        self.writer
            .packet(at, length, direction, Some(ADDED), |out| out.extend_from_slice(&bytes));
    }
}

fn link_header_bytes(circuit: Option<u32>) -> u32 {
    circuit.map_or(0, |_| SUN_ATM_BYTES + LLC_SNAP_IP.len() as u32)
}

fn link_header(circuit: Option<u32>, out: &mut Vec<u8>) {
    if let Some(vc) = circuit {
        out.extend_from_slice(&[SUN_ATM_SENT_LLC, (vc / VCIS) as u8]);
        out.extend_from_slice(&((FIRST_VCI + vc % VCIS) as u16).to_be_bytes());
        out.extend_from_slice(&LLC_SNAP_IP);
    }
}
