//! Counts the data in a host's packets, for user programs, which do not report counters.

use std::collections::BTreeMap;

/// Protocol numbers in the IP header.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Length of a UDP header [byte].
const UDP_HEADER: usize = 8;
/// TCP flags.
const SYN: u8 = 0x02;

/// Counters of packets in one direction. The data of a packet are the payload of TCP or UDP; for other protocols, the
/// payload of IP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of packets that carry data.
    pub packets: u64,
    /// Length of the data in all packets [byte].
    pub bytes: u64,
    /// Length of the data [byte]; retransmitted data are counted once.
    pub new_bytes: u64,
    /// Number of packets whose data had all been contained in earlier packets.
    pub repeated_packets: u64,
    /// Data received so far on each TCP connection, indexed by its ports.
    streams: BTreeMap<(u16, u16), Received>,
}

/// Parts of a TCP stream that have been received, as offsets from its first sequence number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Received {
    /// Sequence number that corresponds to the offset `next`, and this offset, up to which there is no hole.
    sequence: u32,
    next: u64,
    /// Disjoint parts beyond `next`, in order: start and end.
    beyond: Vec<(u64, u64)>,
}

impl Counts {
    /// Counts an IPv4 packet.
    pub fn take(&mut self, packet: &[u8]) {
        let header = usize::from(packet[0] & 15) * 4;
        let length = usize::from(u16::from_be_bytes([packet[2], packet[3]])).min(packet.len());
        let Some(body) = packet.get(header..length) else {
            return;
        };
        // Only the first fragment of a packet contains the transport header.
        let is_first = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff == 0;
        let (bytes, new_bytes) = match packet[9] {
            TCP if is_first && body.len() >= 20 => self.take_segment(body),
            UDP if is_first => (
                body.len().saturating_sub(UDP_HEADER),
                body.len().saturating_sub(UDP_HEADER) as u64,
            ),
            _ => (body.len(), body.len() as u64),
        };
        if bytes > 0 {
            self.packets += 1;
            self.bytes += bytes as u64;
            self.new_bytes += new_bytes;
            self.repeated_packets += u64::from(new_bytes == 0);
        }
    }

    /// Returns the length of a TCP segment's data, and how many of these bytes no earlier segment contained.
    fn take_segment(&mut self, segment: &[u8]) -> (usize, u64) {
        let word = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let ports = (word(0), word(2));
        let sequence = u32::from(word(4)) << 16 | u32::from(word(6));
        let bytes = segment.len().saturating_sub(usize::from(segment[12] >> 4) * 4);
        if segment[13] & SYN != 0 {
            let first = sequence.wrapping_add(1);
            self.streams.insert(
                ports,
                Received {
                    sequence: first,
                    ..Received::default()
                },
            );
        }
        let fresh = || Received {
            sequence,
            ..Received::default()
        };
        let stream = self.streams.entry(ports).or_insert_with(fresh);
        (bytes, stream.take(sequence, bytes as u32))
    }
}

impl Received {
    /// Adds `bytes` bytes that start at a sequence number. Returns the number of new bytes.
    fn take(&mut self, sequence: u32, bytes: u32) -> u64 {
        let ahead = i64::from(sequence.wrapping_sub(self.sequence) as i32);
        let begin = self.next as i64 + ahead;
        let end = (begin + i64::from(bytes)).max(0) as u64;
        let begin = (begin.max(0) as u64).max(self.next);
        if end <= begin {
            return 0;
        }
        let mut merged = (begin, end);
        let mut new_bytes = end - begin;
        self.beyond.retain(|&(from, to)| {
            new_bytes -= to.min(end).saturating_sub(from.max(begin));
            let is_apart = to < merged.0 || from > merged.1;
            if !is_apart {
                merged = (merged.0.min(from), merged.1.max(to));
            }
            is_apart
        });
        if merged.0 == self.next {
            self.sequence = self.sequence.wrapping_add((merged.1 - self.next) as u32);
            self.next = merged.1;
        } else {
            let place = self.beyond.partition_point(|&(from, _)| from < merged.0);
            self.beyond.insert(place, merged);
        }
        new_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_events::Stream;

    fn segment(sequence: u32, bytes: usize, flags: u8) -> Vec<u8> {
        let mut packet = vec![0; 40 + bytes];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(40 + bytes as u16).to_be_bytes());
        packet[9] = TCP;
        packet[24..28].copy_from_slice(&sequence.to_be_bytes());
        packet[32] = 0x50;
        packet[33] = flags;
        packet
    }

    /// The sequence numbers wrap around, and segments are reordered and repeated; each byte counts as new only once.
    #[test]
    fn each_byte_is_new_once() {
        let (mut counts, mut draws, mut seen) = (Counts::default(), Stream::new(3, "counts", 0), vec![false; 4000]);
        let first = u32::MAX - 1500;
        counts.take(&segment(first.wrapping_sub(1), 0, SYN));
        for _ in 0..2000 {
            let (begin, bytes) = (draws.below(3900) as usize, draws.below(100) as usize);
            let before = counts.new_bytes;
            counts.take(&segment(first.wrapping_add(begin as u32), bytes, 0));
            let new = seen[begin..begin + bytes].iter().filter(|&&seen| !seen).count();
            seen[begin..begin + bytes].fill(true);
            assert_eq!(counts.new_bytes - before, new as u64);
        }
        assert_eq!(counts.new_bytes, seen.iter().filter(|&&seen| seen).count() as u64);
        assert!(counts.repeated_packets > 0);
    }

    #[test]
    fn datagrams_and_other_protocols_are_new() {
        let mut counts = Counts::default();
        let mut packet = segment(0, 80, 0);
        packet[9] = UDP;
        counts.take(&packet);
        packet[9] = 1;
        counts.take(&packet);
        assert_eq!(
            (counts.packets, counts.bytes, counts.new_bytes, counts.repeated_packets),
            (2, 192, 192, 0)
        );
    }
}
