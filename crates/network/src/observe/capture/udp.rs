//! IPv4 and UDP headers (RFC 791, RFC 768) of simulated datagrams and of the packets of real stacks.

use super::external::{readdress, transport_checksum, StackPacketInFlight};
use super::headers::{checksum, identification, sum, ConnectionHeaders, DONT_FRAGMENT, TTL};
use crate::packets::contents::Datagram;
use longpipe_tcp::segment::IP_HEADER_BYTES;

/// First byte of an IPv4 header without options: version 4, and 5 words of 4 bytes.
const VERSION_AND_LENGTH: u8 = 0x45;
/// Positions of the checksum and of the addresses in an IPv4 header.
const IP_CHECKSUM: usize = 10;
const IP_ADDRESSES: usize = 12;
/// Protocol number of UDP.
const UDP: u8 = 17;
const UDP_HEADER_BYTES: u32 = 8;
/// Position of the checksum in a UDP header.
const UDP_CHECKSUM: usize = 6;

impl ConnectionHeaders {
    /// Appends packet number `id` of a real stack, which the network may have marked: a whole IP packet with the addresses
    /// of the capture, or a UDP payload with new headers.
    pub(super) fn stack_packet(&self, id: u64, packet: &StackPacketInFlight, marked: bool, out: &mut Vec<u8>) {
        let begin = out.len();
        let [from, to] = [self.ends[packet.from], self.ends[1 - packet.from]];
        let ecn = packet.ecn_if(marked);
        if packet.is_whole {
            out.extend_from_slice(&packet.bytes);
            readdress(&mut out[begin..], from.address, to.address, ecn);
            return;
        }
        let length = (UDP_HEADER_BYTES as usize + packet.bytes.len()) as u16;
        out.extend_from_slice(&[VERSION_AND_LENGTH, ecn]);
        out.extend_from_slice(&(IP_HEADER_BYTES as u16 + length).to_be_bytes());
        out.extend_from_slice(&(id as u16).to_be_bytes());
        out.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        out.extend_from_slice(&[TTL, UDP, 0, 0]);
        out.extend_from_slice(&from.address.to_be_bytes());
        out.extend_from_slice(&to.address.to_be_bytes());
        let udp = out.len();
        out.extend_from_slice(&from.port.to_be_bytes());
        out.extend_from_slice(&to.port.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&packet.bytes);
        let ip_sum = checksum(sum(&out[begin..udp]));
        out[begin + IP_CHECKSUM..begin + IP_CHECKSUM + 2].copy_from_slice(&ip_sum.to_be_bytes());
        let udp_sum = transport_checksum(&out[begin + IP_ADDRESSES..udp], UDP, &out[udp..]);
        out[udp + UDP_CHECKSUM..udp + UDP_CHECKSUM + 2].copy_from_slice(&udp_sum.to_be_bytes());
    }

    /// Appends the headers of a datagram that leaves end `from`; `frame` is the datagram's packet number on the
    /// circuit. The payload is all zeros.
    pub fn datagram(&self, from: usize, frame: u32, datagram: &Datagram, out: &mut Vec<u8>) {
        let begin = out.len();
        let [from, to] = [self.ends[from], self.ends[1 - from]];
        let length = (UDP_HEADER_BYTES + datagram.length) as u16;
        out.extend_from_slice(&[VERSION_AND_LENGTH, 0]);
        out.extend_from_slice(&(datagram.packet_bytes() as u16).to_be_bytes());
        out.extend_from_slice(&identification(frame).to_be_bytes());
        out.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        out.extend_from_slice(&[TTL, UDP, 0, 0]);
        out.extend_from_slice(&from.address.to_be_bytes());
        out.extend_from_slice(&to.address.to_be_bytes());
        let udp = begin + IP_HEADER_BYTES as usize;
        out.extend_from_slice(&from.port.to_be_bytes());
        out.extend_from_slice(&to.port.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        let ip_sum = checksum(sum(&out[begin..udp]));
        out[begin + IP_CHECKSUM..begin + IP_CHECKSUM + 2].copy_from_slice(&ip_sum.to_be_bytes());
        // The pseudo-header: both addresses, the protocol, and the length.
        let pseudo = sum(&out[begin + IP_ADDRESSES..udp]) + u32::from(UDP) + u32::from(length);
        // A checksum of zero means "no checksum" and is sent as 0xffff.
        let udp_sum = match checksum(pseudo + sum(&out[udp..])) {
            0 => u16::MAX,
            sum => sum,
        };
        out[udp + UDP_CHECKSUM..udp + UDP_CHECKSUM + 2].copy_from_slice(&udp_sum.to_be_bytes());
    }
}
