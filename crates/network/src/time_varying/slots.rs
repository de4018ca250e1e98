//! Slots of a time-varying cell link: they are consecutive, whether used or not, and each ends when the link has
//! transmitted the bits of a cell.
//!
//! The position of the link within a slot therefore does not depend on cells, and an outage affects an unused slot in
//! progress in the same way as a used one.

use super::finish;
use super::outages::Outages;
use super::steps::{work, Exact, RateSteps};
use crate::packets::aal5::CELL_BYTES;
use crate::scenario::time_varying::InService;
use longpipe_events::Time;

/// Slots computed from the integral of the rate.
#[derive(Clone, Debug)]
pub(super) struct TimeVaryingSlots {
    pub steps: RateSteps,
    /// Start of the first unassigned slot.
    pub next: Exact,
}

impl TimeVaryingSlots {
    /// Creates slots, the first of which starts at `phase`.
    pub fn new(steps: RateSteps, phase: Time) -> TimeVaryingSlots {
        let next = Exact {
            whole: phase.0,
            part: 0,
        };
        TimeVaryingSlots { steps, next }
    }

    /// Skips the slots that start before `arrival`. Returns the start [ps] of the next slot.
    pub fn ready(&mut self, outages: Option<&mut Outages>, arrival: u64) -> u64 {
        self.pass(outages, arrival);
        self.next.whole
    }

    /// Takes the next slot. Returns its start [ps] and its end [ps].
    pub fn transmit(&mut self, outages: Option<&mut Outages>) -> (u64, u64) {
        let begins = self.next;
        self.next = finish(&mut self.steps, outages, begins, work(CELL_BYTES));
        (begins.whole, self.next.whole)
    }

    /// Skips the slots that start before `until`. If a slot would start within an outage, also skips the outage.
    fn pass(&mut self, mut outages: Option<&mut Outages>, until: u64) {
        loop {
            let out = outages.as_deref_mut().and_then(|outages| outages.end(self.next.whole));
            if let Some(end) = out {
                self.next = Exact { whole: end, part: 0 };
            }
            if self.next.whole >= until {
                return;
            }
            let begin = outages
                .as_deref_mut()
                .and_then(|outages| outages.next_begin(self.next.whole));
            if !self.leap(until.min(begin.unwrap_or(u64::MAX))) {
                self.step(outages.as_deref_mut(), begin);
            }
        }
    }

    /// Skips, in one step, all slots that end before `limit` at the current rate. Returns whether any slots were
    /// skipped.
    fn leap(&mut self, limit: u64) -> bool {
        let (rate, until) = self.steps.rate(self.next.whole);
        let lasts = u128::from(until.min(limit) - self.next.whole);
        let slots = (u128::from(rate) * lasts).saturating_sub(u128::from(self.next.part)) / work(CELL_BYTES);
        if slots == 0 {
            return self.leap_cycles(limit);
        }
        let sent = slots * work(CELL_BYTES) + u128::from(self.next.part);
        self.next = Exact {
            whole: self.next.whole + (sent / u128::from(rate)) as u64,
            part: (sent % u128::from(rate)) as u64,
        };
        true
    }

    /// Skips, in one step, whole cycles of the rate before `limit`. Returns whether any cycles were skipped.
    fn leap_cycles(&mut self, limit: u64) -> bool {
        let Exact { whole, part } = self.next;
        if !self.steps.is_cycles_away(whole, limit) {
            return false;
        }
        let lasts = (self.steps.sent_by(limit) - self.steps.sent_by(whole)).saturating_sub(u128::from(part));
        let slots = lasts / work(CELL_BYTES);
        match self.steps.finish(self.next, slots * work(CELL_BYTES), limit) {
            Ok(end) if slots > 0 => {
                self.next = end;
                true
            }
            _ => false,
        }
    }

    /// Skips one slot, which an outage at `begin` may cut short.
    fn step(&mut self, mut outages: Option<&mut Outages>, begin: Option<u64>) {
        let cuts = outages
            .as_deref_mut()
            .is_some_and(|outages| outages.config.in_service == InService::Drop);
        let end = finish(&mut self.steps, outages, self.next, work(CELL_BYTES));
        self.next = match begin.filter(|&begin| cuts && begin < end.whole) {
            Some(begin) => Exact { whole: begin, part: 0 },
            None => end,
        };
    }
}
