//! A sender with RACK: while the data in flight are below the window, it first retransmits lost segments and then sends
//! new data.

use super::timers::Timer;
use super::{expiry, Sender, NOTHING};
use crate::congestion::control::Cause;
use crate::journal::CongestionState;
use crate::journal::EventCause;
use crate::recovery::rack::Rack;
use crate::recovery::window_handle::WindowHandle;
use crate::recovery::Recovery;
use crate::retransmission_queue::{AckSummary, RetransmissionQueue};
use crate::segment::{AckSegment, DataSegment};
use crate::sender::cc_state::CcState;
use longpipe_events::{MaybeTime, Time};

/// The parts of a sender that RACK uses.
struct Parts<'a> {
    rack: &'a mut Rack,
    rtx_queue: &'a mut RetransmissionQueue,
    handle: WindowHandle<'a>,
}

fn parts(sender: &mut Sender, now: Time) -> Option<Parts<'_>> {
    let CcState { rtx_queue, pacing, .. } = sender.cc_state.as_deref_mut()?;
    let journal = &mut sender.journal;
    Some(Parts {
        rack: sender.recovery.rack_mut()?,
        rtx_queue: rtx_queue.as_mut()?,
        handle: WindowHandle::new(&mut sender.flight, &mut sender.congestion, Some(pacing), journal, now),
    })
}

/// Processes an ACK with SEG.ACK >= SND.UNA.
pub(super) fn on_ack(sender: &mut Sender, now: Time, ack: &AckSegment) {
    let advanced = ack.acknowledgement > sender.flight.una;
    if !advanced && sender.flight.outstanding() == 0 {
        return;
    }
    let before = sender.before(ack);
    let flight = &mut sender.flight;
    flight.una = ack.acknowledgement;
    if advanced {
        flight.duplicates = 0;
    } else {
        flight.duplicates += 1;
        sender.counters.duplicate_acks += 1;
    }
    let srtt = sender.rtt.srtt();
    let is_paced = sender
        .cc_state
        .as_ref()
        .is_some_and(|cc_state| cc_state.pacer.is_some());
    let Some(parts) = parts(sender, now) else {
        return;
    };
    let Parts {
        rack,
        rtx_queue,
        mut handle,
    } = parts;
    rack.set_srtt(srtt);
    let mut summary = rtx_queue.on_ack(now, ack.acknowledgement, ack.echo.get(), ack.blocks_beyond());
    let kind = (ack.blocks[0].is_some(), is_paced);
    let sample = before.sample(now, handle.flight(), &summary, kind);
    handle.sample(&sample);
    if sample.marked > 0 {
        rack.keep_reduction();
    }
    // A SACK block restarts the timer only if its RTT sample belongs to data sent before the first segment in flight
    // (Linux). Otherwise SACK blocks would postpone the timeout during the whole recovery.
    let slow = !advanced
        && rtx_queue
            .oldest()
            .is_some_and(|oldest| summary.seq_rtt > Some(now - oldest));
    let (lost, total_lost_before) = (rtx_queue.lost(), rtx_queue.total_lost());
    let mut step = rack.on_ack(now, &summary, ack, advanced, rtx_queue, &mut handle);
    summary.lost = rtx_queue.lost().saturating_sub(lost);
    if let Some(rate) = &mut summary.rate {
        rate.lost += rtx_queue.total_lost() - total_lost_before;
    }
    report_losses(sender, now, EventCause::Rack);
    if step.begins {
        sender.on_recovery_begin(now);
    }
    if step.reduces {
        announce_reduction(sender);
    }
    if let Some(rtt) = summary.seq_rtt {
        sender.measure(Time(now.0 - rtt.0), now);
    }
    let reacts = sender.optional.is_some() && sender.recovery.rack_mut().is_some_and(|rack| rack.reacts_to_marks());
    let reduction = if reacts { sender.mark() } else { None };
    step.grows &= reduction.is_none();
    sender.report_ack(now, &summary, before, step);
    if let Some(cause) = reduction {
        on_mark(sender, now, cause, &summary, advanced);
    }
    // The start of a recovery restarts the timer (Linux).
    set_timers_after_ack(sender, now, advanced || slow || step.begins);
}

/// Reduces the window because of ECN marks; PRR already counts the ACK that reports the marks.
fn on_mark(sender: &mut Sender, now: Time, cause: Cause, summary: &AckSummary, advanced: bool) {
    sender.counters.mark_reductions += 1;
    announce_reduction(sender);
    if let Some(mut parts) = parts(sender, now) {
        parts
            .rack
            .on_mark(cause, summary, advanced, parts.rtx_queue, &mut parts.handle);
    }
}

/// If ECN is on, the next new segment signals the reduction to the receiver.
fn announce_reduction(sender: &mut Sender) {
    if let Some(marks) = sender.optional.as_mut().and_then(|optional| optional.marks.as_mut()) {
        marks.on_reduction();
        sender.update_in_order_path();
    }
}

fn set_timers_after_ack(sender: &mut Sender, now: Time, restarts: bool) {
    let (outstanding, mss) = (sender.flight.outstanding(), sender.flight.mss);
    let (Recovery::Rack(rack), Some(rtx_queue)) = (&mut sender.recovery, records_of(&mut sender.cc_state)) else {
        return;
    };
    if outstanding == 0 {
        rack.stop_timers();
    } else if restarts {
        rack.rto_deadline = expiry(sender.rto, &mut sender.rtt, now);
        rack.arm_probe(now, sender.rtt.srtt(), rtx_queue, outstanding, mss);
    }
    sender.timers.set(Timer::Retransmission, rack.next_timeout());
}

/// Returns the retransmission queue.
#[inline(always)]
fn records_of(cc_state: &mut Option<Box<CcState>>) -> Option<&mut RetransmissionQueue> {
    cc_state.as_deref_mut()?.rtx_queue.as_mut()
}

/// Processes the first of the expired timers.
pub(super) fn on_timeout(sender: &mut Sender, now: Time) {
    let (max, mut cause) = (sender.flight.max, EventCause::Rack);
    let Some(cc_state) = &sender.cc_state else {
        return;
    };
    let least_rtt = cc_state.rtx_queue.as_ref().and_then(RetransmissionQueue::least_rtt);
    let Some(Parts {
        rack,
        rtx_queue,
        mut handle,
    }) = parts(sender, now)
    else {
        return;
    };
    // The probe precedes the retransmission timeout (RFC 8985 section 7.2).
    if rack.probe_is_due(now) && !rack.reorder_is_due(now) {
        rack.on_probe_timeout(max);
    } else if rack.rto_deadline <= now.into() {
        rack.on_retransmission_timeout(now, rtx_queue, &mut handle);
        sender.on_expiry(now);
        announce_reduction(sender);
        cause = EventCause::Timeout;
        sender.flight.duplicates = 0;
        sender.rtt.back_off();
        sender.rto = sender.rtt.constant_rto();
        set_rto(sender, now);
    } else if rack.reorder_is_due(now) {
        let step = rack.on_reorder_timeout(now, rtx_queue, least_rtt, &mut handle);
        if step.begins {
            sender.on_recovery_begin(now);
        }
        if step.reduces {
            announce_reduction(sender);
        }
    }
    report_losses(sender, now, cause);
    show_next_timeout(sender);
}

/// Reports declared losses to observers, and to a controller that requests each loss.
fn report_losses(sender: &mut Sender, now: Time, cause: EventCause) {
    sender.write_declared_losses(now, cause);
    let Some(rtx_queue) = sender
        .cc_state
        .as_deref_mut()
        .and_then(|cc_state| cc_state.rtx_queue.as_mut())
    else {
        return;
    };
    if !rtx_queue.has_new_losses() {
        return;
    }
    for lost in rtx_queue.take_losses() {
        sender.congestion.on_lost(&lost, now, &sender.flight);
    }
}

fn set_rto(sender: &mut Sender, now: Time) {
    let expiry = sender.expiry(now);
    if let Some(rack) = sender.recovery.rack_mut() {
        rack.rto_deadline = expiry;
    }
}

fn show_next_timeout(sender: &mut Sender) {
    let next = sender
        .recovery
        .rack_mut()
        .map_or(MaybeTime::NONE, |rack| rack.next_timeout());
    sender.timers.set(Timer::Retransmission, next);
}

/// Returns the next segment to send.
pub(super) fn poll(sender: &mut Sender, now: Time) -> Option<DataSegment> {
    if sender.may_be_idle() {
        sender.check_idle(now);
    }
    sender.timed = NOTHING;
    let (max, cwnd, sends_fin) = (sender.flight.max, sender.flight.cwnd(), sender.sends_fin);
    let (Recovery::Rack(rack), Some(rtx_queue)) = (&mut sender.recovery, records_of(&mut sender.cc_state)) else {
        return None;
    };
    let (probes, may_send_new_first) = (rack.take_probe(), rack.sends_new_first());
    let in_flight = rtx_queue.in_flight(max);
    // Shortcut: only a probe and the last segment may exceed the window, and only F-RTO changes its state if nothing can
    // be sent.
    if sender.shortcuts && in_flight as i64 as f64 >= cwnd && !(probes | sends_fin | may_send_new_first) {
        return None;
    }
    let lost = if may_send_new_first && sends_new_first(sender, in_flight) {
        None
    } else {
        records_of(&mut sender.cc_state)?.next_lost()
    };
    let fits = |length: u32| (in_flight + u64::from(length)) as i64 as f64 <= cwnd;
    let fin = if sends_fin { sender.fin_segment() } else { None };
    let segment = match lost.filter(|&(_, length)| fin.is_none() || fits(length)) {
        Some((sequence, length)) => {
            if !fits(length) || has_to_wait(sender, now, length) {
                return None;
            }
            sender.next_cause = Some(match sender.recovery.state() {
                CongestionState::Loss => EventCause::Timeout,
                _ => EventCause::Rack,
            });
            sender.emit(now, sequence, length)
        }
        None => {
            let length = sender.room(sender.flight.rwnd());
            let whole = length > 0 && (length == sender.flight.mss || sender.may_send_short(length));
            if whole && (probes || fits(length) || fin.is_some()) {
                if !probes && has_to_wait(sender, now, length) {
                    return None;
                }
                let sequence = sender.flight.nxt;
                sender.flight.nxt += u64::from(length);
                sender.emit(now, sequence, length)
            } else if probes {
                let Parts { rack, rtx_queue, .. } = parts(sender, now)?;
                let (sequence, length) = rtx_queue.last()?;
                rack.mark_probe_retransmitted();
                sender.next_cause = Some(EventCause::TailLossProbe);
                sender.emit(now, sequence, length)
            } else {
                update_app_limited(sender, in_flight as f64);
                return None;
            }
        }
    };
    sender.report_transmission(now, &segment);
    set_timers_after_sending(sender, now, &segment, probes);
    Some(segment)
}

/// Returns whether new data are sent before lost segments, which requires that F-RTO requests it, the window has room,
/// and the application has data.
fn sends_new_first(sender: &mut Sender, in_flight: u64) -> bool {
    if !sender.recovery.rack_mut().is_some_and(|rack| rack.sends_new_first()) {
        return false;
    }
    let (length, max) = (sender.room(sender.flight.rwnd()), sender.flight.max);
    let fits = (in_flight + u64::from(length)) as i64 as f64 <= sender.flight.cwnd();
    let whole = length > 0 && (length == sender.flight.mss || sender.may_send_short(length));
    (whole && fits)
        || !sender
            .recovery
            .rack_mut()
            .is_some_and(|rack| rack.end_frto_without_new_data(max))
}

/// Returns whether a segment must wait for the pacer.
fn has_to_wait(sender: &mut Sender, now: Time, length: u32) -> bool {
    sender
        .cc_state
        .as_mut()
        .is_some_and(|cc_state| cc_state.must_wait(now, length))
}

/// Records that the sender is application-limited, that is, sends nothing although the window has room.
fn update_app_limited(sender: &mut Sender, in_flight: f64) {
    let flight = &sender.flight;
    let mss = u64::from(flight.mss);
    if sender.written - flight.nxt < mss && in_flight < flight.cwnd() {
        if let Some(rtx_queue) = sender
            .cc_state
            .as_mut()
            .and_then(|cc_state| cc_state.rtx_queue.as_mut())
        {
            rtx_queue.set_app_limited(flight.max);
        }
    }
}

fn set_timers_after_sending(sender: &mut Sender, now: Time, segment: &DataSegment, probes: bool) {
    let (outstanding, mss) = (sender.flight.outstanding(), sender.flight.mss);
    let (Recovery::Rack(rack), Some(rtx_queue)) = (&mut sender.recovery, records_of(&mut sender.cc_state)) else {
        return;
    };
    rack.on_sent(now, u64::from(segment.length), segment.retransmission);
    // A probe restarts the timer (RFC 8985 section 7.3).
    if probes || rack.rto_deadline == MaybeTime::NONE {
        rack.rto_deadline = expiry(sender.rto, &mut sender.rtt, now);
    }
    if !segment.retransmission && !probes {
        rack.arm_probe(now, sender.rtt.srtt(), rtx_queue, outstanding, mss);
    }
    sender.timers.set(Timer::Retransmission, rack.next_timeout());
}
