//! An on/off source of VBR cells: at its peak rate while on, silent while off (gr-97 section 3).

use crate::atm::aal5::CELL_BITS;
use crate::atm::slots::{SlotCursor, SlotGrid};
use crate::scenario::OnOffConfig;
use longpipe_events::{Rate, Span, Time};

/// The cells of a source, in order: when each is ready, and when it arrives over the source's own link.
#[derive(Clone, Debug)]
pub struct OnOff {
    peak: Rate,
    on: Span,
    cycle: Span,
    link: SlotGrid,
    delay: Span,
    burst: Time,
    /// When the next cell is ready.
    ready: SlotCursor,
    /// The slot after the one that takes it.
    slot: SlotCursor,
    number: u64,
}

impl OnOff {
    /// A source whose cells leave in the slots of `link` and arrive `delay` after the end of their slot.
    pub fn new(config: &OnOffConfig, link: SlotGrid, delay: Span) -> OnOff {
        let (peak, burst) = (Rate(config.peak_bps), Time(config.start_ps));
        let mut source = OnOff {
            peak,
            on: Span(config.on_ps),
            cycle: Span(config.on_ps + config.off_ps),
            link,
            delay,
            burst,
            ready: SlotGrid::new(burst, CELL_BITS, peak).cursor(0),
            slot: link.cursor(0),
            number: 0,
        };
        source.take_slot();
        source
    }

    /// Number of the next cell, counted from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When the next cell is ready.
    pub fn ready(&self) -> Time {
        self.ready.start()
    }

    /// When the next cell has left the source.
    pub fn sent(&self) -> Time {
        self.slot.start()
    }

    /// When the next cell arrives downstream.
    #[inline]
    pub fn arrival(&self) -> Time {
        self.slot.start() + self.delay
    }

    /// The most cells that can be ready by `end`.
    pub fn most_by(&self, end: Time) -> u64 {
        let burst = SlotGrid::new(Time::ZERO, CELL_BITS, self.peak).at_or_after(Time(self.on.0));
        let bursts = (end.0.saturating_sub(self.burst.0) / self.cycle.0) + 1;
        burst.max(1) * bursts
    }

    /// Goes on to the following cell.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.number += 1;
        self.ready.step();
        if self.ready.start() >= self.burst + self.on {
            self.begin_burst();
        }
        self.take_slot();
    }

    #[inline(never)]
    fn begin_burst(&mut self) {
        self.burst += self.cycle;
        self.ready = SlotGrid::new(self.burst, CELL_BITS, self.peak).cursor(0);
    }

    /// The first slot that begins when the cell is ready or later, after those already taken.
    #[inline(always)]
    fn take_slot(&mut self) {
        self.link.advance(&mut self.slot, self.ready.start());
        self.slot.step();
    }
}

/// The far end of a source's circuit: what arrived, and how late.
#[derive(Clone, Debug)]
pub struct Meter {
    expected: OnOff,
    /// Cells that arrived.
    pub delivered: u64,
    /// Cells that a later one overtook: lost on the way.
    pub lost: u64,
    /// Sum of the delays from ready to arrived [ps].
    pub total_delay: u128,
    /// Smallest delay [ps]; the largest integer before any arrival.
    pub least_delay: u64,
    /// Largest delay [ps].
    pub most_delay: u64,
}

impl Meter {
    /// For the cells of this source.
    pub fn new(source: OnOff) -> Meter {
        Meter {
            expected: source,
            delivered: 0,
            lost: 0,
            total_delay: 0,
            least_delay: u64::MAX,
            most_delay: 0,
        }
    }

    /// The source's cell `number` (its low 32 bits) arrives.
    #[inline(always)]
    pub fn on_cell(&mut self, at: Time, number: u32) {
        while self.expected.number() as u32 != number {
            self.lost += 1;
            self.expected.advance();
        }
        let delay = (at - self.expected.ready()).0;
        self.delivered += 1;
        self.total_delay += u128::from(delay);
        self.least_delay = self.least_delay.min(delay);
        self.most_delay = self.most_delay.max(delay);
        self.expected.advance();
    }

    /// Cells of the source whose `instant` has come by `now`.
    pub fn count(&self, now: Time, instant: fn(&OnOff) -> Time) -> u64 {
        let mut source = self.expected.clone();
        while instant(&source) <= now {
            source.advance();
        }
        source.number()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 155_520_000;
    const MS: u64 = 1_000_000_000;

    fn source(on_ms: u64, off_ms: u64, peak_bps: u64) -> OnOff {
        let config = OnOffConfig {
            name: "vbr".to_owned(),
            route: vec![],
            peak_bps,
            on_ps: on_ms * MS,
            off_ps: off_ms * MS,
            start_ps: 0,
        };
        OnOff::new(&config, SlotGrid::new(Time::ZERO, CELL_BITS, Rate(RATE)), Span(0))
    }

    /// Cells sent in a run, and the longest gap between two [ps].
    fn sent(mut source: OnOff, until: Time) -> (u64, u64) {
        let (mut last, mut gap) = (source.sent(), 0);
        while source.sent() <= until {
            gap = gap.max((source.sent() - last).0);
            last = source.sent();
            source.advance();
        }
        (source.number(), gap)
    }

    #[test]
    fn it_fills_every_slot_while_on_and_none_while_off() {
        let (cells, gap) = sent(source(300, 300, RATE), Time(600 * MS));
        // 300 ms of cells of 2.7263 us.
        assert_eq!(cells, 110_038);
        assert!(gap <= 2_726_338, "{gap}");
        let (_, gap) = sent(source(300, 300, RATE), Time(601 * MS));
        assert!((299 * MS..301 * MS).contains(&gap), "{gap}");
    }

    #[test]
    fn its_mean_rate_is_peak_times_duty() {
        for (on, off, peak) in [(300, 300, RATE), (50, 50, RATE), (10, 30, RATE / 3), (1, 0, RATE)] {
            let (cells, _) = sent(source(on, off, peak), Time(6_000 * MS));
            let expected = peak as f64 / 424.0 * 6.0 * on as f64 / (on + off) as f64;
            assert!(
                (cells as f64 / expected - 1.0).abs() < 3e-3,
                "{on} {off} {peak}: {cells}"
            );
        }
    }
}
