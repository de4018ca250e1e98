//! F-GCRA: which frames of a VC with a guaranteed rate are eligible for the guarantee (ITU-T I.371; ATM Forum Traffic
//! Management 4.1, appendix on GFR).

use crate::packets::aal5::CELL_BITS;
use longpipe_events::{Time, PS_PER_SECOND};

/// Content of the bucket that one cell adds. The bucket drains by the MCR, in this unit per cell.
const CELL: u128 = PS_PER_SECOND as u128;

/// The algorithm F-GCRA(T, L), with T = 1/MCR and L = (MBS - 1) (1/MCR - 1/PCR). The first cell of a frame decides: the
/// frame is eligible if the bucket contains at most L. Every cell of an eligible frame adds T. Other frames add nothing.
#[derive(Clone, Debug)]
pub struct FrameGcra {
    /// MCR [cells/s].
    mcr: u128,
    /// L.
    limit: u128,
    /// X: content of the bucket at the latest eligible cell.
    content: u128,
    /// LPT: time of the latest eligible cell.
    latest: Time,
    /// Whether the current frame is eligible; None between frames.
    eligible: Option<bool>,
}

impl FrameGcra {
    /// Creates an empty bucket for a VC with the given MCR [cells/s] and MBS [cells]. Its peak cell rate is that of a link
    /// of `link_bps`.
    pub fn new(mcr: u64, mbs: u64, link_bps: u64) -> FrameGcra {
        let mcr = u128::from(mcr);
        // L in units of a cell at the MCR, 1 - MCR/PCR for each cell of the burst after the first one.
        let saved = CELL.saturating_sub(CELL * mcr * u128::from(CELL_BITS) / u128::from(link_bps));
        FrameGcra {
            mcr,
            limit: u128::from(mbs - 1) * saved,
            content: 0,
            latest: Time::ZERO,
            eligible: None,
        }
    }

    /// Processes a cell that arrives at `now`. Returns whether its frame is eligible.
    pub fn on_cell(&mut self, now: Time, last: bool) -> bool {
        let drained = u128::from((now - self.latest).0) * self.mcr;
        let content = self.content.saturating_sub(drained);
        let eligible = *self.eligible.get_or_insert(content <= self.limit);
        if eligible {
            (self.content, self.latest) = (content + CELL, now);
        }
        if last {
            self.eligible = None;
        }
        eligible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks 50 cells against a trace that was computed by hand from the flow chart of F-GCRA(T, L). With an MCR of
    /// 0.1 cells/us, a PCR of 1 cell/us and an MBS of 4 cells, T = 10 us and L = 3 · (10 - 1) = 27 us. X1 is the content
    /// of the bucket at the first cell of a frame before the cell is added, and X is the content after the last cell.
    #[test]
    fn eligibility_equals_that_of_a_hand_computed_trace() {
        let trace: [(&[u64], &str, bool); 14] = [
            (&[0, 1, 2, 3], "X1 = 0; X = 10, 19, 28, 37", true),
            (&[4, 5, 6], "X1 = 37 - 1 = 36", false),
            (&[13, 14], "X1 = 37 - 10 = 27, which is L; X = 37, 46", true),
            (&[20, 21, 22, 23, 24], "X1 = 46 - 6 = 40", false),
            (&[33], "X1 = 46 - 19 = 27; X = 37", true),
            (&[42], "X1 = 37 - 9 = 28", false),
            (&[43], "X1 = 37 - 10 = 27; X = 37", true),
            (
                &[100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111],
                "X1 = max(0, 37 - 57); X = 10 + 9 · 11 = 109",
                true,
            ),
            (&[192, 193], "X1 = 109 - 81 = 28", false),
            (&[194, 200, 206], "X1 = 109 - 83 = 26; X = 36, 40, 44", true),
            (&[222, 223, 224, 225], "X1 = 44 - 16 = 28", false),
            (&[230, 231, 232, 233], "X1 = 44 - 24 = 20; X = 30, 39, 48, 57", true),
            (&[262, 264], "X1 = 57 - 29 = 28", false),
            (
                &[265, 266, 267, 268, 269, 270],
                "X1 = 57 - 32 = 25; X = 35 + 9 · 5 = 80",
                true,
            ),
        ];
        assert_eq!(trace.iter().map(|(times, ..)| times.len()).sum::<usize>(), 50);
        let mut gcra = FrameGcra::new(100_000, 4, 424_000_000);
        for (times, step, eligible) in trace {
            for (number, &at) in times.iter().enumerate() {
                let last = number + 1 == times.len();
                assert_eq!(gcra.on_cell(Time(at * 1_000_000), last), eligible, "{at} us: {step}");
            }
        }
    }

    /// A source that always sends at twice the MCR is eligible with half of its frames.
    #[test]
    fn eligible_frames_have_the_guaranteed_rate() {
        for (frame_cells, mcr) in [(1, 100_000), (12, 50_000), (193, 366_000)] {
            let mut gcra = FrameGcra::new(mcr, 2 * frame_cells, 10 * 424 * mcr);
            let cell_ps = PS_PER_SECOND / (2 * mcr);
            let cells = 40_000 * frame_cells;
            let eligible = (0..cells)
                .filter(|cell| gcra.on_cell(Time(cell * cell_ps), (cell + 1) % frame_cells == 0))
                .count() as f64;
            let ratio = eligible / (cells / 2) as f64;
            assert!((ratio - 1.0).abs() < 1e-3, "{frame_cells}: {ratio}");
        }
    }
}
