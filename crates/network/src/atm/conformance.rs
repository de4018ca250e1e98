//! Conformance of the frames of VCs with a guaranteed rate, tested where they enter their first switch.

use crate::packets::aal5::Cell;
use crate::packets::{Circuit, Flow};
use crate::report::GuaranteedReport;
use crate::scenario::{Scenario, ServiceCategory};
use crate::schedulers::frame_gcra::FrameGcra;
use longpipe_events::Time;

/// VCs with a guaranteed rate, by circuit; empty if there are none.
#[derive(Clone, Debug, Default)]
pub(super) struct Conformance(Vec<Option<Box<GuaranteedVc>>>);

#[derive(Clone, Debug)]
struct GuaranteedVc {
    gcra: FrameGcra,
    tagging: bool,
    counters: GuaranteedReport,
}

impl Conformance {
    pub fn new(scenario: &Scenario) -> Conformance {
        let flows = &scenario.flows;
        if flows.iter().all(|flow| flow.service.is_ubr()) {
            return Conformance::default();
        }
        let mut vcs = vec![None; Circuit::of_flows(flows.len())];
        for (index, flow) in flows.iter().enumerate() {
            if let ServiceCategory::Gfr { mcr, mbs, tagging } = flow.service {
                vcs[Circuit::of_data(Flow::new(index)).index()] = Some(Box::new(GuaranteedVc {
                    gcra: FrameGcra::new(mcr, mbs, scenario.links[flow.route[0]].rate_bps),
                    tagging,
                    counters: GuaranteedReport {
                        flow: index,
                        ..GuaranteedReport::default()
                    },
                }));
            }
        }
        Conformance(vcs)
    }

    /// Tests a cell that arrives at its first switch at `now`, and tags it if its frame is not eligible.
    #[inline(always)]
    pub fn on_cell(&mut self, now: Time, cell: &mut Cell) {
        if let Some(Some(vc)) = self.0.get_mut(cell.vc.index()) {
            vc.on_cell(now, cell);
        }
    }

    /// Counts a frame that reached its host.
    #[inline(always)]
    pub fn deliver(&mut self, vc: Circuit, cells: u16) {
        if let Some(Some(vc)) = self.0.get_mut(vc.index()) {
            vc.counters.cells_delivered += u64::from(cells);
        }
    }

    /// Returns the counters of all VCs with a guarantee.
    pub fn reports(&self) -> Vec<GuaranteedReport> {
        self.0.iter().flatten().map(|vc| vc.counters).collect()
    }
}

impl GuaranteedVc {
    #[inline(never)]
    fn on_cell(&mut self, now: Time, cell: &mut Cell) {
        let eligible = self.gcra.on_cell(now, cell.left == 0);
        let ineligible = u64::from(!eligible);
        self.counters.cells_in += 1;
        self.counters.cells_ineligible += ineligible;
        if cell.left == 0 {
            self.counters.frames_in += 1;
            self.counters.frames_ineligible += ineligible;
        }
        cell.tagged = self.tagging && !eligible;
    }
}
