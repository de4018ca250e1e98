//! Fast path for in-order ACKs and the segments that they release, for a sender with RACK that has nothing to repair.
//! The result equals that of `records::on_ack` and `records::poll`, without checks that cannot apply.

use super::acks::BeforeAck;
use super::retransmission_timer::RttEstimator;
use super::timers::Timer;
use super::{expiry, Sender};
use crate::congestion::control::Sent;
use crate::congestion::flight::Flight;
use crate::congestion::{with_usual, Controller};
use crate::recovery::rack::{Rack, RecoveryStep};
use crate::recovery::Recovery;
use crate::retransmission_queue::RetransmissionQueue;
use crate::segment::{DataSegment, Ecn, Opening};
use crate::sender::cc_state::CcState;
use longpipe_events::{MaybeTime, Span, Time};
use std::num::NonZeroU64;

/// The parts of a sender that an in-order ACK changes, except the controller.
struct Parts<'a> {
    flight: &'a mut Flight,
    rack: &'a mut Rack,
    cc_state: &'a mut CcState,
    rtt: &'a mut RttEstimator,
    rto: &'a mut Option<NonZeroU64>,
    measured: &'a mut Option<Span>,
}

impl Parts<'_> {
    /// Processes an ACK for which `RetransmissionQueue::is_in_order` holds.
    #[inline(always)]
    fn take(self, congestion: &mut impl Controller, now: Time, acknowledgement: u64, echo: Option<Time>) {
        let Parts {
            flight,
            rack,
            cc_state,
            rtt,
            rto,
            measured,
        } = self;
        let Some(rtx_queue) = cc_state.rtx_queue.as_mut() else {
            return;
        };
        let before = BeforeAck {
            una: flight.una,
            in_flight: flight.outstanding(),
            cwnd: flight.cwnd(),
            marked: 0,
            sent: None,
            delay: None,
        };
        flight.una = acknowledgement;
        flight.duplicates = 0;
        let summary = rtx_queue.on_ack_in_order(now, acknowledgement);
        let sample = before.sample(now, flight, &summary, (false, cc_state.pacer.is_some()));
        let merges = congestion.merges();
        if !merges {
            let pacing = congestion.take_sample(&sample, flight);
            cc_state.set_pacing(pacing);
        }
        rack.take_latest(summary.latest);
        if let Some(sent) = summary.seq_rtt.map(|rtt| Time(now.0 - rtt.0)).or(echo) {
            rtt.measure(sent, now);
            *rto = rtt.constant_rto();
            *measured = Some(now - sent);
        }
        let (in_flight, srtt) = (flight.outstanding(), rtt.exact_srtt());
        let step = RecoveryStep {
            grows: true,
            open: true,
            ..RecoveryStep::default()
        };
        let ack = before.report(now, (&*flight, in_flight), (&summary, step), srtt, cc_state);
        let pacing = match merges {
            true => congestion.take_in_order(&sample, &ack, flight),
            false => congestion.take_ack(&ack, flight),
        };
        rack.rto_deadline = if in_flight == 0 {
            MaybeTime::NONE
        } else {
            expiry(*rto, rtt, now)
        };
        cc_state.set_pacing(pacing);
        cc_state.update_window_pacing(flight, srtt, summary.least_rtt);
    }
}

impl Sender {
    /// Processes an ACK that has no ECN flags and no options other than the timestamp echo, if it acknowledges the first
    /// segment in flight and nothing is lost, reordered or probed. The caller then calls `poll_after_ack` until it
    /// returns None, and finally `end_in_order`.
    pub fn take_in_order(&mut self, now: Time, acknowledgement: u64, echo: Option<Time>) -> bool {
        !self.reads_counters && self.take_without_marks(now, acknowledgement, echo)
    }

    /// Like `take_in_order`, but for any ACK that reports no mark; a sender with Accurate ECN has read its counters.
    pub(super) fn take_without_marks(&mut self, now: Time, acknowledgement: u64, echo: Option<Time>) -> bool {
        let (Recovery::Rack(rack), Some(cc_state), true) =
            (&mut self.recovery, self.cc_state.as_deref_mut(), self.may_take_in_order)
        else {
            return false;
        };
        let Some(rtx_queue) = cc_state.rtx_queue.as_mut() else {
            return false;
        };
        if !(rack.is_at_rest() && rtx_queue.is_in_order(acknowledgement) && acknowledgement < self.refill_at) {
            return false;
        }
        let parts = Parts {
            flight: &mut self.flight,
            rack,
            cc_state,
            rtt: &mut self.rtt,
            rto: &mut self.rto,
            measured: &mut self.measured,
        };
        with_usual!(&mut self.congestion, controller => parts.take(controller, now, acknowledgement, echo));
        true
    }

    /// Returns the full segment at byte `sequence`, without PSH, that was sent for the first time at `now`.
    #[inline]
    pub fn full_segment(&self, now: Time, sequence: u64) -> DataSegment {
        DataSegment {
            sequence,
            length: self.flight.mss,
            retransmission: false,
            timestamp: self.stamp(now),
            ecn: Ecn {
                capable: self.is_capable(false),
                ..Ecn::default()
            },
            opening: Opening::Over,
            push: false,
        }
    }

    /// Returns the end of the full segments without PSH, never sent before, that the window allows, if the sender needs to
    /// know only that the first of them is sent: it is not paced, and its controller does not follow transmissions. The
    /// caller then calls `poll_burst` instead of `poll_after_ack`, with the same effect.
    #[inline(always)]
    pub fn begin_burst(&mut self, now: Time) -> Option<u64> {
        let flight = &self.flight;
        let (Recovery::Rack(rack), Some(cc_state)) = (&mut self.recovery, self.cc_state.as_deref()) else {
            return None;
        };
        let follows = cc_state.reports_transmissions | cc_state.pacer.is_some();
        let idle = self.optional.is_some() & (flight.nxt == flight.una);
        if follows | idle | (flight.nxt != flight.max) {
            return None;
        }
        let end = (flight.una + flight.window()).min(self.plain_end);
        if flight.nxt + u64::from(flight.mss) <= end {
            if let Some(optional) = &mut self.optional {
                optional.on_sent_if_restart_only(now);
            }
            if let Some(echoes) = &mut self.echoes {
                echoes.on_sent(now, flight.nxt, flight);
            }
            if rack.rto_deadline == MaybeTime::NONE {
                rack.rto_deadline = expiry(self.rto, &mut self.rtt, now);
            }
        }
        Some(end)
    }

    /// Returns the first byte of the next full segment before `end`, which `begin_burst` has returned.
    #[inline(always)]
    pub fn poll_burst(&mut self, now: Time, end: u64) -> Option<u64> {
        let flight = &mut self.flight;
        let sequence = flight.nxt;
        let next = sequence + u64::from(flight.mss);
        if next > end {
            return None;
        }
        self.cc_state
            .as_deref_mut()?
            .rtx_queue
            .as_mut()?
            .on_sent_next(now, next);
        (flight.nxt, flight.max) = (next, next);
        Some(sequence)
    }

    /// Ends the wait for the pacer if it is over, no other timer has expired, and nothing is lost, reordered or probed.
    /// The caller then calls `poll_after_ack` until it returns None. If that has returned a segment, the caller calls
    /// `end_in_order`; otherwise, nothing more can be sent if `has_full_segment` holds. If this function returns false,
    /// nothing has changed, and the caller must call `on_timeout`.
    pub fn resume_in_order(&mut self, now: Time) -> bool {
        let resumes = self.is_paced && !self.is_plain && self.timers.next() > now.into() && self.is_in_order();
        let cc_state = self.cc_state.as_deref_mut();
        match cc_state.and_then(|cc_state| cc_state.pacer.as_mut()) {
            Some(pacer) if resumes && pacer.resume() <= now.into() => {
                pacer.on_timeout(now);
                true
            }
            _ => false,
        }
    }

    /// Sends a full segment without PSH that was never sent before, if the window and the pacer allow it. Returns its first
    /// byte; `full_segment` returns the segment. May be called only after `is_in_order`, `take_in_order` or
    /// `resume_in_order` has returned true; the timers are set by `end_in_order`.
    #[inline]
    pub fn poll_after_ack(&mut self, now: Time) -> Option<u64> {
        let flight = &mut self.flight;
        let (sequence, mss) = (flight.nxt, u64::from(flight.mss));
        let end = sequence + mss;
        let in_flight = end - flight.una;
        let fits = (in_flight <= flight.rwnd()) & (in_flight as i64 as f64 <= flight.cwnd()) & (end <= self.plain_end);
        if !(fits && sequence == flight.max) {
            return None;
        }
        let (Recovery::Rack(rack), Some(cc_state)) = (&mut self.recovery, self.cc_state.as_deref_mut()) else {
            return None;
        };
        let rtx_queue = cc_state.rtx_queue.as_mut()?;
        if self.optional.is_some() && sequence == flight.una {
            return None;
        }
        if cc_state.pacer.as_mut().is_some_and(|pacer| pacer.must_wait(now, mss)) {
            return None;
        }
        if let Some(optional) = &mut self.optional {
            optional.on_sent_if_restart_only(now);
        }
        (flight.nxt, flight.max) = (end, end);
        if let Some(echoes) = &mut self.echoes {
            echoes.on_sent(now, sequence, flight);
        }
        rtx_queue.on_sent_next(now, end);
        if cc_state.reports_transmissions {
            let sent = Sent {
                now,
                sequence,
                end,
                retransmission: false,
                in_flight,
                app_limited: rtx_queue.is_app_limited(),
            };
            let pacing = self.congestion.on_sent(&sent, flight);
            if pacing.is_some() {
                cc_state.pacing = pacing;
            }
        }
        if let Some(pacer) = &mut cc_state.pacer {
            pacer.on_sent(now, mss, cc_state.pacing);
        }
        if rack.rto_deadline == MaybeTime::NONE {
            rack.rto_deadline = expiry(self.rto, &mut self.rtt, now);
        }
        Some(sequence)
    }

    /// Ends the processing of an ACK by `take_in_order` and sets the timers. Returns whether nothing more can be sent:
    /// the window or the pacer does not allow the next segment, which is full and carries no PSH.
    #[inline]
    pub fn end_in_order(&mut self, now: Time) -> bool {
        self.set_timers_in_order(now);
        self.has_full_segment() && !self.may_be_idle()
    }

    pub(super) fn set_timers_in_order(&mut self, now: Time) {
        let (Recovery::Rack(rack), Some(cc_state)) = (&mut self.recovery, self.cc_state.as_deref_mut()) else {
            return;
        };
        let Some(rtx_queue) = &cc_state.rtx_queue else { return };
        let in_flight = self.flight.outstanding();
        if in_flight == 0 {
            rack.stop_timers();
        } else {
            rack.arm_probe(now, self.rtt.srtt(), rtx_queue, in_flight, self.flight.mss);
        }
        self.timers.set(Timer::Retransmission, rack.next_timeout());
    }

    /// Returns whether the next segment waits for the pacer and no other segment may be sent before it.
    #[inline]
    pub(super) fn waits_for_pacer(&self, now: Time) -> bool {
        let waits_for_pacer = |cc_state: &CcState| cc_state.pacer.as_ref().is_some_and(|pacer| pacer.waits(now));
        self.cc_state.as_deref().is_some_and(waits_for_pacer)
            && self.written - self.flight.nxt >= u64::from(self.flight.mss)
            // F-RTO may end even if nothing can be sent.
            && matches!(&self.recovery, Recovery::Rack(rack) if !(rack.probes() | rack.sends_new_first()))
            && self.may_take_in_order
            && !self.may_be_idle()
    }

    /// Returns whether possibly no data are in flight, so that an idle period may reset the window.
    #[inline]
    pub(super) fn may_be_idle(&self) -> bool {
        self.optional.is_some() && self.flight.outstanding() == 0
    }

    /// Returns whether nothing is lost, reordered or probed, and no idle period can reset the window.
    pub(super) fn is_in_order(&self) -> bool {
        let (Recovery::Rack(rack), Some(cc_state)) = (&self.recovery, &self.cc_state) else {
            return false;
        };
        let in_order = rack.is_at_rest() && cc_state.rtx_queue.as_ref().is_some_and(RetransmissionQueue::is_gapless);
        in_order && self.may_take_in_order && !self.may_be_idle()
    }

    /// Returns whether the next segment is full and without PSH, so that only the window or the pacer can prevent its
    /// transmission.
    #[inline]
    pub fn has_full_segment(&self) -> bool {
        self.short_at_end_only && self.plain_end - self.flight.nxt >= u64::from(self.flight.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config;
    use crate::config::{AckConfig, CongestionConfig, EcnConfig, RackConfig, RecoveryConfig, TcpConfig, TimerConfig};
    use crate::congestion::{
        Bbr3Config, BbrConfig, CubicConfig, CubicRules, HystartConfig, LinuxRenoConfig, PragueConfig,
    };
    use crate::{AckSegment, Receiver};
    use longpipe_events::{Span, PS_PER_SECOND};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A packet on the path.
    #[derive(Clone, Debug)]
    enum Passing {
        Data(DataSegment),
        Ack(AckSegment),
        Written(u64),
    }

    const MSS: u64 = 1000;
    const WAY: Span = Span::millis(20);
    const LINE: Span = Span::millis(1);

    /// Returns all transmissions over a link that loses and marks the packets with the given numbers, together with the
    /// ECN fields and the window at each transmission.
    fn sent(
        config: &TcpConfig,
        (lost, marked): (&[u64], &[u64]),
        written: &[u64],
        shortcuts: bool,
    ) -> Vec<(Time, u64, u32, Ecn, u64)> {
        let (mut sender, mut receiver) = (Sender::new(config, Span(0)), Receiver::new(config));
        if !shortcuts {
            sender.disable_shortcuts();
            receiver.disable_shortcuts();
        }
        let mut passing: BTreeMap<(Time, u64), Passing> = BTreeMap::new();
        let (mut number, mut line, mut log) = (0, Time::ZERO, vec![]);
        let mut total = 0;
        for (index, segments) in (0..).zip(written) {
            total += segments;
            let at = Time(Span::millis(700 * index).0);
            passing.insert((at, index), Passing::Written(total * MSS - 300));
        }
        let mut count = 1_000_000;
        for _ in 0..20_000 {
            let timers = [sender.next_timeout(), receiver.next_timeout()];
            let timer = timers.into_iter().min().and_then(|timer| timer.get());
            let next = passing.first_key_value().map(|(&(at, _), _)| at);
            let Some(now) = [timer, next].into_iter().flatten().min() else {
                break;
            };
            if now > Time(60 * PS_PER_SECOND) {
                break;
            }
            let mut ready = vec![];
            if next == Some(now) {
                match passing.pop_first().map(|(_, what)| what) {
                    Some(Passing::Data(segment)) => receiver.on_segment(now, &segment),
                    Some(Passing::Ack(ack)) => {
                        let stamp = AckSegment {
                            acknowledgement: ack.acknowledgement,
                            echo: ack.echo,
                            ..AckSegment::default()
                        };
                        if ack == stamp && sender.take_in_order(now, ack.acknowledgement, ack.echo.get()) {
                            let full = sender.full_segment(now, 0);
                            let segment = |sequence| DataSegment { sequence, ..full };
                            let burst = sender.begin_burst(now);
                            ready.extend(std::iter::from_fn(|| match burst {
                                Some(end) => sender.poll_burst(now, end).map(segment),
                                None => sender.poll_after_ack(now).map(segment),
                            }));
                            sender.end_in_order(now);
                        } else {
                            sender.on_ack(now, &ack);
                        }
                    }
                    Some(Passing::Written(end)) => {
                        sender.write_up_to(end);
                        if end + 300 == total * MSS {
                            sender.close();
                        }
                    }
                    None => {}
                }
            } else {
                if timers[0] <= now.into() {
                    if sender.resume_in_order(now) {
                        let full = sender.full_segment(now, 0);
                        let segment = |sequence| DataSegment { sequence, ..full };
                        ready.extend(std::iter::from_fn(|| sender.poll_after_ack(now).map(segment)));
                        if !ready.is_empty() {
                            sender.end_in_order(now);
                        }
                    } else {
                        sender.on_timeout(now);
                    }
                }
                if timers[1] <= now.into() {
                    receiver.on_timeout(now);
                }
            }
            while let Some(ack) = receiver.poll_transmit(now) {
                count += 1;
                passing.insert((now + WAY, count), Passing::Ack(ack));
            }
            ready.extend(std::iter::from_fn(|| sender.poll_transmit(now)));
            for mut segment in ready {
                let window = sender.flight().cwnd().to_bits();
                log.push((now, segment.sequence, segment.length, segment.ecn, window));
                number += 1;
                segment.ecn.marked = segment.ecn.capable && marked.contains(&number);
                count += 1;
                line = line.max(now) + LINE;
                if !lost.contains(&number) {
                    passing.insert((line + WAY, count), Passing::Data(segment));
                }
            }
        }
        log
    }

    proptest! {
        #[test]
        fn transmissions_with_and_without_shortcuts_are_equal(
            (control, pacing, idle_restart, timestamps) in (0..5, any::<bool>(), any::<bool>(), any::<bool>()),
            (ack, probe, ecn) in (0..4, any::<bool>(), 0..5),
            lost in prop::collection::vec(1u64..300, 0..12),
            marked in prop::collection::vec(1u64..300, 0..12),
            written in prop::collection::vec(1u64..200, 1..4),
        ) {
            let mut config = TcpConfig {
                recovery: RecoveryConfig::Rack(RackConfig { blocks: 3, probe, undo: true, dsack: true, frto: true, successive: false }),
                congestion: match control {
                    0 => CongestionConfig::Bbr(BbrConfig {}),
                    3 => CongestionConfig::Bbr3(Bbr3Config {}),
                    4 => CongestionConfig::Prague(PragueConfig { rtt_target_ps: Span::millis(25).0, transition: 4 }),
                    1 => CongestionConfig::LinuxReno(LinuxRenoConfig::default()),
                    _ => CongestionConfig::Cubic(CubicConfig {
                        scaling: 0.4,
                        beta: 0.7,
                        fast_convergence: true,
                        reno_friendly: true,
                        hystart: HystartConfig::Linux,
                        rules: CubicRules::Linux,
                    }),
                },
                mss_bytes: MSS as u32,
                initial_window_segments: 10,
                pacing,
                idle_restart,
                ecn: match ecn {
                    0 if control != 4 => EcnConfig::Classic { abe: probe },
                    1 if control != 4 => EcnConfig::Dctcp {},
                    _ if ecn < 4 || control == 4 => EcnConfig::Accurate { abe: probe, option: ecn == 2 },
                    _ => EcnConfig::Off {},
                },
                ack: match ack {
                    0 => AckConfig::Immediate {},
                    1 | 2 => AckConfig::Linux { timeout_ps: Span::millis(40).0, quick: 16, least_round_trip: true, sack_delay_ps: Span::millis(1).0, write_every_ps: if ack == 1 { Span::millis(20).0 } else { 0 }, growing_window: ack == 1 },
                    _ => AckConfig::Delayed { segments: 2, timeout_ps: Span::millis(40).0, quick: 0 },
                },
                ..config()
            };
            if timestamps {
                config.timer = TimerConfig::Fine {
                    granularity_ps: Span::millis(200).0,
                    min_rto_ps: Span::millis(200).0,
                    max_rto_ps: Span::seconds(60).0,
                    initial_rto_ps: Span::seconds(1).0,
                    timestamps: true,
                };
            }
            let short = sent(&config, (&lost, &marked), &written, true);
            prop_assert!(short.len() as u64 >= written.iter().sum::<u64>());
            prop_assert_eq!(short, sent(&config, (&lost, &marked), &written, false));
        }
    }
}
