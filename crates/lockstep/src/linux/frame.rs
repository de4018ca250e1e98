//! Ethernet frames between the guest and the simulation, and the ECN bits of the IPv4 packets that they contain.

use longpipe_end::Ecn;

/// Length of an Ethernet header [byte].
const HEADER: usize = 14;
/// EtherType of IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];
/// EtherType of control frames: the first of the values reserved for local experiments.
const CONTROL: [u8; 2] = [0x88, 0xb5];
/// Minimum length of an IPv4 header [byte].
const IP_HEADER: usize = 20;

/// Contents of a frame from the guest.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An IPv4 packet of a host.
    Packet {
        /// Number of the host.
        host: usize,
        /// The packet.
        packet: &'a [u8],
    },
    /// The answer of the guest's first process.
    Answer(&'a [u8]),
    /// A frame of another protocol, which the simulation discards.
    Other,
}

/// Parses a frame from the guest.
pub fn parse(frame: &[u8]) -> Frame<'_> {
    if frame.len() < HEADER {
        return Frame::Other;
    }
    let (head, rest) = frame.split_at(HEADER);
    let host = usize::from(u16::from_be_bytes([head[10], head[11]]));
    match [head[12], head[13]] {
        CONTROL => Frame::Answer(rest),
        IPV4 if rest.len() >= IP_HEADER && host > 0 => Frame::Packet {
            host: host - 1,
            packet: rest,
        },
        _ => Frame::Other,
    }
}

/// Appends a control frame, preceded by its length.
pub fn put_control(to: &mut Vec<u8>, body: &[u8]) {
    put(to, [0, 0], [0, 0], CONTROL, body);
}

/// Appends a frame, preceded by its length. The frame carries a packet for `host` from the other host of its flow. Sets
/// CE in the packet's header if the path marked the packet.
pub fn put_packet(to: &mut Vec<u8>, host: usize, packet: &[u8], ecn: Ecn) {
    put(to, number(host), number(host ^ 1), IPV4, packet);
    if ecn == Ecn::Ce && packet.len() >= IP_HEADER {
        let begin = to.len() - packet.len();
        mark(&mut to[begin..]);
    }
}

/// Returns the ECN bits of an IPv4 packet.
pub fn ecn_of(packet: &[u8]) -> Ecn {
    Ecn::from_bits(u32::from(packet[1]))
}

/// Sets CE in the header of an IPv4 packet, and updates its checksum (RFC 1624: HC' = ~(~HC + ~m + m')).
fn mark(packet: &mut [u8]) {
    let word = |packet: &[u8], at: usize| u32::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let before = word(packet, 0);
    packet[1] |= Ecn::Ce as u8;
    let after = word(packet, 0);
    let mut sum = (!word(packet, 10) & 0xffff) + (!before & 0xffff) + after;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// Returns the last bytes of a host's address, which contain the host's number, counted from 1.
fn number(host: usize) -> [u8; 2] {
    (host as u16 + 1).to_be_bytes()
}

fn put(to: &mut Vec<u8>, target: [u8; 2], source: [u8; 2], kind: [u8; 2], body: &[u8]) {
    to.extend_from_slice(&((HEADER + body.len()) as u32).to_le_bytes());
    for last in [target, source] {
        to.extend_from_slice(&[2, 0, 0, 0]);
        to.extend_from_slice(&last);
    }
    to.extend_from_slice(&kind);
    to.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header without its checksum: ECT(0), from 10.0.0.1 to 10.0.0.2.
    const PACKET: [u8; 20] = [
        0x45, 0x02, 0x00, 0x14, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];

    fn sum(packet: &[u8]) -> u16 {
        let words = packet
            .chunks_exact(2)
            .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum: u32 = words.sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_mark_updates_the_checksum() {
        for address in 0..=255 {
            let mut packet = PACKET;
            packet[19] = address;
            let check = !sum(&packet);
            packet[10..12].copy_from_slice(&check.to_be_bytes());
            assert_eq!(sum(&packet), 0xffff);
            let mut frame = Vec::new();
            put_packet(&mut frame, 4, &packet, Ecn::Ce);
            assert_eq!(frame[4 + 5], 5);
            assert_eq!(frame[4 + 11], 6);
            let Frame::Packet { host, packet: got } = parse(&frame[4..]) else {
                panic!("not a packet");
            };
            assert_eq!((host, ecn_of(got), sum(got)), (5, Ecn::Ce, 0xffff));
            assert_eq!(ecn_of(&packet), Ecn::Ect0);
        }
    }

    #[test]
    fn other_frames_belong_to_no_host() {
        let mut frame = Vec::new();
        put_control(&mut frame, &[7, 8]);
        assert_eq!(parse(&frame[4..]), Frame::Answer(&[7, 8]));
        frame[4 + 12..4 + 14].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(parse(&frame[4..]), Frame::Other);
        assert_eq!(parse(&frame[4..10]), Frame::Other);
    }
}
