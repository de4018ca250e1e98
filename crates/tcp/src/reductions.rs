//! Causes of a sender's window reductions, and the time during which each cause kept the window reduced.
//!
//! The network reports every data segment that it loses. A reduction is attributed to the first loss that is not yet
//! acknowledged, because the sender detects that one first: hundreds of segments lost by one overflow cause one reduction,
//! and each isolated random loss causes one.

use crate::flight::Flight;
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};
use std::collections::VecDeque;

/// Cause of a segment's loss, as numbered by the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCause(pub u8);

impl LossCause {
    /// No data segment is known to be lost: either ACKs were lost, or the reduction is spurious.
    pub const NONE: LossCause = LossCause(0);
    /// An ECN mark, not a loss.
    pub const MARK: LossCause = LossCause(CAUSES as u8 - 1);
}

/// Number of causes: no known loss, nine causes of loss in the network, and an ECN mark.
pub const CAUSES: usize = 11;

/// Effects of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Number of window reductions.
    pub count: u64,
    /// Total time from each reduction to the next reduction by any cause, to its undo, or to the end of the run.
    pub lasted: Span,
    /// Total bytes by which the window was reduced.
    pub bytes: f64,
    /// Integral of the window over these times [byte·s], assuming linear growth from each reduction to the next.
    pub window: f64,
}

/// A data segment that the network lost.
#[derive(Clone, Copy, Debug)]
struct Noted {
    sequence: u64,
    time: Time,
    cause: LossCause,
}

/// The latest reduction, unless it was undone.
#[derive(Clone, Copy, Debug)]
struct LatestReduction {
    cause: LossCause,
    since: Time,
    /// Window after the reduction [byte].
    window: f64,
}

/// The reductions of one sender, by cause.
#[derive(Clone, Debug, Default)]
pub struct Reductions {
    /// Losses of segments that are not acknowledged, by increasing sequence number and time. Losses of a segment before
    /// the one that caused a reduction are removed, so that the time per reduction is proportional to the number of
    /// later losses only.
    noted: VecDeque<Noted>,
    latest: Option<LatestReduction>,
    /// Cause of the latest loss that led to a reduction, and SND.MAX at that time.
    episode: Option<(LossCause, u64)>,
    totals: [Total; CAUSES],
}

impl Reductions {
    /// Returns the totals, indexed by the number of the cause.
    pub fn totals(&self) -> &[Total; CAUSES] {
        &self.totals
    }

    /// Adds the totals of another connection.
    pub fn add(&mut self, other: &Reductions) {
        for (total, own) in self.totals.iter_mut().zip(&other.totals) {
            total.count += own.count;
            total.lasted = total.lasted + own.lasted;
            total.bytes += own.bytes;
            total.window += own.window;
        }
    }

    /// Records that the network lost the segment that starts at `sequence`, at a time that may lie in the future.
    pub fn note_loss(&mut self, sequence: u64, time: Time, cause: LossCause, una: u64) {
        self.forget_before(una);
        let place = self
            .noted
            .partition_point(|one| (one.sequence, one.time) <= (sequence, time));
        self.noted.make_room();
        self.noted.insert(place, Noted { sequence, time, cause });
    }

    /// Removes the losses of segments that start before `una`.
    fn forget_before(&mut self, una: u64) {
        while self.noted.front().is_some_and(|one| one.sequence < una) {
            self.noted.pop_front();
        }
    }

    /// Records a reduction of the window from `before` [byte], for an ECN mark or a loss. Returns its cause.
    pub fn on_reduction(&mut self, marked: bool, now: Time, flight: &Flight, before: f64) -> LossCause {
        let cause = if marked {
            LossCause::MARK
        } else {
            self.take_cause(now, flight)
        };
        self.end_latest(now, Some(before));
        // Loss recovery may reduce cwnd to ssthresh only later.
        let window = flight.cwnd().min(flight.ssthresh()).min(before);
        self.latest = Some(LatestReduction {
            cause,
            since: now,
            window,
        });
        let total = &mut self.totals[usize::from(cause.0)];
        total.count += 1;
        total.bytes += before - window;
        cause
    }

    /// Records that the latest reduction was undone.
    pub fn on_undo(&mut self, now: Time) {
        self.end_latest(now, None);
    }

    /// Returns the reductions as of `now`, when the window is `window` [byte].
    pub fn until(&self, now: Time, window: f64) -> Reductions {
        let mut ended = self.clone();
        let since = ended.latest.map_or(now, |latest| latest.since);
        ended.end_latest(now.max(since), Some(window));
        ended
    }

    /// Returns the cause of the first unacknowledged loss; for a segment that was lost several times, of its latest
    /// loss. If there is none, a reduction before all data of an earlier loss are acknowledged has the cause of that
    /// loss: go-back-N after a timeout retransmits segments that arrived, and their duplicate ACKs may look like
    /// another loss (RFC 2582 section 5).
    fn take_cause(&mut self, now: Time, flight: &Flight) -> LossCause {
        self.forget_before(flight.una);
        if let Some(first) = self.noted.iter().position(|one| one.time <= now) {
            let sequence = self.noted[first].sequence;
            let of_segment = self
                .noted
                .range(first..)
                .take_while(|one| one.sequence == sequence && one.time <= now);
            let latest = first + of_segment.count() - 1;
            let cause = self.noted[latest].cause;
            self.noted.drain(first..latest);
            self.episode = Some((cause, flight.max));
            return cause;
        }
        let earlier = self.episode.filter(|&(_, end)| flight.una <= end);
        earlier.map_or(LossCause::NONE, |(cause, _)| cause)
    }

    /// Ends the effect of the latest reduction, with a window of `last`; None if the window is as after the reduction.
    fn end_latest(&mut self, now: Time, last: Option<f64>) {
        if let Some(LatestReduction { cause, since, window }) = self.latest.take() {
            let total = &mut self.totals[usize::from(cause.0)];
            let lasted = now - since;
            total.lasted = Span(total.lasted.0 + lasted.0);
            total.window += (window + last.unwrap_or(window)) / 2.0 * lasted.as_seconds();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::limits::Limits;

    const OVERFLOW: LossCause = LossCause(1);
    const RANDOM: LossCause = LossCause(3);

    /// Returns the flight of a sender whose window was just reduced to 5000 bytes.
    fn flight(una: u64) -> Flight {
        let mut flight = Flight::new(Limits::new(5000.0, 5000.0), 1 << 20, 1000);
        (flight.una, flight.nxt, flight.max) = (una, una + 100_000, una + 100_000);
        flight
    }

    fn second(second: u64) -> Time {
        Time(second * 1_000_000_000_000)
    }

    #[test]
    fn a_burst_of_losses_causes_one_reduction_and_each_single_loss_one() {
        let mut reductions = Reductions::default();
        for segment in 0..452 {
            reductions.note_loss(1000 * segment, second(1), OVERFLOW, 0);
        }
        assert_eq!(
            reductions.on_reduction(false, second(2), &flight(0), 10_000.0),
            OVERFLOW
        );
        for loss in 0..22 {
            let sequence = 1_000_000 + 10_000 * loss;
            reductions.note_loss(sequence, second(3 + loss), RANDOM, sequence);
            let cause = reductions.on_reduction(false, second(3 + loss), &flight(sequence), 7000.0);
            assert_eq!(cause, RANDOM);
        }
        let totals = *reductions.until(second(30), 6000.0).totals();
        assert_eq!(
            (totals[1].count, totals[1].lasted, totals[1].bytes),
            (1, Span::seconds(1), 5000.0)
        );
        assert_eq!(
            (totals[3].count, totals[3].lasted, totals[3].bytes),
            (22, Span::seconds(27), 44_000.0)
        );
        // The window grows from 5000 to 7000 bytes within each second, and to 6000 bytes in the last six seconds.
        assert_eq!(
            (totals[1].window, totals[3].window),
            (6000.0, 21.0 * 6000.0 + 6.0 * 5500.0)
        );
    }

    #[test]
    fn a_loss_to_come_an_acknowledged_one_and_an_undo_do_not_count() {
        let mut reductions = Reductions::default();
        reductions.note_loss(1000, second(10), RANDOM, 0);
        reductions.note_loss(9000, second(100), OVERFLOW, 0);
        let cause = reductions.on_reduction(false, second(50), &flight(2000), 5000.0);
        assert_eq!(cause, LossCause::NONE);
        reductions.on_undo(second(60));
        let cause = reductions.on_reduction(false, second(100), &flight(2000), 5000.0);
        assert_eq!(cause, OVERFLOW);
        let totals = *reductions.until(second(130), 5000.0).totals();
        let lasted = [totals[0].lasted, totals[1].lasted, totals[3].lasted];
        assert_eq!(lasted, [10, 30, 0].map(Span::seconds));
    }

    #[test]
    fn of_a_segment_that_was_lost_twice_the_latest_loss_counts() {
        let mut reductions = Reductions::default();
        reductions.note_loss(1000, second(10), OVERFLOW, 0);
        reductions.note_loss(1000, second(20), RANDOM, 0);
        let cause = reductions.on_reduction(false, second(50), &flight(1000), 5000.0);
        assert_eq!(cause, RANDOM);
    }

    #[test]
    fn duplicates_of_what_an_earlier_loss_let_repeat_have_its_cause() {
        let mut reductions = Reductions::default();
        reductions.note_loss(1000, second(1), OVERFLOW, 0);
        assert_eq!(
            reductions.on_reduction(false, second(2), &flight(1000), 5000.0),
            OVERFLOW
        );
        // Exactly the data sent by then are acknowledged.
        assert_eq!(
            reductions.on_reduction(false, second(3), &flight(101_000), 5000.0),
            OVERFLOW
        );
        assert_eq!(
            reductions.on_reduction(false, second(4), &flight(101_001), 5000.0),
            LossCause::NONE
        );
    }

    #[test]
    fn what_is_acknowledged_without_a_reduction_is_forgotten() {
        let mut reductions = Reductions::default();
        for segment in 0..10_000 {
            reductions.note_loss(1000 * segment, Time(segment), RANDOM, 1000 * segment);
        }
        assert_eq!(reductions.noted.len(), 1);
    }

    /// The time for a segment whose every retransmission is lost does not grow with the square of the number of
    /// retransmissions.
    #[test]
    fn losses_of_a_segment_before_the_one_that_caused_a_reduction_are_forgotten() {
        let mut reductions = Reductions::default();
        for timeout in 1..1000 {
            reductions.note_loss(1000, second(2 * timeout), RANDOM, 1000);
            reductions.note_loss(3000, second(2 * timeout), OVERFLOW, 1000);
            let cause = reductions.on_reduction(false, second(2 * timeout + 1), &flight(1000), 5000.0);
            assert_eq!(cause, RANDOM);
            assert_eq!(reductions.noted.len() as u64, 1 + timeout);
        }
    }
}
