//! Segmentation and checksum offload: this module splits long packets that the kernel passes, and computes checksums
//! that the kernel has left out (virtio 1.2 section 5.1.6, RFC 1071).

/// Size of the header before a packet, `struct virtio_net_hdr`; a header that consists of zeros requests nothing.
pub const VNET_HDR_BYTES: usize = 10;
/// Flag: the transport checksum must be computed.
pub const NEEDS_CHECKSUM: u8 = 1;
const TCP_4: u8 = 1;
const TCP_6: u8 = 4;
/// GSO type: joined UDP datagrams.
pub const UDP_SEGMENTS: u8 = 5;
/// Flag in a GSO type: the first segment carries CWR (`VIRTIO_NET_HDR_GSO_ECN`).
const WITH_CWR: u8 = 0x80;

const TCP: u8 = 6;
/// Constants of UDP: protocol number, header length, and offset of the checksum.
pub const UDP: u8 = 17;
pub const UDP_BYTES: usize = 8;
pub const UDP_CHECKSUM: usize = 6;
/// Offset of the TCP checksum.
const TCP_CHECKSUM: usize = 16;
const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// State of the segmentation of a long packet.
#[derive(Clone, Copy, Debug)]
pub struct Segmenter {
    protocol: u8,
    /// Offset of the transport header, and offset of the end of all headers.
    transport: usize,
    headers: usize,
    /// Payload of a segment [byte].
    size: usize,
    /// Start of the next segment, end of the last segment, and number of segments produced so far.
    from: usize,
    end: usize,
    number: u16,
}

/// Computes the checksum of a packet if its header requests this, or returns how to split the packet. A packet with an
/// invalid request is left unchanged.
pub fn process_header(vnet_hdr: [u8; VNET_HDR_BYTES], packet: &mut [u8]) -> Option<Segmenter> {
    let word = |at: usize| usize::from(u16::from_ne_bytes([vnet_hdr[at], vnet_hdr[at + 1]]));
    let (size, transport, field) = (word(4), word(6), word(6) + word(8));
    let protocol = match vnet_hdr[1] & !WITH_CWR {
        TCP_4 | TCP_6 => TCP,
        UDP_SEGMENTS => UDP,
        _ => {
            if vnet_hdr[0] & NEEDS_CHECKSUM != 0 && transport <= field && field + 2 <= packet.len() {
                // The checksum field already contains the sum of the pseudo-header, which the kernel has stored there.
                let checksum_bytes = checksum(sum(&packet[transport..]), word(8) == UDP_CHECKSUM);
                packet[field..field + 2].copy_from_slice(&checksum_bytes);
            }
            return None;
        }
    };
    let network = match packet.first()? >> 4 {
        4 => 4 * usize::from(packet[0] & 0xf),
        _ => 40,
    };
    let own = match protocol {
        TCP => 4 * usize::from(packet.get(transport + 12)? >> 4),
        _ => UDP_BYTES,
    };
    let headers = transport + own;
    let makes_sense = network >= 20 && transport >= network && own >= UDP_BYTES && headers < packet.len() && size > 0;
    (makes_sense && (protocol == UDP || own >= 20)).then_some(Segmenter {
        protocol,
        transport,
        headers,
        size,
        from: headers,
        end: packet.len(),
        number: 0,
    })
}

impl Segmenter {
    /// Writes the next segment of the packet. Returns false if no segment is left.
    pub fn next(&mut self, packet: &[u8], segment: &mut Vec<u8>) -> bool {
        if self.from == self.end {
            return false;
        }
        let to = self.end.min(self.from + self.size);
        segment.clear();
        segment.extend_from_slice(&packet[..self.headers]);
        segment.extend_from_slice(&packet[self.from..to]);
        let addresses = self.network(segment);
        self.transport(segment, to == self.end);
        let length = segment.len() - self.transport;
        let field = self.transport
            + if self.protocol == TCP {
                TCP_CHECKSUM
            } else {
                UDP_CHECKSUM
            };
        segment[field..field + 2].fill(0);
        let pseudo = addresses + u64::from(self.protocol) + length as u64;
        let checksum_bytes = checksum(pseudo + sum(&segment[self.transport..]), self.protocol == UDP);
        segment[field..field + 2].copy_from_slice(&checksum_bytes);
        self.from = to;
        self.number = self.number.wrapping_add(1);
        true
    }

    /// Sets the length, identification and checksum of the IP header. Returns the sum of its addresses.
    fn network(&self, segment: &mut [u8]) -> u64 {
        if segment[0] >> 4 != 4 {
            put(segment, 4, (segment.len() - 40) as u16);
            return sum(&segment[8..40]);
        }
        put(segment, 2, segment.len() as u16);
        let identification = u16::from_be_bytes([segment[4], segment[5]]);
        put(segment, 4, identification.wrapping_add(self.number));
        let header = 4 * usize::from(segment[0] & 0xf);
        put(segment, 10, 0);
        let checksum_bytes = checksum(sum(&segment[..header]), false);
        segment[10..12].copy_from_slice(&checksum_bytes);
        sum(&segment[12..20])
    }

    /// Sets the sequence number and flags of TCP, or the length of UDP.
    fn transport(&self, segment: &mut [u8], is_last: bool) {
        let at = self.transport;
        if self.protocol == UDP {
            put(segment, at + 4, (segment.len() - at) as u16);
            return;
        }
        let first = u32::from_be_bytes([segment[at + 4], segment[at + 5], segment[at + 6], segment[at + 7]]);
        let number = first.wrapping_add((self.from - self.headers) as u32);
        segment[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
        if !is_last {
            segment[at + 13] &= !FIN_AND_PSH;
        }
        if self.number > 0 {
            segment[at + 13] &= !CWR;
        }
    }
}

/// Writes a 16-bit number at an offset.
pub fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Returns the unfolded sum of 16-bit words; an odd byte is padded with zero.
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let whole: u64 = words
        .map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]])))
        .sum();
    whole + u64::from(u32::from_be_bytes(last))
}

/// Folds a sum into 16 bits.
pub fn folded(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the checksum that results from a sum. For UDP, a checksum of zero is replaced, because zero means that there
/// is no checksum (RFC 768).
pub fn checksum(sum: u64, is_udp: bool) -> [u8; 2] {
    let complement = !folded(sum);
    if is_udp && complement == 0 {
        u16::MAX
    } else {
        complement
    }
    .to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_matches_rfc_1071() {
        let found = checksum(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), false);
        assert_eq!(found, (!0xddf2_u16).to_be_bytes());
        assert_eq!(checksum(sum(&[0xab]), false), (!0xab00_u16).to_be_bytes());
    }

    /// Creates a virtio header in native byte order.
    fn vnet_hdr(flags: u8, kind: u8, [headers, size, start, offset]: [u16; 4]) -> [u8; VNET_HDR_BYTES] {
        let mut vnet_hdr = [0; VNET_HDR_BYTES];
        vnet_hdr[0] = flags;
        vnet_hdr[1] = kind;
        for (place, value) in [(2, headers), (4, size), (6, start), (8, offset)] {
            vnet_hdr[place..place + 2].copy_from_slice(&value.to_ne_bytes());
        }
        vnet_hdr
    }

    fn segments(mut segmenter: Segmenter, packet: &[u8]) -> Vec<Vec<u8>> {
        let (mut all, mut segment) = (Vec::new(), Vec::new());
        while segmenter.next(packet, &mut segment) {
            all.push(segment.clone());
        }
        all
    }

    fn long_packet(version: u8, protocol: u8, own: usize, data: usize) -> (Vec<u8>, usize) {
        let network = if version == 4 { 20 } else { 40 };
        let mut packet: Vec<u8> = (0..network + own + data).map(|n| (n * 7) as u8).collect();
        packet[0] = if version == 4 { 0x45 } else { 0x60 };
        packet[if version == 4 { 9 } else { 6 }] = protocol;
        (packet, network)
    }

    #[test]
    fn each_segment_has_its_own_headers_and_checksum() {
        for (version, kind) in [(4, TCP_4), (6, TCP_6)] {
            let (mut packet, at) = long_packet(version, TCP, 32, 2500);
            packet[4..6].copy_from_slice(&[0xff, 0xff]);
            packet[at + 4..at + 8].copy_from_slice(&u32::MAX.to_be_bytes());
            packet[at + 12] = 0x80;
            packet[at + 13] = 0x99;
            let vnet_hdr = vnet_hdr(NEEDS_CHECKSUM, kind, [at as u16 + 32, 1000, at as u16, 16]);
            let segments = segments(process_header(vnet_hdr, &mut packet).expect("to be cut"), &packet);
            assert_eq!(
                segments
                    .iter()
                    .map(|segment| segment.len() - at - 32)
                    .collect::<Vec<_>>(),
                [1000, 1000, 500]
            );
            let data: Vec<u8> = segments
                .iter()
                .flat_map(|segment| segment[at + 32..].to_vec())
                .collect();
            assert_eq!(data, packet[at + 32..]);
            assert_eq!(
                segments.iter().map(|segment| segment[at + 13]).collect::<Vec<_>>(),
                [0x90, 0x10, 0x19]
            );
            let numbers = segments
                .iter()
                .map(|segment| u32::from_be_bytes(segment[at + 4..at + 8].try_into().expect("four")));
            assert_eq!(numbers.collect::<Vec<_>>(), [u32::MAX, 999, 1999]);
            for (number, segment) in segments.iter().enumerate() {
                let addresses = if version == 4 {
                    sum(&segment[12..20])
                } else {
                    sum(&segment[8..40])
                };
                let pseudo = addresses + 6 + (segment.len() - at) as u64;
                assert_eq!(folded(pseudo + sum(&segment[at..])), u16::MAX);
                if version == 4 {
                    assert_eq!(folded(sum(&segment[..20])), u16::MAX);
                    assert_eq!(usize::from(u16::from_be_bytes([segment[2], segment[3]])), segment.len());
                    assert_eq!(
                        u16::from_be_bytes([segment[4], segment[5]]),
                        0xffff_u16.wrapping_add(number as u16)
                    );
                } else {
                    assert_eq!(
                        usize::from(u16::from_be_bytes([segment[4], segment[5]])),
                        segment.len() - 40
                    );
                }
            }
        }
    }

    #[test]
    fn joined_datagrams_are_split() {
        let (mut packet, at) = long_packet(4, UDP, 8, 90);
        let vnet_hdr = vnet_hdr(NEEDS_CHECKSUM, UDP_SEGMENTS, [28, 36, 20, 6]);
        let segments = segments(process_header(vnet_hdr, &mut packet).expect("to be cut"), &packet);
        assert_eq!(segments.iter().map(Vec::len).collect::<Vec<_>>(), [64, 64, 46]);
        for segment in segments {
            assert_eq!(
                usize::from(u16::from_be_bytes([segment[24], segment[25]])),
                segment.len() - 20
            );
            assert_eq!(
                folded(sum(&segment[12..20]) + 17 + (segment.len() - at) as u64 + sum(&segment[at..])),
                u16::MAX
            );
        }
    }

    #[test]
    fn only_requested_checksums_are_computed() {
        let (mut packet, at) = long_packet(4, UDP, 8, 33);
        let pseudo = sum(&packet[12..20]) + 17 + 41;
        let partial = checksum(pseudo, false).map(|byte| !byte);
        packet[at + 6..at + 8].copy_from_slice(&partial);
        assert!(process_header(vnet_hdr(NEEDS_CHECKSUM, 0, [0, 0, 20, 6]), &mut packet).is_none());
        assert_eq!(folded(pseudo + sum(&packet[at..])), u16::MAX);
        let before = packet.clone();
        assert!(process_header([0; VNET_HDR_BYTES], &mut packet).is_none());
        assert_eq!(packet, before);
    }

    #[test]
    fn invalid_requests_leave_the_packet_unchanged() {
        let (packet, _) = long_packet(4, TCP, 32, 100);
        for (kind, numbers) in [
            (TCP_4, [52, 0, 20, 16]),
            (TCP_4, [52, 50, 5000, 16]),
            (TCP_4, [52, 50, 3, 16]),
            (UDP_SEGMENTS, [28, 50, 144, 6]),
            (0, [0, 0, 5000, 6]),
            (3, [52, 50, 20, 6000]),
        ] {
            let mut same = packet.clone();
            assert!(process_header(vnet_hdr(NEEDS_CHECKSUM, kind, numbers), &mut same).is_none());
            assert_eq!(same, packet);
        }
    }
}
