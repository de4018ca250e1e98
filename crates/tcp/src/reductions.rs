//! Why a sender's window was reduced, and for how long each cause held it down.
//!
//! The network notes every data segment that it loses. A reduction takes the cause of the first of them that is not yet
//! acknowledged, because that is the loss which the sender detects first: hundreds of segments that one overflow loses cause
//! one reduction, and each isolated random loss causes one.

use crate::flight::Flight;
use longpipe_events::memory::Growing;
use longpipe_events::{Span, Time};

/// What the network did to a segment, as the network numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCause(pub u8);

impl LossCause {
    /// No data segment is known to be lost: ACKs were, or the reduction is spurious.
    pub const NONE: LossCause = LossCause(0);
    /// Nothing was lost: an ECN mark.
    pub const MARK: LossCause = LossCause(CAUSES as u8 - 1);
}

/// Number of causes: none, the network's eight and the mark.
pub const CAUSES: usize = 10;

/// What one cause brought about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Reductions of the window.
    pub count: u64,
    /// Time from each of them to the next reduction by any cause, to the undo or to the end.
    pub lasted: Span,
    /// Bytes by which the window fell, in all.
    pub bytes: f64,
    /// The window over those times, taken to grow linearly from each reduction to the next [byte·s].
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
struct Latest {
    cause: LossCause,
    since: Time,
    /// Window after it [byte].
    window: f64,
}

/// The reductions of one sender, by cause.
#[derive(Clone, Debug, Default)]
pub struct Reductions {
    /// Losses that no reduction has answered, in the order in which they were noted.
    noted: Vec<Noted>,
    /// Length of `noted` from which on it is searched for what was acknowledged since.
    most: usize,
    latest: Option<Latest>,
    /// Cause of the latest loss that was answered, and the first byte that had not been sent then.
    episode: Option<(LossCause, u64)>,
    totals: [Total; CAUSES],
}

/// Losses that are noted before acknowledged ones are looked for.
const FEW: usize = 64;

impl Reductions {
    /// Totals by number of the cause.
    pub fn totals(&self) -> &[Total; CAUSES] {
        &self.totals
    }

    /// The network lost the segment that begins at `sequence`, at an instant that may lie ahead.
    pub fn note_loss(&mut self, sequence: u64, time: Time, cause: LossCause, una: u64) {
        if self.noted.len() >= self.most.max(FEW) {
            self.noted.retain(|one| one.sequence >= una);
            self.most = 2 * self.noted.len();
        }
        self.noted.put(Noted { sequence, time, cause });
    }

    /// The window is reduced from `before` [byte], for an ECN mark or for a loss, whose cause is returned.
    pub fn on_reduction(&mut self, marked: bool, now: Time, flight: &Flight, before: f64) -> LossCause {
        let cause = if marked {
            LossCause::MARK
        } else {
            self.take_cause(now, flight)
        };
        self.end_latest(now, Some(before));
        // A recovery may bring the window down to the threshold only later.
        let window = flight.cwnd().min(flight.ssthresh()).min(before);
        self.latest = Some(Latest {
            cause,
            since: now,
            window,
        });
        let total = &mut self.totals[usize::from(cause.0)];
        total.count += 1;
        total.bytes += before - window;
        cause
    }

    /// The latest reduction is undone.
    pub fn on_undo(&mut self, now: Time) {
        self.end_latest(now, None);
    }

    /// These as of `now`, at which the window is `window` [byte].
    pub fn until(&self, now: Time, window: f64) -> Reductions {
        let mut ended = self.clone();
        let since = ended.latest.map_or(now, |latest| latest.since);
        ended.end_latest(now.max(since), Some(window));
        ended
    }

    /// Cause of the first loss that is not acknowledged. Of a segment that was lost several times, the latest counts. Without
    /// such a loss, a reduction before all data of an earlier loss are acknowledged has the cause of that one: going back
    /// after a timeout repeats segments that arrived, and their duplicate ACKs may look like another loss (RFC 2582 section 5).
    fn take_cause(&mut self, now: Time, flight: &Flight) -> LossCause {
        let lost = self
            .noted
            .iter()
            .filter(|one| one.sequence >= flight.una && one.time <= now);
        let first = lost.min_by_key(|one| (one.sequence, std::cmp::Reverse(one.time)));
        let cause = first.map(|one| one.cause);
        self.noted.retain(|one| one.sequence >= flight.una);
        if let Some(cause) = cause {
            self.episode = Some((cause, flight.max));
            return cause;
        }
        let earlier = self.episode.filter(|&(_, end)| flight.una <= end);
        earlier.map_or(LossCause::NONE, |(cause, _)| cause)
    }

    /// The effect of the latest reduction ends, with a window of `last`; none: as it began.
    fn end_latest(&mut self, now: Time, last: Option<f64>) {
        if let Some(Latest { cause, since, window }) = self.latest.take() {
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

    /// A sender whose window was just reduced to 5000 bytes.
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
        // From 5000 to 7000 bytes in each second, and to 6000 in the last six.
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
        // All that had been sent then is acknowledged, and no more.
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
        assert!(reductions.noted.len() <= FEW + 1);
    }
}
