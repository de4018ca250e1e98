//! Joins datagrams of one flow that leave together, so that the kernel receives them in one call, as it does with the
//! receive offload of a network card (virtio 1.2 section 5.1.6, `VIRTIO_NET_HDR_GSO_UDP_L4`; Linux since 6.2). The
//! kernel splits them again for programs that read single datagrams.

use crate::segments::{
    checksum, folded, put, sum, NEEDS_CHECKSUM, UDP, UDP_BYTES, UDP_CHECKSUM, UDP_SEGMENTS, VNET_HDR_BYTES,
};

/// Maximum number of datagrams that every kernel accepts in one call.
const MAX_DATAGRAMS: usize = 64;
/// Maximum length of an IP packet [byte].
const LONGEST: usize = u16::MAX as usize;

/// A packet, with the datagrams that were appended to it.
#[derive(Debug, Default)]
pub struct Joined {
    packet: Vec<u8>,
    /// Number of datagrams; 0 if the buffer is empty.
    count: usize,
    /// Offset of the first UDP header if more datagrams may be appended; None otherwise.
    transport: Option<usize>,
    /// Payload of the first datagram [byte].
    size: usize,
}

impl Joined {
    /// Appends a packet if it can be joined with the packets already present. Returns whether it was appended.
    pub fn take(&mut self, packet: &[u8]) -> bool {
        if self.count == 0 {
            self.packet.clear();
            self.packet.extend_from_slice(packet);
            self.transport = transport_of(packet);
            self.size = self.transport.map_or(0, |at| packet.len() - at - UDP_BYTES);
        } else if !self.put_behind(packet) {
            return false;
        }
        self.count += 1;
        true
    }

    fn put_behind(&mut self, packet: &[u8]) -> bool {
        let Some(at) = self.transport else { return false };
        let Some(size) = packet.len().checked_sub(at + UDP_BYTES) else {
            return false;
        };
        // All datagrams except the last one must be as long as the first one.
        let is_full = self.packet.len() == at + UDP_BYTES + self.count * self.size;
        let fits = size > 0 && size <= self.size && self.count < MAX_DATAGRAMS && self.packet.len() + size <= LONGEST;
        let may_follow = is_full && fits && self.count > 0 && self.has_headers_of(packet, at);
        if !may_follow
            || (self.count == 1 && !has_valid_checksums(&self.packet, at))
            || !has_valid_checksums(packet, at)
        {
            return false;
        }
        self.packet.extend_from_slice(&packet[at + UDP_BYTES..]);
        true
    }

    /// Returns whether the headers differ only in their lengths and checksums and have consecutive identifications.
    fn has_headers_of(&self, packet: &[u8], at: usize) -> bool {
        let first = &self.packet;
        let same = |from: usize, to: usize| first[from..to] == packet[from..to];
        let ports = same(at, at + 4);
        if first[0] >> 4 == 6 {
            return ports && same(0, 4) && same(6, 40);
        }
        let identification = |bytes: &[u8]| u16::from_be_bytes([bytes[4], bytes[5]]);
        let counts_on = identification(packet) == identification(first).wrapping_add(self.count as u16);
        ports && counts_on && same(0, 2) && same(6, 10) && same(12, 20)
    }

    /// Returns the number of packets.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the virtio header and the packet, and empties the buffer.
    pub fn finish(&mut self) -> ([u8; VNET_HDR_BYTES], &mut [u8]) {
        let mut vnet_hdr = [0; VNET_HDR_BYTES];
        if let (Some(at), true) = (self.transport, self.count > 1) {
            let datagram = self.packet.len() - at;
            let addresses = if self.packet[0] >> 4 == 4 {
                let length = self.packet.len() as u16;
                put(&mut self.packet, 2, length);
                put(&mut self.packet, 10, 0);
                let checksum_bytes = checksum(sum(&self.packet[..at]), false);
                self.packet[10..12].copy_from_slice(&checksum_bytes);
                sum(&self.packet[12..20])
            } else {
                put(&mut self.packet, 4, datagram as u16);
                sum(&self.packet[8..40])
            };
            put(&mut self.packet, at + 4, datagram as u16);
            let pseudo = folded(addresses + u64::from(UDP) + datagram as u64);
            put(&mut self.packet, at + UDP_CHECKSUM, pseudo);
            vnet_hdr[0] = NEEDS_CHECKSUM;
            vnet_hdr[1] = UDP_SEGMENTS;
            let numbers = [at + UDP_BYTES, self.size, at, UDP_CHECKSUM];
            for (place, number) in (2..).step_by(2).zip(numbers) {
                vnet_hdr[place..place + 2].copy_from_slice(&(number as u16).to_ne_bytes());
            }
        }
        self.count = 0;
        (vnet_hdr, &mut self.packet)
    }
}

/// Returns the offset of the UDP header; None unless the packet is a complete datagram without IP options.
fn transport_of(packet: &[u8]) -> Option<usize> {
    let (at, length) = match packet.first()? {
        0x45 => {
            let header = packet.get(..20)?;
            let is_whole = u16::from_be_bytes([header[6], header[7]]) & 0x3fff == 0;
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            (header[9] == UDP && is_whole).then_some((20, length))?
        }
        first if first >> 4 == 6 => {
            let header = packet.get(..40)?;
            let length = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
            (header[6] == UDP).then_some((40, length))?
        }
        _ => return None,
    };
    let own = packet.get(at..at + UDP_BYTES)?;
    let datagram = usize::from(u16::from_be_bytes([own[4], own[5]]));
    (length == packet.len() && datagram == length - at).then_some(at)
}

/// Returns whether the lengths and checksums of a datagram are valid. The kernel does not check joined datagrams again.
fn has_valid_checksums(packet: &[u8], at: usize) -> bool {
    if transport_of(packet) != Some(at) {
        return false;
    }
    let datagram = &packet[at..];
    let addresses = if at == 20 {
        sum(&packet[12..20])
    } else {
        sum(&packet[8..40])
    };
    let pseudo = addresses + u64::from(UDP) + datagram.len() as u64;
    let has_checksum = datagram[UDP_CHECKSUM..UDP_BYTES] != [0, 0];
    has_checksum && folded(pseudo + sum(datagram)) == u16::MAX && (at != 20 || folded(sum(&packet[..20])) == u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::process_header;

    /// Creates a datagram with valid checksums.
    fn datagram(version: u8, identification: u16, port: u16, data: &[u8]) -> Vec<u8> {
        let at = if version == 4 { 20 } else { 40 };
        let mut packet = vec![0; at + 8];
        packet.extend_from_slice(data);
        let (length, own) = (packet.len() as u16, (8 + data.len()) as u16);
        if version == 4 {
            packet[..10].copy_from_slice(&[0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 17]);
            put(&mut packet, 2, length);
            put(&mut packet, 4, identification);
            packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
            let found = checksum(sum(&packet[..20]), false);
            packet[10..12].copy_from_slice(&found);
        } else {
            packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, 17, 64]);
            put(&mut packet, 4, own);
            packet[8] = 0xfd;
            packet[24..40].fill(0xfe);
        }
        put(&mut packet, at, 1000);
        put(&mut packet, at + 2, port);
        put(&mut packet, at + 4, own);
        let addresses = sum(&packet[if at == 20 { 12..20 } else { 8..40 }]);
        let found = checksum(addresses + 17 + u64::from(own) + sum(&packet[at..]), true);
        packet[at + 6..at + 8].copy_from_slice(&found);
        packet
    }

    /// Splits joined datagrams as a kernel does.
    fn split(joined: &mut Joined) -> Vec<Vec<u8>> {
        let (vnet_hdr, packet) = joined.finish();
        let Some(mut segmenter) = process_header(vnet_hdr, packet) else {
            return vec![packet.to_vec()];
        };
        let (mut all, mut segment) = (Vec::new(), Vec::new());
        while segmenter.next(packet, &mut segment) {
            all.push(segment.clone());
        }
        all
    }

    #[test]
    fn joined_datagrams_are_split_into_the_original_ones() {
        for version in [4, 6] {
            let sizes = [36, 36, 36, 11];
            let all: Vec<_> = (0..4u16)
                .map(|n| {
                    datagram(
                        version,
                        65_534u16.wrapping_add(n),
                        9,
                        &vec![n as u8; sizes[usize::from(n)]],
                    )
                })
                .collect();
            let mut joined = Joined::default();
            assert!(all.iter().all(|segment| joined.take(segment)));
            assert_eq!(joined.count(), 4);
            // Nothing may follow a shorter datagram.
            assert!(!joined.take(&datagram(version, 2, 9, &[4; 11])));
            assert_eq!(split(&mut joined), all);
            assert_eq!(joined.count(), 0);
        }
    }

    #[test]
    fn other_packets_are_not_joined() {
        let first = datagram(4, 7, 9, &[1; 36]);
        let valid = datagram(4, 8, 9, &[2; 36]);
        let changed = |at: usize, by: u8| {
            let mut packet = valid.clone();
            packet[at] ^= by;
            packet
        };
        let mut invalid = vec![
            datagram(4, 9, 9, &[2; 36]),
            datagram(4, 8, 10, &[2; 36]),
            datagram(4, 8, 9, &[2; 37]),
            datagram(4, 8, 9, &[]),
            datagram(6, 8, 9, &[2; 36]),
            valid[..40].to_vec(),
            Vec::new(),
        ];
        // Each change affects one property: ECN bits, time to live, protocol, fragmentation, an address, data, or
        // checksums.
        invalid.extend([1, 8, 9, 6, 15, 40, 10, 26].map(|at| changed(at, 1)));
        for packet in invalid {
            let mut joined = Joined::default();
            assert!(joined.take(&first));
            assert!(!joined.take(&packet), "{packet:?}");
            assert_eq!(split(&mut joined), std::slice::from_ref(&first));
        }
    }

    #[test]
    fn a_first_datagram_without_a_valid_checksum_is_not_joined() {
        for invalid in [[0, 0], [1, 2]] {
            let mut first = datagram(4, 7, 9, &[1; 36]);
            first[26..28].copy_from_slice(&invalid);
            let mut joined = Joined::default();
            assert!(joined.take(&first));
            assert!(!joined.take(&datagram(4, 8, 9, &[2; 36])));
            assert_eq!(split(&mut joined), [first]);
        }
    }

    #[test]
    fn packets_that_are_not_datagrams_are_not_joined() {
        let mut segment = datagram(4, 7, 9, &[1; 36]);
        segment[9] = 6;
        for first in [segment, vec![0x45; 12], Vec::new()] {
            let mut joined = Joined::default();
            assert!(joined.take(&first));
            assert!(!joined.take(&first));
            assert_eq!(split(&mut joined), [first]);
        }
    }

    #[test]
    fn at_most_64_datagrams_are_joined() {
        let mut joined = Joined::default();
        let taken = (0..100u16)
            .take_while(|&n| joined.take(&datagram(4, n, 9, &[3; 36])))
            .count();
        assert_eq!(taken, 64);
    }
}
