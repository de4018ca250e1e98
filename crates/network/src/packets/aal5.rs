//! AAL5: segmentation of IP packets into cells, and reassembly (ITU-T I.363.5; RFC 2684 LLC encapsulation).

use crate::packets::Circuit;

/// Bytes of a cell on the wire.
pub const CELL_BYTES: u64 = 53;
/// Bits of a cell on the wire.
pub const CELL_BITS: u64 = 8 * CELL_BYTES;
/// Payload bytes of a cell.
pub const CELL_PAYLOAD_BYTES: u32 = 48;
/// Bytes of the LLC/SNAP header before the packet and of the AAL5 trailer after it.
pub const FRAME_OVERHEAD_BYTES: u32 = 8 + 8;

/// Returns the number of cells in the frame of an IP packet of `packet_bytes`.
#[inline(always)]
pub fn frame_cells(packet_bytes: u32) -> u16 {
    let cells = (packet_bytes + FRAME_OVERHEAD_BYTES).div_ceil(CELL_PAYLOAD_BYTES);
    u16::try_from(cells).expect("an IP packet has at most 65 535 bytes")
}

/// A cell of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Virtual circuit.
    pub vc: Circuit,
    /// Number of the frame within its VC; it stands for the frame's contents and checksum.
    pub frame: u32,
    /// Number of cells of the frame that follow this one; 0 marks the last cell (the end-of-frame bit).
    pub left: u16,
    /// Next step of the circuit.
    pub step: u32,
    /// Whether the cell loss priority is low (CLP = 1).
    pub tagged: bool,
}

/// Reassembles the frames of a VC. If the last cell of a frame is lost, the frame merges with the next frame, and both
/// are discarded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reassembler {
    /// Cells of the current frame that have arrived.
    cells: u16,
    intact: bool,
    frame: u32,
    left: u16,
}

impl Reassembler {
    /// Adds a cell. If the cell completes a frame, returns the number of cells in the frame.
    #[inline(always)]
    pub fn on_cell(&mut self, cell: Cell) -> Option<u16> {
        self.intact = self.cells == 0 || (self.intact && cell.frame == self.frame && cell.left + 1 == self.left);
        self.frame = cell.frame;
        self.left = cell.left;
        self.cells = self.cells.saturating_add(1);
        if cell.left > 0 {
            return None;
        }
        let cells = std::mem::take(&mut self.cells);
        self.intact.then_some(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_counts_equal_those_of_the_papers() {
        let cells = [512, 1024, 9180, 0, 128].map(|payload| frame_cells(payload + 40));
        assert_eq!(cells, [12, 23, 193, 2, 4]);
    }

    /// Returns the numbers of those frames of three cells that arrive complete.
    fn feed(cells: &[(u32, u16)]) -> Vec<u32> {
        let mut reassembler = Reassembler::default();
        let whole = cells.iter().filter(|&&(frame, left)| {
            let cell = Cell {
                frame,
                left,
                ..Cell::default()
            };
            reassembler.on_cell(cell) == Some(3)
        });
        whole.map(|cell| cell.0).collect()
    }

    #[test]
    fn whole_frames_pass() {
        assert_eq!(feed(&[(0, 2), (0, 1), (0, 0), (1, 2), (1, 1), (1, 0)]), [0, 1]);
    }

    #[test]
    fn a_missing_cell_corrupts_only_its_frame() {
        assert_eq!(feed(&[(0, 1), (0, 0), (1, 2), (1, 1), (1, 0)]), [1]);
        assert_eq!(feed(&[(0, 2), (0, 0), (1, 2), (1, 1), (1, 0)]), [1]);
    }

    #[test]
    fn a_lost_last_cell_corrupts_two_frames() {
        assert_eq!(
            feed(&[(0, 2), (0, 1), (1, 2), (1, 1), (1, 0), (2, 2), (2, 1), (2, 0)]),
            [2]
        );
    }

    #[test]
    fn a_merged_frame_of_the_right_length_is_detected() {
        assert_eq!(feed(&[(0, 2), (1, 1), (1, 0)]), [] as [u32; 0]);
    }
}
