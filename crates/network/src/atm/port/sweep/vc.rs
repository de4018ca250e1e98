//! What a port that sweeps knows of one of its virtual circuits.

use crate::atm::port::frame::Frame;
use crate::atm::port::sweep::run::Run;
use crate::packets::Circuit;

/// Where a circuit goes from a port.
#[derive(Clone, Copy, Debug)]
pub enum Onward {
    /// To another port that sweeps: the stream that leads there, and the VC's number at that port.
    Port(u32, u32),
    /// Past ports that cannot hold a queue to its host.
    Host,
}

/// One VC.
#[derive(Clone, Debug)]
pub struct Vc {
    /// Its number in the network.
    pub vc: Circuit,
    /// Where it goes from here.
    pub onward: Onward,
    /// The current frame.
    pub frame: Frame,
    /// Cells that entered.
    pub admitted: u64,
    /// Frames as whoever comes next sees them: those that a lost last cell merged are one.
    pub frames_out: u64,
    /// Cells that entered since the latest last one.
    collected: u16,
    /// Whether these are those of one frame, from its first on.
    intact: bool,
    /// The latest cell's frame, and how many cells of it follow.
    number: u32,
    left: u16,
}

impl Vc {
    /// An idle one.
    pub fn new(vc: Circuit, onward: Onward) -> Vc {
        Vc {
            vc,
            onward,
            frame: Frame::Between,
            admitted: 0,
            frames_out: 0,
            collected: 0,
            intact: false,
            number: 0,
            left: 0,
        }
    }

    /// Cells enter, as a host's reassembly sees them. Whether the first one begins a frame for whoever comes next; and, if
    /// the last one ends a frame all of whose cells follow each other, how many there are.
    #[inline(always)]
    pub fn enter(&mut self, run: &Run) -> (bool, Option<u16>) {
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
        (begins, self.intact.then_some(cells))
    }
}
