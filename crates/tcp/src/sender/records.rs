//! A sender whose recovery goes by the records of transmissions: it sends what is lost, then what is new, while less than the
//! window is under way.

use super::timers::Timer;
use super::{Sender, NOTHING};
use crate::congestion::reins::Reins;
use crate::ledger::Ledger;
use crate::recovery::rack::Rack;
use crate::recovery::Recovery;
use crate::segment::{AckSegment, DataSegment};
use crate::told::Told;
use longpipe_events::{MaybeTime, Time};

/// The parts of a sender that a recovery by records moves.
struct Parts<'a> {
    rack: &'a mut Rack,
    ledger: &'a mut Ledger,
    reins: Reins<'a>,
}

impl Sender {
    /// Whether this is such a sender.
    #[inline(always)]
    pub(super) fn goes_by_records(&self) -> bool {
        matches!(self.recovery, Recovery::Rack(_))
    }

    fn parts(&mut self, now: Time) -> Option<Parts<'_>> {
        let Told { ledger, pacing, .. } = self.told.as_deref_mut()?;
        Some(Parts {
            rack: self.recovery.by_records()?,
            ledger: ledger.as_mut()?,
            reins: Reins::new(&mut self.flight, &mut self.congestion, Some(pacing), now),
        })
    }

    /// An acknowledgement arrived that is not older than SND.UNA.
    pub(super) fn on_recorded_ack(&mut self, now: Time, ack: &AckSegment) {
        let advanced = ack.acknowledgement > self.flight.una;
        if !advanced && self.flight.outstanding() == 0 {
            return;
        }
        let before = self.before(ack);
        let flight = &mut self.flight;
        flight.una = ack.acknowledgement;
        if advanced {
            flight.duplicates = 0;
        } else {
            flight.duplicates += 1;
            self.counters.duplicate_acks += 1;
        }
        let Some(parts) = self.parts(now) else {
            return;
        };
        let Parts {
            rack,
            ledger,
            mut reins,
        } = parts;
        let mut news = ledger.on_ack(now, ack.acknowledgement, ack.sack_blocks());
        // What was sent before the first segment under way, and takes longer than that has, is no sign that it is lost (Linux).
        let slow = !advanced && ledger.oldest().is_some_and(|oldest| news.slow_rtt > Some(now - oldest));
        let (lost, in_all) = (ledger.lost(), ledger.lost_in_all());
        let turn = rack.on_ack(now, &news, ack.echo.get(), advanced, ledger, &mut reins);
        news.lost = ledger.lost().saturating_sub(lost);
        if let Some(rate) = &mut news.rate {
            rate.lost += ledger.lost_in_all() - in_all;
        }
        self.tell_losses(now);
        self.counters.fast_retransmits += u64::from(turn.begins);
        let sent = news
            .slow_rtt
            .map(|rtt| Time(now.0 - rtt.0))
            .or(ack.echo.get().filter(|_| advanced));
        if let Some(sent) = sent {
            self.measure(sent, now);
        }
        self.tell_news(now, &news, before, turn);
        // A recovery begins with a run of the timer of its own (Linux).
        self.set_timers_after_ack(now, advanced || slow || turn.begins);
    }

    fn set_timers_after_ack(&mut self, now: Time, restarts: bool) {
        let (outstanding, mss) = (self.flight.outstanding(), self.flight.mss);
        let runs = restarts && outstanding > 0;
        let expiry = if runs { self.expiry(now) } else { MaybeTime::NONE };
        let srtt = self.rtt.srtt();
        let Some(Parts { rack, ledger, .. }) = self.parts(now) else {
            return;
        };
        if outstanding == 0 {
            rack.rest();
        } else if restarts {
            rack.rto = expiry;
            rack.arm_probe(now, srtt, ledger, outstanding, mss);
        }
        let next = rack.next_timeout();
        self.timers.set(Timer::Retransmission, next);
    }

    /// The first of its timers expired.
    pub(super) fn on_recorded_timeout(&mut self, now: Time) {
        let max = self.flight.max;
        let Some(told) = &self.told else {
            return;
        };
        let least_rtt = told.ledger.as_ref().and_then(Ledger::least_rtt);
        let Some(Parts {
            rack,
            ledger,
            mut reins,
        }) = self.parts(now)
        else {
            return;
        };
        // What is due with the timer goes first: a probe is sent instead of a timeout (RFC 8985 section 7.2).
        if rack.probe_is_due(now) && !rack.reorder_is_due(now) {
            rack.on_probe_timeout(max);
        } else if rack.rto <= now.into() {
            rack.on_retransmission_timeout(ledger, &mut reins);
            self.counters.timeouts += 1;
            self.flight.duplicates = 0;
            self.rtt.back_off();
            self.rto = self.rtt.steady_rto();
            self.set_rto(now);
        } else if rack.reorder_is_due(now) {
            let turn = rack.on_reorder_timeout(now, ledger, least_rtt, &mut reins);
            self.counters.fast_retransmits += u64::from(turn.begins);
        }
        self.tell_losses(now);
        self.show_next_timeout();
    }

    /// Tells a control that wants to hear of each loss.
    fn tell_losses(&mut self, now: Time) {
        let Some(ledger) = self.told.as_deref_mut().and_then(|told| told.ledger.as_mut()) else {
            return;
        };
        for lost in ledger.take_each_loss() {
            self.congestion.on_lost(&lost, now, &self.flight);
        }
    }

    fn set_rto(&mut self, now: Time) {
        let expiry = self.expiry(now);
        if let Some(rack) = self.recovery.by_records() {
            rack.rto = expiry;
        }
    }

    fn show_next_timeout(&mut self) {
        let next = self
            .recovery
            .by_records()
            .map_or(MaybeTime::NONE, |rack| rack.next_timeout());
        self.timers.set(Timer::Retransmission, next);
    }

    /// The next segment to send.
    pub(super) fn poll_recorded(&mut self, now: Time) -> Option<DataSegment> {
        if self.rare.is_some() {
            self.look_whether_idle(now);
        }
        self.timed = NOTHING;
        let (max, cwnd) = (self.flight.max, self.flight.cwnd());
        let Parts { rack, ledger, .. } = self.parts(now)?;
        let probes = rack.take_probe();
        let under_way = ledger.in_flight(max);
        let lost = ledger.next_lost();
        let fits = |length: u32| (under_way + u64::from(length)) as i64 as f64 <= cwnd;
        let segment = match lost {
            Some((sequence, length)) => {
                if !fits(length) || self.has_to_wait(now, length) {
                    return None;
                }
                self.emit(now, sequence, length)
            }
            None => {
                let length = self.room(self.flight.rwnd);
                let whole = length > 0 && (length == self.flight.mss || self.may_send_short(length));
                if whole && (probes || fits(length)) {
                    if !probes && self.has_to_wait(now, length) {
                        return None;
                    }
                    let sequence = self.flight.nxt;
                    self.flight.nxt += u64::from(length);
                    self.emit(now, sequence, length)
                } else if probes {
                    let Parts { rack, ledger, .. } = self.parts(now)?;
                    let (sequence, length) = ledger.last()?;
                    rack.probe_is_copy();
                    self.emit(now, sequence, length)
                } else {
                    self.look_whether_app_limited(under_way as f64);
                    return None;
                }
            }
        };
        self.follow(now, &segment);
        self.set_timers_after_sending(now, &segment, probes);
        Some(segment)
    }

    /// Whether a segment that may leave has to wait for its time.
    fn has_to_wait(&mut self, now: Time, length: u32) -> bool {
        self.told.as_mut().is_some_and(|told| told.holds(now, length))
    }

    /// Nothing leaves though the window has room: the application has no more.
    fn look_whether_app_limited(&mut self, under_way: f64) {
        let flight = &self.flight;
        let mss = u64::from(flight.mss);
        if self.written - flight.nxt < mss && under_way < flight.cwnd() {
            if let Some(ledger) = self.told.as_mut().and_then(|told| told.ledger.as_mut()) {
                ledger.limit_by_app(flight.max);
            }
        }
    }

    fn set_timers_after_sending(&mut self, now: Time, segment: &DataSegment, probes: bool) {
        let (outstanding, mss) = (self.flight.outstanding(), self.flight.mss);
        let rests = self
            .recovery
            .by_records()
            .is_some_and(|rack| rack.rto == MaybeTime::NONE);
        let expiry = if rests || probes {
            self.expiry(now)
        } else {
            MaybeTime::NONE
        };
        let srtt = self.rtt.srtt();
        let Some(Parts { rack, ledger, .. }) = self.parts(now) else {
            return;
        };
        rack.on_sent(now, u64::from(segment.length), segment.retransmission);
        // A probe starts the timer anew (RFC 8985 section 7.3).
        if rests || probes {
            rack.rto = expiry;
        }
        if !segment.retransmission && !probes {
            rack.arm_probe(now, srtt, ledger, outstanding, mss);
        }
        let next = rack.next_timeout();
        self.timers.set(Timer::Retransmission, next);
    }
}
