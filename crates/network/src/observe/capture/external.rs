//! Packets of real stacks, whose bytes the core does not have: the driver of the stacks passes them to captures.

use crate::packets::Flow;
use std::collections::BTreeMap;

/// ECN bits that stand for congestion experienced (RFC 3168 section 5).
const CE: u8 = 0b11;
/// Protocol numbers in IPv4 headers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A packet that a real stack sends.
#[derive(Clone, Copy, Debug)]
pub struct StackBytes<'a> {
    /// Number of the packet among all external packets of the run.
    pub id: u64,
    /// Flow of the packet's path.
    pub flow: Flow,
    /// Whether the flow's receiver sends the packet.
    pub is_back: bool,
    /// ECN bits that the stack has set.
    pub ecn: u8,
    /// UDP payload; or, if `is_whole`, the whole IP packet.
    pub bytes: &'a [u8],
    /// Whether `bytes` begin with an IPv4 header.
    pub is_whole: bool,
}

/// A packet in flight.
#[derive(Clone, Debug)]
pub(super) struct StackPacketInFlight {
    pub flow: Flow,
    /// Index of the end that sends the packet: 0 for the flow's sender.
    pub from: usize,
    pub ecn: u8,
    pub bytes: Vec<u8>,
    pub is_whole: bool,
}

impl StackPacketInFlight {
    /// Returns the ECN bits of a packet that the network may have marked.
    pub fn ecn_if(&self, marked: bool) -> u8 {
        if marked {
            CE
        } else {
            self.ecn
        }
    }
}

/// All packets of stacks in flight, by number.
#[derive(Debug, Default)]
pub(super) struct StackPackets(BTreeMap<u64, StackPacketInFlight>);

impl StackPackets {
    /// Stores a copy of a packet, and returns it.
    pub fn put(&mut self, packet: &StackBytes<'_>) -> &StackPacketInFlight {
        let copy = StackPacketInFlight {
            flow: packet.flow,
            from: usize::from(packet.is_back),
            ecn: packet.ecn,
            bytes: packet.bytes.to_vec(),
            is_whole: packet.is_whole,
        };
        self.0.entry(packet.id).or_insert(copy)
    }

    /// Returns a packet in flight.
    pub fn get(&self, id: u64) -> Option<&StackPacketInFlight> {
        self.0.get(&id)
    }

    /// Removes and returns a packet that was delivered or lost.
    pub fn take(&mut self, id: u64) -> Option<StackPacketInFlight> {
        self.0.remove(&id)
    }
}

/// Sets the addresses and the ECN bits of an IPv4 packet, and computes its checksums. Addresses in a guest are not those
/// of the scenario's nodes.
pub(super) fn readdress(packet: &mut [u8], from: u32, to: u32, ecn: u8) {
    let header = usize::from(packet.first().copied().unwrap_or(0) & 0xf) * 4;
    if header < 20 || packet.len() < header {
        return;
    }
    packet[1] = packet[1] & !CE | ecn;
    packet[10..12].fill(0);
    packet[12..16].copy_from_slice(&from.to_be_bytes());
    packet[16..20].copy_from_slice(&to.to_be_bytes());
    let sum = checksum(words(&packet[..header]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let (protocol, length) = (packet[9], packet.len() - header);
    // Offset of the checksum in the TCP or UDP header (RFC 9293 section 3.1, RFC 768).
    let place = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return,
    };
    if length < place + 2 {
        return;
    }
    packet[header + place..header + place + 2].fill(0);
    let sum = transport_checksum(&packet[12..20], protocol, &packet[header..]);
    packet[header + place..header + place + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the checksum of a TCP segment or UDP datagram with zeros in place of its checksum; `addresses` are the two
/// IPv4 addresses.
pub(super) fn transport_checksum(addresses: &[u8], protocol: u8, segment: &[u8]) -> u16 {
    let pseudo = words(addresses) + u64::from(protocol) + segment.len() as u64;
    match checksum(pseudo + words(segment)) {
        // In UDP, zero means "no checksum" and is sent as 0xffff (RFC 768).
        0 if protocol == UDP => u16::MAX,
        sum => sum,
    }
}

/// Returns the sum of the 16-bit words; an odd last byte is the high byte of a word.
fn words(bytes: &[u8]) -> u64 {
    bytes
        .chunks(2)
        .map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0)))
        .sum()
}

/// Returns the Internet checksum of a sum of 16-bit words (RFC 1071).
fn checksum(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_rfc_1071() {
        // The example of RFC 1071 section 3, without the final complement.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(words(&bytes)), !0xddf2);
        assert_eq!(words(&[0x12, 0x34, 0x56]), 0x1234 + 0x5600);
    }

    #[test]
    fn a_packet_with_new_addresses_has_valid_checksums() {
        let mut packet = vec![
            0x45, 0x02, 0, 45, 0, 1, 0x40, 0, 64, TCP, 9, 9, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        packet.extend_from_slice(&[0; 20]);
        packet.extend_from_slice(b"hello");
        readdress(&mut packet, 0x0a00_0005, 0x0a00_0009, CE);
        assert_eq!(packet[1], CE);
        assert_eq!(packet[12..20], [10, 0, 0, 5, 10, 0, 0, 9]);
        // The sum over a header that contains its own checksum is all ones.
        assert_eq!(checksum(words(&packet[..20])), 0);
        assert_eq!(transport_checksum(&packet[12..20], TCP, &packet[20..]), 0);
    }
}
