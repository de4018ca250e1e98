//! IPv4 and TCP headers of simulated segments (RFC 791, RFC 9293, options of RFC 2018, RFC 7323 and RFC 9768).
//!
//! Node n has the address 10.0.0.0 + n + 1. The initial sequence number, which is that of the SYN, is 0. The payload is
//! all zeros, so only its length affects the checksum.

use crate::packets::in_transit::REQUEST;
use crate::scenario::Scenario;
use longpipe_events::Time;
use longpipe_tcp::config::{EcnConfig, TcpConfig, MAX_WINDOW_FIELD};
use longpipe_tcp::segment::{Ecn, IP_HEADER_BYTES, TCP_HEADER_BYTES, TIMESTAMP_OPTION_BYTES};
use longpipe_tcp::{AckSegment, DataSegment};

/// The receiver's port for the first 64 000 flows: discard (RFC 863), because the payload has no meaning.
const DISCARD: u32 = 9;
/// The server's port of flows with a real stack, by which programs that read captures recognize QUIC.
const HTTPS: u32 = 443;
/// The sender's port of flow 0.
const FIRST_PORT: u32 = 1_024;
/// Number of flows in a group; within a group, only the sender's port differs. The receiver's port increases by one per
/// group.
const PORTS: u32 = 64_000;
const ACK: u16 = 0x10;
/// TCP flag PSH, which senders with Linux's receivers set at the ends of writes.
const PSH: u16 = 0x08;
/// TCP flags used for ECN (RFC 3168 sections 5 and 6.1).
const ECE: u16 = 0x40;
const CWR: u16 = 0x80;
/// TCP flag AE, the lowest bit of the byte before the other flags (RFC 9768).
const AE: u16 = 0x100;
/// Codepoints in the IP header: ECT(0), and ECT(1) for scalable flows (RFC 9331).
const CAPABLE: u8 = 0b10;
const SCALABLE: u8 = 0b01;
const MARKED: u8 = 0b11;
const SYN: u16 = 0x02;
pub(super) const DONT_FRAGMENT: u16 = 0x4000;
pub(super) const TTL: u8 = 64;
const TCP: u8 = 6;
const NOP: u8 = 1;
/// Option kinds of AccECN, which differ in the order of the ECT(0) and ECT(1) counters, and the constant value of the
/// counter that is not used (RFC 9768).
const COUNTS: u8 = 172;
const SCALABLE_COUNTS: u8 = 174;
const NONE_COUNTED: u32 = 1;
const COUNTER_BYTES: usize = 3;
/// Tick [ps] of the timestamp clock: 1 ms, the shortest tick that RFC 7323 section 5.4 allows.
const TIMESTAMP_TICK: u64 = 1_000_000_000;

/// Header fields that come from the state of the sending host, because the simulated segment does not carry them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// TSval [ms].
    pub stamp: u32,
    /// TSecr [ms].
    pub echo: u32,
    /// Acknowledgement number of a data segment, or sequence number of an ACK.
    pub other: u32,
}

impl Default for Carried {
    fn default() -> Carried {
        Carried {
            stamp: 0,
            echo: 0,
            other: 1,
        }
    }
}

/// Converts a time to a value of the timestamp clock [ms].
pub fn timestamp(time: Time) -> u32 {
    (time.0 / TIMESTAMP_TICK) as u32
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EndPoint {
    pub address: u32,
    pub port: u16,
}

/// Header fields that remain constant for the whole connection.
#[derive(Clone, Debug)]
pub struct ConnectionHeaders {
    /// The flow's sending and receiving host.
    pub(super) ends: [EndPoint; 2],
    /// Index of the host that sends the SYN; this host is also the first to send data or a request.
    pub opener: usize,
    /// Value of the MSS option: the payload plus the TCP options of a full segment (RFC 6691).
    mss: u16,
    /// Window field of the SYN and SYN-ACK, which is never scaled.
    unscaled: u16,
    /// Window field of all other packets, except ACKs that carry their own window.
    window: u16,
    scale: u8,
    sack: bool,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// ECN mode of both hosts.
    marks: EcnConfig,
    /// Whether data packets carry ECT(1).
    scalable: bool,
    /// Whether the connection's handshake is simulated.
    pub opens: bool,
}

/// A packet of the handshake that a capture inserts before a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The SYN, sent by the active opener.
    Syn,
    /// The SYN-ACK.
    SynAck,
    /// The ACK that completes the three-way handshake, sent by the active opener.
    Ack,
}

/// Header fields that vary from segment to segment.
struct Fields<'a> {
    from: EndPoint,
    to: EndPoint,
    identification: u16,
    sequence: u32,
    acknowledgement: u32,
    /// ECN bits of the IP header.
    ecn: u8,
    flags: u16,
    window: u16,
    options: &'a [u8],
    payload: u32,
}

/// Returns the IPv4 address of a node.
pub fn address(node: usize) -> u32 {
    (10 << 24) + node as u32 + 1
}

impl ConnectionHeaders {
    /// Returns the constant header fields of flow number `flow`.
    pub fn new(scenario: &Scenario, flow: usize) -> ConnectionHeaders {
        let config: &TcpConfig = &scenario.flows[flow].tcp;
        let nodes = ends(scenario, flow);
        let traffic = &scenario.flows[flow].traffic;
        let opener = usize::from(traffic.receiver_connects());
        let served = if traffic.is_of_stack() { HTTPS } else { DISCARD };
        let number = flow as u32;
        let end = |end: usize| EndPoint {
            address: address(nodes[end]),
            port: if end == opener {
                FIRST_PORT + number % PORTS
            } else {
                served + number / PORTS
            } as u16,
        };
        let timestamps = config.timestamps();
        let options = if timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        let (first, window) = (config.first_window(), config.advertised_window());
        ConnectionHeaders {
            ends: [end(0), end(1)],
            opener,
            mss: (config.mss_bytes + options).min(u32::from(u16::MAX)) as u16,
            unscaled: first.min(MAX_WINDOW_FIELD) as u16,
            window: (window >> config.window_scale) as u16,
            scale: config.window_scale as u8,
            sack: config.recovery.facts().sack_blocks > 0,
            timestamps,
            marks: config.ecn,
            scalable: scenario.flows[flow].scalable,
            opens: config.handshake,
        }
    }

    /// Appends the headers of a data packet that leaves end `from`; `frame` is the packet's number on the circuit.
    pub fn data(&self, from: usize, frame: u32, segment: &DataSegment, carried: Carried, out: &mut Vec<u8>) {
        let mut options = OptionBytes::new();
        self.stamp(carried.stamp, carried.echo, &mut options);
        let pushed = if segment.push { PSH } else { 0 };
        let fields = Fields {
            from: self.ends[from],
            to: self.ends[1 - from],
            identification: identification(frame),
            sequence: on_wire(segment.sequence),
            acknowledgement: carried.other,
            ecn: match segment.ecn {
                Ecn { marked: true, .. } => MARKED,
                Ecn { capable: true, .. } if self.scalable => SCALABLE,
                Ecn { capable: true, .. } => CAPABLE,
                Ecn { .. } => 0,
            },
            flags: match self.marks {
                // The counter in a data packet counts marked packets of the other direction. These are ACKs, which
                // cannot be marked, so the counter keeps its initial value.
                EcnConfig::Accurate { .. } => pushed | ACK | ace(5),
                _ if segment.ecn.reduced => pushed | ACK | CWR,
                _ => pushed | ACK,
            },
            window: self.window,
            options: options.bytes(),
            payload: segment.length,
        };
        fields.write(out);
    }

    /// Appends an ACK that leaves end `from`. It consists of headers only.
    pub fn ack(&self, from: usize, frame: u32, ack: &AckSegment, carried: Carried, out: &mut Vec<u8>) {
        let mut options = OptionBytes::new();
        self.stamp(carried.stamp, carried.echo, &mut options);
        let blocks = ack.sack_blocks().count() as u8;
        if blocks > 0 {
            options.push(&[NOP, NOP, 5, 2 + 8 * blocks]);
            for (start, end) in ack.sack_blocks() {
                options.push(&on_wire(start).to_be_bytes());
                options.push(&on_wire(end).to_be_bytes());
            }
        }
        self.counts(ack, &mut options);
        let fields = Fields {
            from: self.ends[from],
            to: self.ends[1 - from],
            identification: identification(frame),
            sequence: carried.other,
            acknowledgement: on_wire(ack.acknowledgement),
            ecn: 0,
            flags: ACK | ace(ack.ace),
            window: match ack.window {
                0 => self.window,
                window => (window >> self.scale) as u16,
            },
            options: options.bytes(),
            payload: 0,
        };
        fields.write(out);
    }

    /// Appends a packet of the handshake with its two timestamps and its IP identification.
    pub fn handshake(&self, packet: Handshake, (stamp, echo): (u32, u32), identification: u16, out: &mut Vec<u8>) {
        let mut options = OptionBytes::new();
        let begins = packet != Handshake::Ack;
        if begins {
            let mss = self.mss.to_be_bytes();
            options.push(&[2, 4, mss[0], mss[1], NOP, 3, 3, self.scale]);
        }
        match (begins && self.sack, self.timestamps) {
            // SACK-permitted replaces the padding before the timestamps, as in Linux.
            (true, true) => options.push(&[4, 2, 8, 10]),
            (true, false) => options.push(&[NOP, NOP, 4, 2]),
            (false, true) => options.push(&[NOP, NOP, 8, 10]),
            (false, false) => {}
        }
        if self.timestamps {
            options.push(&stamp.to_be_bytes());
            options.push(&echo.to_be_bytes());
        }
        let from = if packet == Handshake::SynAck {
            1 - self.opener
        } else {
            self.opener
        };
        // RFC 3168 section 6.1.1; RFC 9768, tables 2 and 3, for packets that are not ECN-capable.
        let ecn_flags = match self.marks {
            EcnConfig::Off {} => (0, 0, 0),
            EcnConfig::Classic { .. } | EcnConfig::Dctcp {} => (ECE | CWR, ECE, 0),
            EcnConfig::Accurate { .. } => (AE | CWR | ECE, CWR, CWR),
        };
        let fields = Fields {
            from: self.ends[from],
            to: self.ends[1 - from],
            identification,
            sequence: u32::from(packet == Handshake::Ack),
            acknowledgement: u32::from(packet != Handshake::Syn),
            ecn: 0,
            // These flags negotiate ECN.
            flags: match packet {
                Handshake::Syn => SYN | ecn_flags.0,
                Handshake::SynAck => SYN | ACK | ecn_flags.1,
                Handshake::Ack => ACK | ecn_flags.2,
            },
            window: if packet == Handshake::Ack {
                self.window
            } else {
                self.unscaled
            },
            options: options.bytes(),
            payload: 0,
        };
        fields.write(out);
    }

    /// Appends the AccECN option; the last counter is omitted if there is not enough room.
    fn counts(&self, ack: &AckSegment, options: &mut OptionBytes) {
        let length = ack.counts_option_bytes() as usize;
        if length == 0 {
            return;
        }
        let kind = if self.scalable { SCALABLE_COUNTS } else { COUNTS };
        let counters = [ack.counts.unmarked(), ack.counts.marked(), NONE_COUNTED];
        let shown = (length - 2) / COUNTER_BYTES;
        let used = 2 + shown * COUNTER_BYTES;
        options.push(&[kind, used as u8]);
        for counter in &counters[..shown] {
            options.push(&counter.to_be_bytes()[1..]);
        }
        options.push(&[NOP; 4][..length - used]);
    }

    fn stamp(&self, value: u32, echo: u32, options: &mut OptionBytes) {
        if self.timestamps {
            options.push(&[NOP, NOP, 8, 10]);
            options.push(&value.to_be_bytes());
            options.push(&echo.to_be_bytes());
        }
    }
}

/// Returns the flags AE, CWR and ECE that encode `number`.
fn ace(number: u8) -> u16 {
    u16::from(number) << 6
}

/// Returns a flow's sending and receiving node.
pub fn ends(scenario: &Scenario, flow: usize) -> [usize; 2] {
    let route = &scenario.flows[flow].route;
    let first = route.first().map_or(0, |&link| scenario.links[link].from);
    let last = route.last().map_or(0, |&link| scenario.links[link].to);
    [first, last]
}

/// Returns the IP identification: the packet number plus 2, because the handshake uses the first values. For requests,
/// one bit is inverted to distinguish them from the flow's data.
pub(super) fn identification(frame: u32) -> u16 {
    (frame as u16).wrapping_add(2) ^ ((frame & REQUEST) >> 16) as u16
}

/// Returns the sequence number of a byte on the wire; the SYN has sequence number 0.
pub fn on_wire(sequence: u64) -> u32 {
    (sequence + 1) as u32
}

/// TCP options, which take at most 40 bytes.
struct OptionBytes {
    bytes: [u8; 40],
    length: usize,
}

impl OptionBytes {
    fn new() -> OptionBytes {
        OptionBytes {
            bytes: [0; 40],
            length: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Fields<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let tcp_header = TCP_HEADER_BYTES + self.options.len() as u32;
        let total = (IP_HEADER_BYTES + tcp_header + self.payload) as u16;
        out.extend_from_slice(&[0x45, self.ecn]);
        out.extend_from_slice(&total.to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        out.extend_from_slice(&[TTL, TCP, 0, 0]);
        out.extend_from_slice(&self.from.address.to_be_bytes());
        out.extend_from_slice(&self.to.address.to_be_bytes());
        let tcp = begin + IP_HEADER_BYTES as usize;
        out.extend_from_slice(&self.from.port.to_be_bytes());
        out.extend_from_slice(&self.to.port.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.acknowledgement.to_be_bytes());
        out.extend_from_slice(&(self.flags | (tcp_header as u16 / 4) << 12).to_be_bytes());
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(self.options);
        let ip_sum = checksum(sum(&out[begin..tcp]));
        out[begin + 10..begin + 12].copy_from_slice(&ip_sum.to_be_bytes());
        // The pseudo-header: both addresses, the protocol, and the length of the segment.
        let pseudo = sum(&out[begin + 12..tcp]) + u32::from(TCP) + tcp_header + self.payload;
        let tcp_sum = checksum(pseudo + sum(&out[tcp..]));
        out[tcp + 16..tcp + 18].copy_from_slice(&tcp_sum.to_be_bytes());
    }
}

/// Returns the sum of the 16-bit words.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum()
}

/// Returns the Internet checksum of a sum of 16-bit words (RFC 1071).
pub(super) fn checksum(sum: u32) -> u16 {
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests;
