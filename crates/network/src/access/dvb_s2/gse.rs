//! Generic Stream Encapsulation (GSE, TS 102 606-1): packets, or their fragments, in the data fields of BBFRAMEs.

use crate::access::fragments::Filled;

/// Bytes of the start, the length and the protocol type of a GSE packet with a whole packet.
const HEADER: u64 = 4;
/// Bytes of the fragment's number and of the total length, in addition to `HEADER` in a first fragment.
const FIRST_HEADER: u64 = 3;
/// Header [byte] of a further fragment, and the CRC of the last one.
const NEXT_HEADER: u64 = 3;
const CRC: u64 = 4;
/// Maximum length [byte] of a GSE packet.
const MAX_BYTES: u64 = 4096;

/// Fills `room` bytes with the rest of a packet, of which `rest` bytes have not been sent, and with the packets that
/// `take` returns by their lengths [byte], each with a label of `label` bytes. Returns what the bytes carry, and the bytes
/// that are left.
pub(super) fn fill(mut room: u64, rest: &mut u64, label: u64, mut take: impl FnMut() -> Option<u64>) -> (Filled, u64) {
    let mut filled = Filled::default();
    loop {
        let limit = room.min(MAX_BYTES);
        if *rest > 0 {
            filled.continues = true;
            if NEXT_HEADER + *rest + CRC <= limit {
                room -= NEXT_HEADER + *rest + CRC;
                filled.bytes += *rest;
                filled.completed += 1;
                filled.continues = false;
                *rest = 0;
                continue;
            }
            // The last fragment has data, too.
            let part = limit.saturating_sub(NEXT_HEADER).min(*rest - 1);
            if part == 0 {
                return (filled, room);
            }
            room -= NEXT_HEADER + part;
            filled.bytes += part;
            *rest -= part;
            continue;
        }
        let first = HEADER + FIRST_HEADER + label;
        if limit <= first {
            return (filled, room);
        }
        let Some(bytes) = take() else { return (filled, room) };
        if HEADER + label + bytes <= limit {
            room -= HEADER + label + bytes;
            filled.bytes += bytes;
            filled.completed += 1;
            continue;
        }
        let part = (limit - first).min(bytes - 1);
        room -= first + part;
        filled.bytes += part;
        filled.continues = true;
        *rest = bytes - part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of frames with `data` bytes that carry one packet, and the bytes that they use.
    fn frames(size: u64, data: u64, label: u64) -> (u64, u64) {
        let (mut rest, mut packets) = (0, vec![size]);
        let (mut number, mut used) = (0, 0);
        loop {
            let (filled, left) = fill(data, &mut rest, label, || packets.pop());
            number += 1;
            used += data - left;
            if filled.completed > 0 {
                return (number, used);
            }
        }
    }

    #[test]
    fn packets_take_as_many_frames_and_bytes_as_in_the_table() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/data/access/satellite-frames.csv"
        );
        let text = std::fs::read_to_string(path).expect("the table of frames");
        let mut compared = 0;
        for line in text.lines().filter(|line| line.starts_with("GSE bytes,")) {
            let columns: Vec<&str> = line.split(',').collect();
            let numbers: Vec<u64> = (columns[1].split(' '))
                .map(|pair| {
                    let value = pair.split_once('=').map_or("", |(_, value)| value);
                    value.parse().expect("a number")
                })
                .collect();
            let [data, size, label, number] = numbers[..] else {
                panic!("{line}")
            };
            let (frames, used) = frames(size, data, label);
            assert_eq!((frames, used.to_string().as_str()), (number, columns[2]), "{line}");
            compared += 1;
        }
        assert_eq!(compared, 48);
    }

    #[test]
    fn frames_carry_several_packets_and_fragments() {
        let mut packets = vec![1500, 100, 40];
        let mut rest = 0;
        let (filled, left) = fill(374, &mut rest, 6, || packets.pop());
        // Packets of 50 and 110 bytes, and the first fragment with a header of 13 bytes.
        assert_eq!((filled.completed, filled.bytes, left, rest), (2, 140 + 201, 0, 1299));
        assert!(filled.continues);
        let (filled, left) = fill(374, &mut rest, 6, || None);
        assert_eq!((filled.completed, filled.bytes, left, rest), (0, 371, 0, 928));
    }
}
