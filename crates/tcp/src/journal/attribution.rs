//! Causes of a sender's window reductions, and the time during which each cause kept the window reduced.
//!
//! The network reports every data segment that it loses. A reduction is attributed to the first loss that is not yet
//! acknowledged, because the sender detects that loss first: hundreds of segments lost in one buffer overflow cause a
//! single reduction, and each isolated random loss causes one, too.
//!
//! The fast engine may process a sender's timer before the network reports losses that precede it. The cause of a
//! reduction is therefore updated with each loss that is reported late, so that it depends only on the times of losses
//! and reductions.

use super::losses::{Loss, LossCause, ReportedLosses, CAUSES};
use crate::congestion::flight::Flight;
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
use std::collections::VecDeque;
use std::ops::AddAssign;

/// Number of reductions whose cause may still change, however old they are.
const RECENT: usize = 64;
/// Age below which the cause of further reductions may still change, because data that were sent after a lost segment
/// may overtake it on another route.
const SETTLED: Span = Span(1_000_000_000_000);
/// Maximum number of reductions whose cause may still change. Only a sender whose RTO is far shorter than its round-trip
/// time, such as one whose timer has ticks of 1 ps, has more of them.
const MAX_RECENT: usize = 1 << 18;

/// Effects of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Number of window reductions.
    pub count: u64,
    /// Total time from each reduction until the next reduction by any cause, until the reduction is undone, or until
    /// the end of the run.
    pub lasted: Span,
    /// Total bytes by which the window was reduced.
    pub bytes: f64,
    /// Integral of the window over these times [byte·s], assuming that the window grows linearly from each reduction to
    /// the next.
    pub window: f64,
}

/// Effects of all causes, indexed by the cause's number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals(pub [Total; CAUSES]);

impl Totals {
    /// Adds the effects of a reduction.
    fn add(&mut self, cause: LossCause, reduction: &Reduction) {
        let total = &mut self.0[usize::from(cause.0)];
        total.count += 1;
        total.lasted = total.lasted + reduction.lasted;
        total.bytes += reduction.bytes;
        total.window += reduction.integral;
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        for (total, own) in self.0.iter_mut().zip(other.0) {
            total.count += own.count;
            total.lasted = total.lasted + own.lasted;
            total.bytes += own.bytes;
            total.window += own.window;
        }
    }
}

/// A reduction of the window.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// Time of the reduction.
    since: Time,
    /// SND.UNA and SND.MAX at that time.
    una: u64,
    max: u64,
    /// Event that the reduction responds to.
    trigger: Trigger,
    /// Window after the reduction [byte].
    window: f64,
    /// Bytes by which the window was reduced.
    bytes: f64,
    /// Time from the reduction to its end, and the integral of the window over this time [byte·s]; 0 until the end.
    lasted: Span,
    integral: f64,
}

/// Event that a reduction responds to.
#[derive(Clone, Copy, Debug)]
enum Trigger {
    /// An ECN mark.
    Mark,
    /// The first loss before the reduction of data that were not acknowledged at the reduction; if the segment was lost
    /// several times, its latest loss. None if no such loss has been reported.
    Loss(Option<Loss>),
}

impl Reduction {
    /// Returns whether every loss before the reduction has been reported, if the route has not changed. `una` is
    /// SND.UNA. An acknowledgement of data that were first sent after the reduction proves that the ports have forwarded
    /// these data, and hence that they have processed all segments sent before. Until then, the report may be late by
    /// the whole round-trip time, because the fast engine processes timers ahead of time up to an acknowledgement whose
    /// arrival is certain. Waiting in a queue, an acknowledgement may take longer than many RTOs.
    fn knows_losses(&self, una: u64) -> bool {
        una > self.max
    }

    /// Returns the episode that starts with this reduction, if a loss led to it.
    fn episode(&self) -> Option<Episode> {
        match self.trigger {
            Trigger::Loss(Some(Loss { cause, .. })) => Some(Episode { cause, end: self.max }),
            Trigger::Mark | Trigger::Loss(None) => None,
        }
    }

    /// Returns the cause of the reduction, given the latest episode before it. If no loss is known and the data of that
    /// episode are not all acknowledged, the cause is that of the episode: go-back-N after a timeout retransmits
    /// segments that have arrived, and their duplicate ACKs may look like another loss (RFC 2582 section 5).
    fn cause(&self, earlier: Option<Episode>) -> LossCause {
        match self.trigger {
            Trigger::Mark => LossCause::MARK,
            Trigger::Loss(Some(Loss { cause, .. })) => cause,
            Trigger::Loss(None) => {
                let earlier = earlier.filter(|earlier| self.una <= earlier.end);
                earlier.map_or(LossCause::NONE, |earlier| earlier.cause)
            }
        }
    }

    /// Updates the trigger with a loss that is reported after the reduction.
    fn on_late_loss(&mut self, late: Loss) {
        let Trigger::Loss(first) = &mut self.trigger else {
            return;
        };
        if late.sequence >= self.una && first.is_none_or(|first| late.precedes(&first)) {
            *first = Some(late);
        }
    }

    /// Ends the effect of the reduction; the window is now `last` [byte].
    fn end(&mut self, now: Time, last: f64) {
        self.lasted = now.max(self.since) - self.since;
        self.integral = (self.window + last) / 2.0 * self.lasted.as_seconds();
    }
}

/// A loss that led to a reduction.
#[derive(Clone, Copy, Debug)]
struct Episode {
    cause: LossCause,
    /// SND.MAX at the time of the reduction.
    end: u64,
}

/// The reductions of one sender.
#[derive(Clone, Debug, Default)]
pub struct Reductions {
    /// Losses of segments that are not acknowledged. Losses of a segment before the one that caused a reduction are
    /// removed, so that the processing time per reduction is proportional only to the number of later losses.
    noted: ReportedLosses,
    /// The latest reductions, in order.
    recent: VecDeque<Reduction>,
    /// Whether the latest reduction is still in effect, because it was not undone.
    in_effect: bool,
    /// Latest loss that led to one of the reductions before the recent ones.
    episode: Option<Episode>,
    /// Effects of the reductions before the recent ones.
    totals: Totals,
}

impl Reductions {
    /// Records a loss; its time may be in the future or before the latest reductions. `una` is SND.UNA.
    pub fn note_loss(&mut self, loss: Loss, una: u64) {
        let later = self
            .recent
            .iter_mut()
            .rev()
            .take_while(|reduction| reduction.since >= loss.time);
        later.for_each(|reduction| reduction.on_late_loss(loss));
        self.noted.forget_before(una);
        if loss.sequence >= una {
            self.noted.insert(loss);
        }
    }

    /// Records a reduction of the window from `before` [byte], caused by an ECN mark or a loss.
    pub fn on_reduction(&mut self, marked: bool, now: Time, flight: &Flight, before: f64) {
        self.end_latest(now, Some(before));
        let trigger = match marked {
            true => Trigger::Mark,
            false => Trigger::Loss(self.first_loss(now, flight.una)),
        };
        // Some loss recovery algorithms reduce cwnd to ssthresh only later.
        let window = flight.cwnd().min(flight.ssthresh()).min(before);
        while self.is_first_settled(now, flight.una) {
            self.settle_first();
        }
        let reduction = Reduction {
            since: now,
            una: flight.una,
            max: flight.max,
            trigger,
            window,
            bytes: before - window,
            lasted: Span(0),
            integral: 0.0,
        };
        self.recent.put(reduction);
        self.in_effect = true;
    }

    /// Returns the cause of the latest reduction according to the losses reported so far.
    pub fn latest_cause(&self) -> LossCause {
        let mut latest = self.recent.iter().rev();
        let Some(reduction) = latest.next() else {
            return LossCause::NONE;
        };
        reduction.cause(latest.find_map(Reduction::episode).or(self.episode))
    }

    /// Records that the latest reduction was undone.
    pub fn on_undo(&mut self, now: Time) {
        self.end_latest(now, None);
        self.in_effect = false;
    }

    /// Returns the effects of the reductions as of `now`, when the window is `window` [byte].
    pub fn until(&self, now: Time, window: f64) -> Totals {
        let (mut totals, mut episode) = (self.totals, self.episode);
        for (number, reduction) in self.recent.iter().enumerate() {
            let mut reduction = *reduction;
            if self.in_effect && number + 1 == self.recent.len() {
                reduction.end(now, window);
            }
            totals.add(reduction.cause(episode), &reduction);
            episode = reduction.episode().or(episode);
        }
        totals
    }

    /// Returns the loss before `now` to which a reduction responds, among the losses of segments that are not
    /// acknowledged, and removes the earlier losses of that segment.
    fn first_loss(&mut self, now: Time, una: u64) -> Option<Loss> {
        self.noted.forget_before(una);
        if let Some(loss) = self.noted.only_of_first_segment(|loss| loss.time <= now) {
            return Some(loss);
        }
        let candidates = self
            .noted
            .first_segment(|loss| loss.time <= now)?
            .filter(|loss| loss.time <= now);
        let loss = *candidates.reduce(|first, second| if second.precedes(first) { second } else { first })?;
        self.noted.forget_earlier(&loss);
        Some(loss)
    }

    /// Ends the effect of the latest reduction, with a window of `last` [byte]; None means that the window has not
    /// changed since the reduction.
    fn end_latest(&mut self, now: Time, last: Option<f64>) {
        let latest = self.recent.back_mut().filter(|_| self.in_effect);
        if let Some(latest) = latest {
            latest.end(now, last.unwrap_or(latest.window));
        }
    }

    /// Returns whether the cause of the earliest of the recent reductions no longer changes. `una` is SND.UNA.
    fn is_first_settled(&self, now: Time, una: u64) -> bool {
        let is_settled = |first: &Reduction| now.max(first.since) - first.since >= SETTLED && first.knows_losses(una);
        let count = self.recent.len();
        count == MAX_RECENT || (count >= RECENT && self.recent.front().is_some_and(is_settled))
    }

    /// Adds the earliest of the recent reductions to the totals.
    fn settle_first(&mut self) {
        if let Some(reduction) = self.recent.pop_front() {
            self.totals.add(reduction.cause(self.episode), &reduction);
            self.episode = reduction.episode().or(self.episode);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::flight::Limits;
    use longpipe_events::Stream;

    const OVERFLOW: LossCause = LossCause(2);
    const RANDOM: LossCause = LossCause(4);

    /// Returns the flight of a sender whose window was just reduced to 5000 bytes.
    fn flight(una: u64) -> Flight {
        let mut flight = Flight::new(Limits::new(5000.0, 5000.0), 1 << 20, 1000);
        (flight.una, flight.nxt, flight.max) = (una, una + 100_000, una + 100_000);
        flight
    }

    /// Returns the loss of a complete segment.
    fn lost(sequence: u64, time: Time, cause: LossCause) -> Loss {
        let transmission = time.0;
        Loss {
            sequence,
            transmission,
            time,
            cause,
        }
    }

    /// Reduces a window that was `before` bytes. Returns the cause of the reduction.
    fn cause_of(reductions: &mut Reductions, now: Time, flight: &Flight, before: f64) -> LossCause {
        reductions.on_reduction(false, now, flight, before);
        reductions.latest_cause()
    }

    fn second(second: u64) -> Time {
        Time(second * 1_000_000_000_000)
    }

    #[test]
    fn a_burst_of_losses_and_each_single_loss_cause_one_reduction() {
        let mut reductions = Reductions::default();
        for segment in 0..452 {
            reductions.note_loss(lost(1000 * segment, second(1), OVERFLOW), 0);
        }
        assert_eq!(cause_of(&mut reductions, second(2), &flight(0), 10_000.0), OVERFLOW);
        for loss in 0..22 {
            let sequence = 1_000_000 + 10_000 * loss;
            reductions.note_loss(lost(sequence, second(3 + loss), RANDOM), sequence);
            let cause = cause_of(&mut reductions, second(3 + loss), &flight(sequence), 7000.0);
            assert_eq!(cause, RANDOM);
        }
        let Totals(totals) = reductions.until(second(30), 6000.0);
        assert_eq!(
            (totals[2].count, totals[2].lasted, totals[2].bytes),
            (1, Span::seconds(1), 5000.0)
        );
        assert_eq!(
            (totals[4].count, totals[4].lasted, totals[4].bytes),
            (22, Span::seconds(27), 44_000.0)
        );
        // The window grows from 5000 to 7000 bytes in each second, and from 5000 to 6000 bytes in the last six seconds.
        assert_eq!(
            (totals[2].window, totals[4].window),
            (6000.0, 21.0 * 6000.0 + 6.0 * 5500.0)
        );
    }

    #[test]
    fn undone_reductions_and_acknowledged_losses_do_not_count() {
        let mut reductions = Reductions::default();
        reductions.note_loss(lost(1000, second(10), RANDOM), 0);
        reductions.note_loss(lost(9000, second(100), OVERFLOW), 0);
        let cause = cause_of(&mut reductions, second(50), &flight(2000), 5000.0);
        assert_eq!(cause, LossCause::NONE);
        reductions.on_undo(second(60));
        let cause = cause_of(&mut reductions, second(100), &flight(2000), 5000.0);
        assert_eq!(cause, OVERFLOW);
        let Totals(totals) = reductions.until(second(130), 5000.0);
        let lasted = [totals[0].lasted, totals[2].lasted, totals[4].lasted];
        assert_eq!(lasted, [10, 30, 0].map(Span::seconds));
    }

    /// Draws a sender's losses and reductions in the order of their times; a loss is `Some(sequence)`.
    fn drawn(draws: &mut Stream) -> Vec<(Time, Option<u64>, LossCause)> {
        let event = |number: u64| {
            let sequence = 1000 * (number / 4 + draws.below(20));
            let cause = LossCause(LossCause::FIRST.0 + draws.below(9) as u8);
            (Time(number / 2), Some(sequence).filter(|_| draws.below(3) > 0), cause)
        };
        (0..200).map(event).collect()
    }

    /// Applies events in the given order, and returns the totals.
    fn totals(events: &[(Time, Option<u64>, LossCause)], delays: &mut dyn FnMut() -> u64) -> Totals {
        let mut order: Vec<_> = events
            .iter()
            .map(|event| (event.0 .0 + event.1.map_or(0, |_| delays()), event))
            .collect();
        order.sort_by_key(|&(reported, _)| reported);
        let mut reductions = Reductions::default();
        for (reported, &(time, sequence, cause)) in order {
            let una = 1000 * (reported / 3);
            match sequence {
                Some(sequence) => reductions.note_loss(lost(sequence, time, cause), una),
                None => {
                    reductions.on_reduction(cause.0 == 10, time, &flight(una), 9000.0);
                }
            }
        }
        reductions.until(Time(1000), 6000.0)
    }

    /// The fast engine reports losses late and in a different order. The reference processes events in the order of
    /// their times, so that every loss is known before the reductions that follow it.
    #[test]
    fn causes_do_not_depend_on_when_losses_are_reported() {
        let mut draws = Stream::new(7, "reductions", 0);
        for _ in 0..300 {
            let events = drawn(&mut draws);
            let late = totals(&events, &mut || draws.below(12));
            assert_eq!(late, totals(&events, &mut || 0));
        }
    }

    /// Two reductions precede the report of this loss, and the loss is the cause of the second one only because it is
    /// the cause of the first.
    #[test]
    fn late_loss_also_causes_a_later_reduction_in_its_episode() {
        let mut reductions = Reductions::default();
        for (time, una) in [(50, 2000), (60, 102_000), (70, 102_001)] {
            let cause = cause_of(&mut reductions, second(time), &flight(una), 9000.0);
            assert_eq!(cause, LossCause::NONE);
        }
        reductions.note_loss(lost(2000, second(40), RANDOM), 102_001);
        let Totals(totals) = reductions.until(second(75), 5000.0);
        let counts = totals.map(|total| total.count);
        assert_eq!((counts[0], counts[4]), (1, 2));
        assert_eq!((totals[4].bytes, totals[4].lasted), (8000.0, Span::seconds(20)));
    }

    /// A queue holds the acknowledgement for longer than many RTOs.
    #[test]
    fn late_loss_report_counts_until_later_data_are_acknowledged() {
        for (una_at_report, count) in [(101_000, 151), (101_001, 63)] {
            let mut reductions = Reductions::default();
            for timeout in 0..150 {
                reductions.on_reduction(false, second(timeout), &flight(1000), 5000.0);
            }
            reductions.on_reduction(false, second(200), &flight(una_at_report), 5000.0);
            reductions.note_loss(lost(1000, second(0), RANDOM), una_at_report);
            let Totals(totals) = reductions.until(second(300), 5000.0);
            assert_eq!(totals[4].count, count);
        }
    }

    #[test]
    fn the_latest_loss_of_a_segment_counts() {
        let mut reductions = Reductions::default();
        reductions.note_loss(lost(1000, second(10), OVERFLOW), 0);
        reductions.note_loss(lost(1000, second(20), RANDOM), 0);
        let cause = cause_of(&mut reductions, second(50), &flight(1000), 5000.0);
        assert_eq!(cause, RANDOM);
    }

    /// A frame of cells loses one part at a port and another part at an earlier port; the latter loss is reported
    /// later.
    #[test]
    fn first_part_of_a_partly_lost_transmission_counts() {
        let mut reductions = Reductions::default();
        let part = |transmission, at, cause| Loss {
            transmission,
            ..lost(1000, second(at), cause)
        };
        reductions.note_loss(part(1, 10, OVERFLOW), 0);
        reductions.note_loss(part(2, 21, OVERFLOW), 0);
        let cause = cause_of(&mut reductions, second(50), &flight(1000), 5000.0);
        assert_eq!(cause, OVERFLOW);
        reductions.note_loss(part(2, 20, RANDOM), 1000);
        reductions.note_loss(part(1, 9, LossCause(5)), 1000);
        reductions.note_loss(part(2, 22, LossCause(5)), 1000);
        let Totals(totals) = reductions.until(second(60), 5000.0);
        assert_eq!((totals[2].count, totals[4].count, totals[5].count), (0, 1, 0));
    }

    #[test]
    fn duplicates_caused_by_go_back_n_have_the_cause_of_the_earlier_loss() {
        let mut reductions = Reductions::default();
        reductions.note_loss(lost(1000, second(1), OVERFLOW), 0);
        assert_eq!(cause_of(&mut reductions, second(2), &flight(1000), 5000.0), OVERFLOW);
        // Exactly the data sent by then are acknowledged.
        assert_eq!(cause_of(&mut reductions, second(3), &flight(101_000), 5000.0), OVERFLOW);
        assert_eq!(
            cause_of(&mut reductions, second(4), &flight(101_001), 5000.0),
            LossCause::NONE
        );
    }

    #[test]
    fn losses_acknowledged_without_a_reduction_are_dropped() {
        let mut reductions = Reductions::default();
        for segment in 0..10_000 {
            reductions.note_loss(lost(1000 * segment, Time(segment), RANDOM), 1000 * segment);
        }
        assert_eq!(reductions.noted.len(), 1);
    }

    /// The processing time for a segment whose retransmissions are all lost is not quadratic in the number of
    /// retransmissions.
    #[test]
    fn losses_before_the_one_that_caused_a_reduction_are_dropped() {
        let mut reductions = Reductions::default();
        for timeout in 1..1000 {
            reductions.note_loss(lost(1000, second(2 * timeout), RANDOM), 1000);
            reductions.note_loss(lost(3000, second(2 * timeout), OVERFLOW), 1000);
            let cause = cause_of(&mut reductions, second(2 * timeout + 1), &flight(1000), 5000.0);
            assert_eq!(cause, RANDOM);
            assert_eq!(reductions.noted.len() as u64, 1 + timeout);
        }
    }
}
