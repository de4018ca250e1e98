//! State of a virtual circuit at a sweep port.

use crate::atm::port::frame::FrameState;
use crate::atm::port::sweep::run::CellRun;
use crate::packets::Circuit;

/// Next destination of a circuit after a port.
#[derive(Clone, Copy, Debug)]
pub enum NextHop {
    /// Another sweep port: the stream to that port, and the VC's index there.
    Port(u32, u32),
    /// The host, which is reached through ports that cannot queue.
    Host,
}

/// A virtual circuit.
#[derive(Clone, Debug)]
pub struct SweepVc {
    /// Number in the network.
    pub vc: Circuit,
    /// Next destination.
    pub next_hop: NextHop,
    /// State of the current frame.
    pub frame: FrameState,
    /// Number of the latest frame of which a lost cell is reported.
    pub lost: u32,
    /// Admitted cells.
    pub admitted: u64,
    /// Number of frames that the next node receives; if a last cell is lost, two frames merge into one.
    pub frames_out: u64,
    /// Number of cells admitted since the end of the last frame.
    collected: u16,
    /// Whether the `collected` cells are consecutive cells of one frame, starting with its first cell.
    intact: bool,
    /// Frame number of the latest cell, and the number of cells of the frame that follow it.
    number: u32,
    left: u16,
}

impl SweepVc {
    /// Creates an idle VC.
    pub fn new(vc: Circuit, next_hop: NextHop) -> SweepVc {
        SweepVc {
            vc,
            next_hop,
            frame: FrameState::Between,
            lost: 0,
            admitted: 0,
            frames_out: 0,
            collected: 0,
            intact: false,
            number: 0,
            left: 0,
        }
    }

    /// Records admitted cells for reassembly. Returns whether the first of them starts a frame for the next node. If
    /// the last of them ends a frame, also returns the frame's number of cells, or 0 if one of its cells was lost or it
    /// was merged with an earlier frame.
    #[inline(always)]
    pub fn enter(&mut self, run: &CellRun) -> (bool, Option<u16>) {
        let begins = self.collected == 0;
        self.frames_out += u64::from(begins);
        self.admitted += u64::from(run.cells);
        self.intact = begins || (self.intact && run.frame == self.number && run.left + run.cells == self.left);
        (self.number, self.left) = (run.frame, run.left);
        self.collected = self.collected.saturating_add(run.cells);
        if run.left > 0 {
            return (begins, None);
        }
        let cells = std::mem::take(&mut self.collected);
        (begins, Some(if self.intact { cells } else { 0 }))
    }
}
