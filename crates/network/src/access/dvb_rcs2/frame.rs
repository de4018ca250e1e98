//! Bursts of a superframe, and the division of packets among them by RLE (Return Link Encapsulation).

use crate::access::fragments::Filled;
use longpipe_events::PS_PER_SECOND;

/// First waveform of `BURST_BYTES`.
pub(super) const FIRST_WAVEFORM: u32 = 3;
/// Bytes of a burst by waveform: 3 to 12 with 536 symbols, 13 to 22 with 1616 symbols. They give the efficiencies of
/// OpenSAND's table of waveforms.
pub(super) const BURST_BYTES: [u64; 20] = [
    38, 59, 85, 96, 108, 115, 130, 144, 175, 194, 123, 188, 264, 298, 333, 355, 400, 444, 539, 599,
];
/// Header [byte] of a fragment that contains the start of a packet, but not its end; other fragments have `HEADER`.
const START_HEADER: u64 = 4;
pub(super) const HEADER: u64 = 2;

/// Times of the bursts of a carrier within a superframe.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    rate_bps: u64,
    burst_bits: u64,
    slots_per_ps: f64,
    /// Starts of the first slots (shortcut).
    starts: Vec<u64>,
}

/// Number of slots whose starts are kept.
const KEPT_STARTS: u64 = 1024;

impl Slots {
    /// Creates the slots of a carrier that sends at `rate_bps` bit/s if all of them are used.
    pub fn new(rate_bps: u64, burst_bytes: u64) -> Slots {
        let burst_bits = 8 * burst_bytes;
        Slots {
            rate_bps,
            burst_bits,
            slots_per_ps: rate_bps as f64 / (burst_bits as f64 * PS_PER_SECOND as f64),
            starts: (0..KEPT_STARTS).map(|slot| start(slot, burst_bits, rate_bps)).collect(),
        }
    }

    /// Returns the time [ps] from the start of the superframe to the start of a slot, which is the end of the slot
    /// before it.
    #[inline]
    pub fn start(&self, slot: u64) -> u64 {
        match self.starts.get(slot as usize) {
            Some(&start) => start,
            None => start(slot, self.burst_bits, self.rate_bps),
        }
    }

    /// Returns the number of slots that fit into a superframe.
    pub fn within(&self, superframe_ps: u64) -> u64 {
        let bits = u128::from(superframe_ps) * u128::from(self.rate_bps) / u128::from(PS_PER_SECOND);
        (bits / u128::from(self.burst_bits)) as u64
    }

    /// Returns the first slot that starts at or after a time [ps] from the start of the superframe.
    pub fn first_from(&self, offset_ps: u64) -> u64 {
        // The product is wrong by less than one slot.
        let mut slot = ((offset_ps as f64 * self.slots_per_ps) as u64).saturating_sub(1);
        while self.start(slot) < offset_ps {
            slot += 1;
        }
        slot
    }
}

/// Returns the time [ps] from the start of the superframe to the start of a slot.
fn start(slot: u64, burst_bits: u64, rate_bps: u64) -> u64 {
    let bits = u128::from(slot) * u128::from(burst_bits);
    (bits * u128::from(PS_PER_SECOND)).div_ceil(u128::from(rate_bps)) as u64
}

/// Consecutive slots of a terminal in a superframe of `count` slots; after the last slot, they continue with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnSlots {
    pub first: u64,
    pub number: u64,
}

impl OwnSlots {
    /// Returns the first of these slots that is not before `from`.
    pub fn next(&self, from: u64, count: u64) -> Option<u64> {
        let end = self.first + self.number;
        // The slots after the wrap are at the beginning of the superframe.
        if from < end.saturating_sub(count) {
            return Some(from);
        }
        let slot = from.max(self.first);
        (slot < end.min(count)).then_some(slot)
    }

    /// Returns the number of consecutive slots among these that begin with `from`.
    pub fn consecutive(&self, from: u64, count: u64) -> u64 {
        let end = self.first + self.number;
        let wrapped = end.saturating_sub(count);
        match from < wrapped {
            true => wrapped - from,
            false if from >= self.first => end.min(count).saturating_sub(from),
            false => 0,
        }
    }

    /// Returns the number of these slots that are not before `from`.
    pub fn number_from(&self, from: u64, count: u64) -> u64 {
        let end = self.first + self.number;
        end.saturating_sub(count).saturating_sub(from) + end.min(count).saturating_sub(from.max(self.first))
    }
}

/// Fills a burst with the rest of a packet, of which `rest` bytes have not been sent, and with the packets that `take`
/// returns by their lengths [byte], to each of which `overhead` bytes are added.
pub(super) fn fill(burst: u64, rest: &mut u64, overhead: u64, mut take: impl FnMut() -> Option<u64>) -> Filled {
    let mut room = burst;
    let mut filled = Filled::default();
    loop {
        if *rest == 0 {
            // A shorter fragment has no room for data.
            if room <= START_HEADER {
                return filled;
            }
            let Some(bytes) = take() else { return filled };
            let whole = bytes + overhead;
            if whole + HEADER > room {
                *rest = whole - (room - START_HEADER);
                filled.bytes += room - START_HEADER;
                filled.continues = true;
                return filled;
            }
            room -= whole + HEADER;
            filled.bytes += whole;
            filled.completed += 1;
            continue;
        }
        if *rest + HEADER > room {
            *rest -= room - HEADER;
            filled.bytes += room - HEADER;
            filled.continues = true;
            return filled;
        }
        room -= *rest + HEADER;
        filled.bytes += *rest;
        filled.completed += 1;
        *rest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of bursts that carry one packet.
    fn bursts(size: u64, burst: u64, overhead: u64) -> u64 {
        let (mut rest, mut packets) = (0, vec![size]);
        let mut used = 0;
        loop {
            used += 1;
            if fill(burst, &mut rest, overhead, || packets.pop()).completed > 0 {
                return used;
            }
        }
    }

    #[test]
    fn packets_take_as_many_bursts_as_in_sns3() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/data/access/satellite-frames.csv"
        );
        let text = std::fs::read_to_string(path).expect("the table of frames");
        let mut compared = 0;
        for line in text.lines().filter(|line| line.starts_with("RLE bursts,")) {
            let columns: Vec<&str> = line.split(',').collect();
            let numbers: Vec<u64> = (columns[1].split(' '))
                .map(|pair| {
                    pair.split_once('=')
                        .map_or("", |(_, value)| value)
                        .parse()
                        .expect("a number")
                })
                .collect();
            let [waveform, burst, size, overhead] = numbers[..] else {
                panic!("{line}")
            };
            assert_eq!(
                BURST_BYTES[waveform as usize - FIRST_WAVEFORM as usize],
                burst,
                "{line}"
            );
            assert_eq!(bursts(size, burst, overhead).to_string(), columns[2], "{line}");
            compared += 1;
        }
        assert_eq!(compared, 60);
    }

    #[test]
    fn bursts_carry_several_packets_and_fragments() {
        let mut packets = vec![1500, 40, 40];
        let mut rest = 0;
        let filled = fill(194, &mut rest, 3, || packets.pop());
        // Two packets of 43 and 2 bytes each, and 194 - 90 - 4 bytes of the third one.
        assert_eq!((filled.completed, filled.bytes, rest), (2, 186, 1403));
    }

    #[test]
    fn own_slots_wrap_at_the_end_of_the_superframe() {
        let own = OwnSlots { first: 8, number: 5 };
        let slots: Vec<u64> = (0..10).filter(|&slot| own.next(slot, 10) == Some(slot)).collect();
        assert_eq!(slots, [0, 1, 2, 8, 9]);
        let left: Vec<u64> = [0, 1, 3, 9, 10]
            .into_iter()
            .map(|from| own.number_from(from, 10))
            .collect();
        assert_eq!(left, [5, 4, 2, 1, 0]);
        let runs: Vec<u64> = (0..11).map(|from| own.consecutive(from, 10)).collect();
        assert_eq!(runs, [3, 2, 1, 0, 0, 0, 0, 0, 2, 1, 0]);
    }

    #[test]
    fn a_superframe_of_sns3_has_149_short_or_49_long_bursts() {
        for (rate_bps, waveform, bursts) in [(452_960, 3, 149), (482_160, 13, 49)] {
            let slots = Slots::new(rate_bps, BURST_BYTES[waveform - 3]);
            assert_eq!(slots.within(100_000_000_000), bursts);
            assert_eq!(slots.start(bursts), 100_000_000_000);
            assert_eq!(slots.first_from(slots.start(7)), 7);
            assert_eq!(slots.first_from(slots.start(7) + 1), 8);
            for slot in (0..3000).chain(1 << 30..(1 << 30) + 100) {
                let start = slots.start(slot);
                assert_eq!(slots.first_from(start), slot);
                assert_eq!(slots.first_from(start + 1), slot + 1);
            }
        }
    }
}
