//! Admission of cells at a sweep port, and assignment of their slots.

use crate::atm::port::frame::FrameState;
use crate::atm::port::sweep::{CellRun, CompletedFrame, LostCell, NextHop, Sink, SweepPort};
use crate::atm::port::trains::Late;
use crate::packets::drops::DropCause;
use crate::policies::{AfterLoss, Occupancy};
use longpipe_events::memory::Growing;
use longpipe_events::Time;

impl SweepPort {
    /// Processes the arrival, over `input`, of consecutive cells of one frame, with no cell of another input between
    /// them.
    #[inline(always)]
    pub(super) fn take(&mut self, input: usize, run: CellRun, sink: &mut Sink) {
        let cells = u64::from(run.cells);
        self.counters.cells_in += cells;
        if self.vcs[run.local as usize].frame == FrameState::Between {
            self.begin(&run, sink);
        }
        let frame = self.vcs[run.local as usize].frame;
        match frame {
            FrameState::Admitted if self.enters(input, &run) => self.admit(input, run, sink),
            FrameState::Refused => {
                self.counters.lost_aqm += cells;
                self.lose_merged(&run, DropCause::Aqm, sink);
            }
            FrameState::Lost => {
                self.counters.lost_injected += cells;
                self.lose_merged(&run, DropCause::InjectedLoss, sink);
            }
            _ => return self.take_singly(input, run, sink),
        }
        if run.left == 0 {
            self.vcs[run.local as usize].frame = FrameState::Between;
        }
    }

    /// Starts a frame: the policy decides whether the frame is admitted.
    #[inline(always)]
    fn begin(&mut self, run: &CellRun, sink: &mut Sink) {
        self.counters.frames_in += 1;
        let accepted = self.loss.is_none() && self.max_held() <= self.no_refusal_up_to;
        self.vcs[run.local as usize].frame = if accepted {
            FrameState::Admitted
        } else {
            self.decide(run, sink)
        };
    }

    #[inline(never)]
    fn decide(&mut self, run: &CellRun, sink: &mut Sink) -> FrameState {
        if self.loss.as_mut().is_some_and(|loss| loss.loses(Time(run.time))) {
            self.lose(run, DropCause::InjectedLoss, sink);
            return FrameState::Lost;
        }
        self.advance(run.time);
        let held = self.max_held();
        let refuses = self.policy.decides(held, held).unwrap_or_else(|| {
            let holding = self.holding.as_mut();
            let (vc_held, active_vcs) = holding.map_or((0, 0), |holding| holding.occupancy(run.local, self.ended));
            self.policy.refuses(Occupancy {
                held,
                vc_held,
                active_vcs,
            })
        });
        if refuses {
            self.lose(run, DropCause::Aqm, sink);
            FrameState::Refused
        } else {
            FrameState::Admitted
        }
    }

    /// Returns an upper bound on the queue length X at and after the latest access.
    #[inline(always)]
    pub(super) fn max_held(&self) -> u64 {
        self.next.index().saturating_sub(self.busy.max(self.ended))
    }

    /// Advances to `time`: counts the cells that have left before the arrivals at that time.
    #[inline(always)]
    pub(super) fn advance(&mut self, time: u64) {
        self.grid.advance(&mut self.past, Time(time + 1));
        self.ended = self.past.index().saturating_sub(1);
    }

    /// Starts a new busy period if a slot passes without a cell before `time`.
    #[inline(always)]
    fn catch_up(&mut self, time: u64) {
        if self.next.start().0 < time {
            self.be_idle(time);
        }
    }

    #[inline(always)]
    fn be_idle(&mut self, time: u64) {
        self.before += self.sums.of(self.busy + 1, self.next.index() + 1);
        self.grid.advance(&mut self.next, Time(time));
        self.busy = self.next.index();
    }

    /// Returns whether all cells of an input's run are certain to be admitted to consecutive slots. If so, the new peak
    /// of X that they cause, if any, has been recorded.
    #[inline(always)]
    fn enters(&mut self, input: usize, run: &CellRun) -> bool {
        self.catch_up(run.time);
        let cells = u64::from(run.cells);
        let slack = self.next.start().0 - run.time;
        if slack < (cells - 1) * self.inputs[input].lag {
            return false;
        }
        self.max_held() + cells <= self.counters.peak_queue || self.enters_above(input, run, cells)
    }

    /// Like `enters`, but computes exact slots where bounds do not suffice.
    #[inline(never)]
    fn enters_above(&mut self, input: usize, run: &CellRun, cells: u64) -> bool {
        self.advance(run.time);
        let held = self.max_held();
        if held + cells > self.capacity {
            return false;
        }
        let peak = &mut self.counters.peak_queue;
        if cells == 1 {
            *peak = (*peak).max(held + 1);
            return true;
        }
        if held + cells <= *peak {
            return true;
        }
        if self.inputs[input].lag > 0 {
            return false;
        }
        // At most one slot ends between two cells, so X does not fall from one cell to the next.
        let next = self.next.index() + cells;
        let last = self.inputs[input].arrival(run.slot + cells - 1);
        self.advance(last.0);
        let held = next - self.busy.max(self.ended);
        let peak = &mut self.counters.peak_queue;
        *peak = held.max(*peak);
        true
    }

    /// Admits cells, in consecutive slots.
    #[inline(always)]
    fn admit(&mut self, input: usize, run: CellRun, sink: &mut Sink) {
        let cells = u64::from(run.cells);
        let slot = self.next.index();
        let (first, last);
        if cells == 1 {
            self.next.step();
            (first, last) = (self.next.start(), self.next.start());
            self.arrival_time += u128::from(run.time);
        } else {
            (_, first, last) = self.grid.take(&mut self.next, Time(run.time), cells);
            self.inputs[input].count(run.slot, cells);
        }
        self.admitted += cells;
        if let Some(holding) = &mut self.holding {
            holding.enter(run.local, slot, cells, self.ended);
        }
        let vc = &mut self.vcs[run.local as usize];
        let (begins, ended) = vc.enter(&run);
        match vc.next_hop {
            NextHop::Port(stream, local) => sink.push(
                stream,
                CellRun {
                    time: (first + self.delay).0,
                    slot,
                    local,
                    ..run
                },
            ),
            NextHop::Host => {
                if let Some(cells) = ended {
                    sink.done.put(CompletedFrame {
                        link: self.link,
                        vc: vc.vc,
                        frame: run.frame,
                        cells,
                        at: last + self.delay,
                    });
                }
            }
        }
        if slot + cells > self.horizon {
            self.list_late(slot, cells, run.local, begins);
        }
    }

    /// Lists the cells that have not left the path by the end of the run.
    #[cold]
    fn list_late(&mut self, slot: u64, cells: u64, local: u32, begins: bool) {
        let past = self.horizon.saturating_sub(slot);
        self.late.put(Late {
            slot: slot + past,
            cells: cells - past,
            local,
            begins: begins && past == 0,
        });
    }

    /// Processes cells one by one.
    #[inline(never)]
    fn take_singly(&mut self, input: usize, run: CellRun, sink: &mut Sink) {
        let mut times = self.inputs[input].times_from(run.slot);
        let delay = self.inputs[input].delay();
        for cell in 0..run.cells {
            let one = CellRun {
                time: (times.start() + delay).0,
                slot: run.slot + u64::from(cell),
                cells: 1,
                left: run.left + (run.cells - 1 - cell),
                ..run
            };
            self.take_one(input, one, sink);
            times.step();
        }
    }

    /// Processes one cell of a frame that has started.
    fn take_one(&mut self, input: usize, run: CellRun, sink: &mut Sink) {
        let (vc, last) = (&mut self.vcs[run.local as usize], run.left == 0);
        let frame = vc.frame;
        if last {
            vc.frame = FrameState::Between;
        }
        match frame {
            FrameState::Refused => {
                self.counters.lost_aqm += 1;
                self.lose_merged(&run, DropCause::Aqm, sink);
            }
            FrameState::Lost => {
                self.counters.lost_injected += 1;
                self.lose_merged(&run, DropCause::InjectedLoss, sink);
            }
            FrameState::Discarded if !(last && self.after_loss == AfterLoss::Discard { keep_last: true }) => {
                self.counters.lost_discarded += 1;
                self.lose_merged(&run, DropCause::Overflow, sink);
            }
            FrameState::Between | FrameState::Admitted | FrameState::Damaged | FrameState::Discarded => {
                self.catch_up(run.time);
                self.advance(run.time);
                let held = self.max_held();
                if held >= self.capacity {
                    return self.overflow(frame, &run, sink);
                }
                self.counters.peak_queue = self.counters.peak_queue.max(held + 1);
                self.admit(input, run, sink);
            }
        }
    }

    /// Reports that a frame has lost a cell.
    #[cold]
    fn lose(&mut self, run: &CellRun, cause: DropCause, sink: &mut Sink) {
        let vc = &mut self.vcs[run.local as usize];
        vc.lost = run.frame;
        sink.lost.put(LostCell {
            link: self.link,
            vc: vc.vc,
            frame: run.frame,
            time: Time(run.time),
            cause,
        });
    }

    /// Reports that a frame has lost a cell because the frame before it has: that frame arrived without its last cell,
    /// so that the port takes the cells of both frames for one frame.
    fn lose_merged(&mut self, run: &CellRun, cause: DropCause, sink: &mut Sink) {
        if self.vcs[run.local as usize].lost != run.frame {
            self.lose(run, cause, sink);
        }
    }

    /// Processes a cell that found the buffer full.
    fn overflow(&mut self, frame: FrameState, run: &CellRun, sink: &mut Sink) {
        self.lose(run, DropCause::Overflow, sink);
        self.counters.lost_overflow += 1;
        self.counters.frames_damaged += u64::from(frame == FrameState::Admitted);
        if run.left > 0 {
            self.vcs[run.local as usize].frame = match self.after_loss {
                AfterLoss::Admit => FrameState::Damaged,
                AfterLoss::Discard { .. } => FrameState::Discarded,
            };
        }
    }
}
