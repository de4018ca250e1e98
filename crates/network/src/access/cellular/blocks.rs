//! Transport blocks: the segments of packets that they carry, their retransmissions, and delivery in order.

use super::parameters::Rlc;
use crate::access::fragments::Filled;
use std::collections::VecDeque;

/// Bytes of PDCP for each packet, with sequence numbers of 18 bit (TS 38.323 section 6.2.2.3).
const PACKET_HEADER: u64 = 3;
/// Bytes of MAC (a subheader with a length of 16 bit, TS 38.321 section 6.1.2) and of RLC (sequence numbers of 18 bit, TS
/// 38.322 section 6.2.2.4) for each segment.
const SEGMENT_HEADER: u64 = 3 + 3;
/// Bytes of the offset of a segment that does not begin a packet (TS 38.322 section 6.2.3.5).
const OFFSET: u64 = 2;

/// Fills `room` bytes with the rest of a packet, of which `rest` bytes have not been sent, and with the packets that
/// `take` returns by their lengths [byte]. Returns what the bytes carry, and the bytes that are left.
pub(super) fn fill(mut room: u64, rest: &mut u64, mut take: impl FnMut() -> Option<u64>) -> (Filled, u64) {
    let mut filled = Filled::default();
    loop {
        // A shorter segment has no room for data.
        if room <= SEGMENT_HEADER + OFFSET {
            return (filled, room);
        }
        let header = match *rest {
            0 => {
                let Some(bytes) = take() else { return (filled, room) };
                *rest = bytes + PACKET_HEADER;
                SEGMENT_HEADER
            }
            _ => SEGMENT_HEADER + OFFSET,
        };
        let part = (*rest).min(room - header);
        room -= header + part;
        filled.bytes += part;
        *rest -= part;
        if *rest > 0 {
            filled.continues = true;
            return (filled, room);
        }
        filled.completed += 1;
    }
}

/// State of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Is in transmission, or waits for feedback or a retransmission by HARQ.
    Pending,
    /// Was received, and waits for earlier blocks.
    Received,
    /// HARQ has failed, and RLC has not noticed it.
    Failed,
    /// Is lost for RLC.
    Lost,
}

/// A transport block. RLC repeats the data of a block in a new one, which has its place and its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub filled: Filled,
    pub state: BlockState,
    /// Resource blocks that each transmission occupies.
    pub resource_blocks: u64,
    /// Transmissions by HARQ since RLC passed the data to MAC.
    pub transmissions: u32,
    /// Retransmissions by RLC.
    pub repeated: u32,
    /// Slot of the first of these transmissions.
    pub first: u64,
    /// Slot at whose start a later block had been received.
    pub gap: Option<u64>,
    /// Bytes that the base station learns of when it receives the block; None if it does not carry a report.
    pub report: Option<u64>,
}

impl Block {
    /// Creates a block that is sent in a slot for the first time.
    pub fn new(filled: Filled, resource_blocks: u64, slot: u64) -> Block {
        Block {
            filled,
            state: BlockState::Pending,
            resource_blocks,
            transmissions: 0,
            repeated: 0,
            first: slot,
            gap: None,
            report: None,
        }
    }
}

/// Rules of HARQ and RLC, with times as numbers of slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub rlc: Rlc,
    pub first_error: f64,
    pub further_error: f64,
    pub processes: u64,
    pub transmissions: u32,
    pub rlc_retransmissions: u32,
    pub reassembly: u64,
    pub poll_retransmit: u64,
    pub status_prohibit: u64,
}

/// Blocks of a station, from the earliest whose packets wait for delivery.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: VecDeque<Block>,
    /// Number of the first of them.
    first: u64,
    /// Slot of the last status report of RLC.
    status: Option<u64>,
}

impl Blocks {
    pub fn get(&mut self, number: u64) -> Option<&mut Block> {
        let place = number.checked_sub(self.first)?;
        self.blocks.get_mut(place as usize)
    }

    /// Adds a block. Returns its number.
    pub fn push(&mut self, block: Block) -> u64 {
        self.blocks.push_back(block);
        self.first + self.blocks.len() as u64 - 1
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the number of packets that end in blocks that wait for delivery.
    pub fn completed(&self) -> u64 {
        self.blocks.iter().map(|block| block.filled.completed).sum()
    }

    /// Records that a block has been received at the start of a slot. Returns the numbers of earlier blocks
    /// that have failed, because the receiver notices that they are missing.
    pub fn receive(&mut self, number: u64, slot: u64) -> Vec<u64> {
        let mut failed = vec![];
        let place = (number - self.first) as usize;
        self.blocks[place].state = BlockState::Received;
        for (earlier, block) in self.blocks.iter_mut().take(place).enumerate() {
            let is_missing = matches!(block.state, BlockState::Pending | BlockState::Failed);
            if is_missing && block.gap.is_none() {
                block.gap = Some(slot);
                if block.state == BlockState::Failed {
                    failed.push(self.first + earlier as u64);
                }
            }
        }
        failed
    }

    /// Returns the slot in which RLC notices that a block is missing, of which HARQ has failed by `slot`: after the timer
    /// of reassembly if a later block has been received, otherwise after that of the poll. A status report is sent
    /// at the earliest after the prohibit timer.
    pub fn noticed(&self, number: u64, slot: u64, rules: &Rules) -> u64 {
        let block = &self.blocks[(number - self.first) as usize];
        match (block.gap, rules.rlc) {
            (Some(gap), Rlc::Um) => slot.max(gap + rules.reassembly),
            // No later packet waits for the block.
            (None, Rlc::Um) => slot,
            (Some(gap), Rlc::Am) => {
                let prohibited = self.status.map_or(0, |status| status + rules.status_prohibit);
                slot.max(gap + rules.reassembly).max(prohibited)
            }
            (None, Rlc::Am) => slot.max(block.first + rules.poll_retransmit),
        }
    }

    /// Stops all transmissions. Blocks that have not been received are kept for RLC, or lost. Returns the numbers of the
    /// kept ones.
    pub fn stop(&mut self, keeps: bool) -> Vec<u64> {
        let mut kept = vec![];
        for (number, block) in (self.first..).zip(&mut self.blocks) {
            if matches!(block.state, BlockState::Received | BlockState::Lost) {
                continue;
            }
            (block.transmissions, block.gap, block.report) = (0, None, None);
            if keeps {
                block.state = BlockState::Pending;
                kept.push(number);
            } else {
                block.state = BlockState::Lost;
            }
        }
        kept
    }

    /// Records that a status report is sent in a slot.
    pub fn report_status(&mut self, slot: u64) {
        self.status = Some(slot);
    }

    /// Removes and returns the first block, and whether it is lost, if its packets wait for no earlier block.
    pub fn release(&mut self) -> Option<(Filled, bool)> {
        let block = self.blocks.front()?;
        let is_lost = match block.state {
            BlockState::Received => false,
            BlockState::Lost => true,
            BlockState::Pending | BlockState::Failed => return None,
        };
        self.first += 1;
        self.blocks.pop_front().map(|block| (block.filled, is_lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_carry_whole_packets_and_segments() {
        let mut packets = vec![1500, 40, 40];
        let mut rest = 0;
        let (filled, left) = fill(1000, &mut rest, || packets.pop());
        // Two packets of 43 bytes with headers of 6 bytes, and 1000 - 98 - 6 bytes of the third one.
        assert_eq!(
            (filled.completed, filled.bytes, filled.continues, left),
            (2, 982, true, 0)
        );
        assert_eq!(rest, 1503 - 896);
        let (filled, left) = fill(1000, &mut rest, || packets.pop());
        assert_eq!((filled.completed, filled.bytes, left), (1, 607, 1000 - 607 - 8));
        assert_eq!(fill(8, &mut rest, || Some(40)), (Filled::default(), 8));
    }
}
