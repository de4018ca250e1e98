//! An ACK in order, and what it lets out, of a sender whose recovery goes by records and has nothing to repair: what
//! `on_recorded_ack` and `poll_recorded` come to then, without asking for what can't be.

use super::timers::Timer;
use super::{expiry, Sender};
use crate::congestion::control::{Ack, Phase, Sent};
use crate::ledger::Ledger;
use crate::recovery::Recovery;
use crate::told::Told;
use longpipe_events::{MaybeTime, Time};

impl Sender {
    /// Takes an ACK without SACK blocks or marks if it acknowledges the first segment under way, and nothing is lost, out of
    /// order or probed; after that `poll_in_order` says what to send.
    pub(super) fn on_ack_in_order(&mut self, now: Time, acknowledgement: u64, echo: Option<Time>) -> bool {
        let (Recovery::Rack(rack), Some(told), None) = (&mut self.recovery, self.told.as_deref_mut(), &self.rare)
        else {
            return false;
        };
        let Some(ledger) = told.ledger.as_mut() else {
            return false;
        };
        if !(rack.rests() && ledger.is_in_order(acknowledgement)) {
            return false;
        }
        let flight = &mut self.flight;
        let (una, in_flight_before, cwnd) = (flight.una, flight.outstanding(), flight.cwnd());
        flight.una = acknowledgement;
        flight.duplicates = 0;
        let news = ledger.on_ack_in_order(now, acknowledgement);
        rack.take_latest(news.latest);
        if let Some(sent) = news.slow_rtt.map(|rtt| Time(now.0 - rtt.0)).or(echo) {
            self.rtt.measure(sent, now);
            self.rto = self.rtt.steady_rto();
            self.measured = Some(now - sent);
        }
        let (in_flight, srtt) = (flight.outstanding(), self.rtt.srtt());
        let ack = Ack {
            now,
            acked: acknowledgement - una,
            grows: true,
            open: true,
            phase: Phase::Open,
            delivered: news.delivered,
            lost: 0,
            marked: 0,
            in_flight_before,
            in_flight,
            cwnd,
            window_limited: (in_flight_before + u64::from(flight.mss)) as i64 as f64 > cwnd,
            rtt: news.rtt,
            srtt,
            least_rtt: news.least_rtt,
            rate: news.rate,
        };
        let pacing = self.congestion.on_ack(&ack, flight);
        if in_flight == 0 {
            rack.rest();
        } else {
            rack.rto = expiry(self.rto, &mut self.rtt, now);
            rack.arm_probe(now, srtt, ledger, in_flight, flight.mss);
        }
        self.timers.set(Timer::Retransmission, rack.next_timeout());
        told.pace(pacing);
        told.pace_by_window(flight, srtt, news.least_rtt);
        true
    }

    /// The same of an ACK without options, where no segment has timestamps.
    pub fn take_in_order(&mut self, now: Time, acknowledgement: u64) -> bool {
        !self.timestamps && self.on_ack_in_order(now, acknowledgement, None)
    }

    /// Sends a segment of MSS bytes never sent before, if nothing is lost, out of order or probed, and the window and the time
    /// allow it: its first byte.
    pub fn poll_in_order(&mut self, now: Time) -> Option<u64> {
        let (Recovery::Rack(rack), Some(told), None) = (&mut self.recovery, self.told.as_deref_mut(), &self.rare)
        else {
            return None;
        };
        let ledger = told.ledger.as_mut()?;
        if !(rack.rests() && ledger.is_calm()) {
            return None;
        }
        let flight = &mut self.flight;
        let (sequence, mss) = (flight.nxt, u64::from(flight.mss));
        let end = sequence + mss;
        let under_way = end - flight.una;
        let fits = (under_way <= flight.rwnd) & (under_way as i64 as f64 <= flight.cwnd()) & (end <= self.written);
        if !(fits && sequence == flight.max) {
            return None;
        }
        if told.pacer.as_mut().is_some_and(|pacer| pacer.holds(now, mss)) {
            return None;
        }
        (flight.nxt, flight.max) = (end, end);
        ledger.on_sent(now, sequence, end, end);
        if told.hears_sending {
            let sent = Sent {
                now,
                sequence,
                end,
                again: false,
                in_flight: under_way,
                app_limited: ledger.is_app_limited(),
            };
            let pacing = self.congestion.on_sent(&sent, flight);
            if pacing.is_some() {
                told.pacing = pacing;
            }
        }
        if let Some(pacer) = &mut told.pacer {
            pacer.on_sent(now, mss, told.pacing);
        }
        if rack.rto == MaybeTime::NONE {
            rack.rto = expiry(self.rto, &mut self.rtt, now);
        }
        rack.arm_probe(now, self.rtt.srtt(), ledger, under_way, flight.mss);
        self.timers.set(Timer::Retransmission, rack.next_timeout());
        Some(sequence)
    }

    /// Whether it was found already that a segment waits for its time, and nothing else may leave before.
    #[inline]
    pub(super) fn waits(&self, now: Time) -> bool {
        let waits = |told: &Told| told.pacer.as_ref().is_some_and(|pacer| pacer.waits(now));
        self.told.as_deref().is_some_and(waits)
            && self.written - self.flight.nxt >= u64::from(self.flight.mss)
            && matches!(&self.recovery, Recovery::Rack(rack) if !rack.probes())
            && self.rare.is_none()
    }

    /// Whether nothing more leaves where `poll_in_order` gives none: nothing is to be repaired, no short segment may go, and the
    /// application has more than the window allows.
    pub fn is_spent_in_order(&self) -> bool {
        let calm = || {
            let (Recovery::Rack(rack), Some(told)) = (&self.recovery, &self.told) else {
                return false;
            };
            rack.rests() && told.ledger.as_ref().is_some_and(Ledger::is_calm)
        };
        self.short_at_end_only && self.written - self.flight.nxt >= u64::from(self.flight.mss) && calm()
    }
}
