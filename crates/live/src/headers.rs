//! Headers of real packets, from which the path needs addresses, flow, length and ECN field (RFC 791, RFC 8200, RFC
//! 3168).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
/// ECN field ECT(1), which scalable congestion controllers set (RFC 9331).
const SCALABLE: u8 = 1;
/// ECN field of a marked packet, CE.
const MARKED: u8 = 0b11;

/// Key of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// Protocol (IPv4) or next header (IPv6).
    pub protocol: u8,
    /// Source and destination port, or zeros if the packet has none.
    pub ports: [u8; 4],
}

impl FlowKey {
    /// Returns the key of the packets in the opposite direction.
    pub fn reversed(self) -> FlowKey {
        let [a, b, c, d] = self.ports;
        FlowKey {
            from: self.to,
            to: self.from,
            ports: [c, d, a, b],
            ..self
        }
    }
}

/// Parsed headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Flow of the packet.
    pub flow: FlowKey,
    /// Length of the packet according to its header [byte].
    pub bytes: u16,
    /// Length of the IP header [byte].
    pub header_bytes: usize,
    /// Whether the packet is ECN-capable.
    pub capable: bool,
    /// Whether the packet has ECT(1).
    pub scalable: bool,
    /// Whether the packet has CE.
    pub marked: bool,
}

/// Parses the headers of an IP packet. Returns None if the data are not an IP packet or the packet is truncated.
pub fn headers(packet: &[u8]) -> Option<Headers> {
    match packet.first()? >> 4 {
        4 => headers_4(packet),
        6 => headers_6(packet),
        _ => None,
    }
}

fn headers_4(packet: &[u8]) -> Option<Headers> {
    let header = packet.get(..IPV4_BYTES)?;
    let length = usize::from(header[0] & 0xf) * 4;
    let bytes = u16::from_be_bytes([header[2], header[3]]);
    if length < IPV4_BYTES || usize::from(bytes) < length || packet.len() < usize::from(bytes) {
        return None;
    }
    // Fragments other than the first one contain no ports.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let protocol = header[9];
    let address = |at: usize| {
        IpAddr::V4(Ipv4Addr::new(
            header[at],
            header[at + 1],
            header[at + 2],
            header[at + 3],
        ))
    };
    Some(Headers {
        flow: FlowKey {
            from: address(12),
            to: address(16),
            protocol,
            ports: if fragment {
                [0; 4]
            } else {
                ports(protocol, packet, length)
            },
        },
        bytes,
        header_bytes: length,
        capable: header[1] & MARKED != 0,
        scalable: header[1] & MARKED == SCALABLE,
        marked: header[1] & MARKED == MARKED,
    })
}

fn headers_6(packet: &[u8]) -> Option<Headers> {
    let header = packet.get(..IPV6_BYTES)?;
    let bytes = u16::from_be_bytes([header[4], header[5]]).checked_add(IPV6_BYTES as u16)?;
    if packet.len() < usize::from(bytes) {
        return None;
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&header[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    let ecn = header[1] >> 4 & MARKED;
    Some(Headers {
        flow: FlowKey {
            from: address(8),
            to: address(24),
            protocol: header[6],
            ports: ports(header[6], packet, IPV6_BYTES),
        },
        bytes,
        header_bytes: IPV6_BYTES,
        capable: ecn != 0,
        scalable: ecn == SCALABLE,
        marked: ecn == MARKED,
    })
}

fn ports(protocol: u8, packet: &[u8], at: usize) -> [u8; 4] {
    let mut ports = [0; 4];
    if matches!(protocol, TCP | UDP | SCTP) {
        if let Some(bytes) = packet.get(at..at + 4) {
            ports.copy_from_slice(bytes);
        }
    }
    ports
}

/// Sets CE in a packet, and updates the checksum of an IPv4 header (RFC 1624).
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= IPV4_BYTES => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= MARKED;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        Some(6) if packet.len() >= IPV6_BYTES => packet[1] |= MARKED << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum: u32 = words.sum();
        (sum & 0xffff) as u16 + (sum >> 16) as u16
    }

    /// A 28-byte UDP packet from 10.0.0.3 to 10.0.0.4, ports 1000 and 2000, ECT(0).
    fn udp() -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 3, 10, 0, 0, 4];
        let checksum = !sum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend([3, 0xe8, 7, 0xd0, 0, 8, 0, 0]);
        packet
    }

    #[test]
    fn an_ipv4_header_is_read() {
        let found = headers(&udp()).expect("a whole packet");
        assert_eq!(found.flow.to, IpAddr::V4(Ipv4Addr::new(10, 0, 0, 4)));
        assert_eq!((found.bytes, found.flow.ports), (28, [3, 0xe8, 7, 0xd0]));
        assert!(found.capable && !found.scalable && !found.marked);
    }

    #[test]
    fn a_marked_header_has_a_correct_checksum() {
        let mut packet = udp();
        mark(&mut packet);
        assert!(headers(&packet).is_some_and(|found| found.marked));
        assert_eq!(sum(&packet[..20]), 0xffff);
        mark(&mut packet);
        assert_eq!(sum(&packet[..20]), 0xffff);
    }

    #[test]
    fn an_ipv6_header_is_read_and_marked() {
        let mut packet = vec![0x60, 0x10, 0, 0, 0, 8, 17, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend([0, 1, 0, 2, 0, 8, 0, 0]);
        let found = headers(&packet).expect("a whole packet");
        assert_eq!((found.bytes, found.flow.ports), (48, [0, 1, 0, 2]));
        assert!(found.capable && found.scalable && !found.marked);
        mark(&mut packet);
        assert!(headers(&packet).is_some_and(|found| found.marked));
    }

    #[test]
    fn truncated_packets_and_other_protocols_are_not_parsed() {
        assert_eq!(headers(&udp()[..27]), None);
        assert_eq!(headers(&[]), None);
        assert_eq!(headers(&[0x55; 60]), None);
    }
}
