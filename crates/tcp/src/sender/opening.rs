//! Handshake of the sender, if it is simulated: a SYN, which is retransmitted until it is answered, and the ACK of the
//! SYN-ACK. Data are sent afterwards, and the handshake gives the first RTT sample (RFC 9293 section 3.5, RFC 6298
//! section 5).

use super::timers::Timer;
use super::Sender;
use crate::congestion::flight::Flight;
use crate::congestion::{Congestion, WindowAdjustment};
use crate::segment::{AckSegment, DataSegment, Opening};
use crate::sender::cc_state::CcState;
use crate::sender::handshake::{Due, Handshake};
use longpipe_events::{MaybeTime, Span, Time};

/// Maximum number of SYN retransmissions after which the full initial window is still used. It is 1 because the first
/// SYN timeout is one second, which some RTTs exceed (RFC 6928 section 2, and Linux).
const FORGIVEN: u32 = 1;

/// Returns whether the connection is not established yet.
#[inline(always)]
pub(super) fn is_on(sender: &Sender) -> bool {
    sender
        .optional
        .as_ref()
        .is_some_and(|optional| optional.handshake.is_some())
}

fn handshake(sender: &mut Sender) -> Option<&mut Handshake> {
    sender
        .optional
        .as_mut()
        .and_then(|optional| optional.handshake.as_mut())
}

/// Returns the next packet of the handshake, if data are ready to be sent after it.
#[cold]
pub(super) fn poll(sender: &mut Sender, now: Time) -> Option<DataSegment> {
    let written = sender.written > 0;
    let handshake = handshake(sender).filter(|_| written)?;
    let opening = match std::mem::replace(&mut handshake.due, Due::Nothing) {
        Due::Nothing => return None,
        Due::Syn => {
            handshake.first.get_or_insert(now);
            Opening::Syn(handshake.bytes)
        }
        Due::Ack => Opening::Ack,
    };
    if opening == Opening::Ack {
        end(sender);
    } else {
        let expiry = sender.expiry(now);
        sender.timers.set(Timer::Retransmission, expiry);
    }
    Some(DataSegment {
        timestamp: sender.stamp(now),
        opening,
        ..DataSegment::default()
    })
}

/// Retransmits the SYN after a timeout without an answer.
pub(super) fn on_timeout(sender: &mut Sender, now: Time) {
    sender.on_expiry(now);
    sender.rtt.back_off();
    sender.rto = sender.rtt.constant_rto();
    sender.timers.set(Timer::Retransmission, MaybeTime::NONE);
    if let Some(handshake) = handshake(sender) {
        handshake.retransmissions += 1;
        handshake.due = Due::Syn;
    }
}

/// Processes the SYN-ACK. Returns false if the connection is established and the ACK also acknowledges data.
#[cold]
pub(super) fn on_answer(sender: &mut Sender, now: Time, ack: &AckSegment) -> bool {
    let una = sender.flight.una;
    let Some(handshake) = handshake(sender) else {
        return ack.acknowledgement <= una;
    };
    let (Some(first), true) = (handshake.first, handshake.due != Due::Ack) else {
        return true;
    };
    handshake.due = Due::Ack;
    // Without timestamps, the sender cannot determine which of several SYNs was answered.
    let sent = ack.echo.get().or((handshake.retransmissions == 0).then_some(first));
    let late = ack.echo.get() == Some(first);
    let lost = handshake.retransmissions > FORGIVEN && !late;
    sender.timers.set(Timer::Retransmission, MaybeTime::NONE);
    match sent {
        Some(sent) => sender.measure(sent, now),
        None => {
            sender.rtt.reset_after_lost_syn();
            sender.rto = sender.rtt.constant_rto();
        }
    }
    if let Some(sent) = sent {
        let srtt = sender.rtt.exact_srtt();
        let cc_state = sender.cc_state.as_deref_mut();
        begin_with(cc_state, &mut sender.congestion, &mut sender.flight, srtt, now - sent);
    }
    if lost {
        sender.handle(now).adjust(WindowAdjustment::ToSegment);
    }
    true
}

/// Disables the ACK fast path if it must not be used after the connection is established.
pub(super) fn use_slow_path(sender: &mut Sender) {
    if let Some(handshake) = handshake(sender) {
        handshake.slow_path = true;
    }
}

/// Completes the handshake.
pub(super) fn end(sender: &mut Sender) {
    let Some((optional, handshake)) = sender.optional.as_mut().and_then(|optional| {
        let handshake = optional.handshake.take()?;
        Some((optional, handshake))
    }) else {
        return;
    };
    if optional.is_nothing() {
        sender.optional = None;
    }
    sender.choose_paths(handshake.slow_path);
}

/// Initializes the sender with an RTT that is known before the first segment is sent.
pub(super) fn begin_with(
    cc_state: Option<&mut CcState>,
    congestion: &mut Congestion,
    flight: &mut Flight,
    srtt: Option<Span>,
    known: Span,
) {
    if let Some(cc_state) = cc_state {
        cc_state.set_pacing(congestion.on_start(known, flight));
        cc_state.update_window_pacing(flight, srtt, Some(known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{tests::config, TcpConfig, TimerConfig};
    use crate::Receiver;

    const RTT: Span = Span::millis(100);

    fn opens(timestamps: bool) -> TcpConfig {
        TcpConfig {
            handshake: true,
            initial_window_segments: 10,
            timer: TimerConfig::Fine {
                granularity_ps: Span::millis(200).0,
                min_rto_ps: Span::millis(200).0,
                max_rto_ps: Span::seconds(120).0,
                initial_rto_ps: Span::seconds(1).0,
                timestamps,
            },
            ..config()
        }
    }

    /// Simulates a handshake in which the first `lost` SYNs are lost, and the next answer arrives late. Returns the
    /// sender, all packets up to the first data segment, and the number of segments in the first flight.
    fn play(config: &TcpConfig, lost: usize, late: Span) -> (Sender, Vec<(Time, Opening)>, usize) {
        let (mut sender, mut receiver) = (Sender::new(config, Span(0)), Receiver::new(config));
        assert_eq!(sender.poll_transmit(Time(0)), None, "nothing to send, nothing to open");
        sender.write_up_to(50 * u64::from(config.mss_bytes));
        let (mut now, mut sent, mut answer) = (Time(0), vec![], None);
        loop {
            let mut data = 0;
            while let Some(segment) = sender.poll_transmit(now) {
                if segment.opening == Opening::Over {
                    data += 1;
                    continue;
                }
                sent.push((now, segment.opening));
                assert_eq!(
                    segment.packet_bytes(),
                    if segment.opening.is_syn() {
                        60 - skipped(config)
                    } else {
                        header_length(config)
                    }
                );
                if segment.opening.is_syn() && sent.len() == lost + 1 {
                    receiver.on_segment(now, &segment);
                    answer = receiver.poll_transmit(now).map(|ack| (now + RTT + late, ack));
                }
            }
            if data > 0 {
                return (sender, sent, data);
            }
            let timer = sender.next_timeout().get();
            match answer {
                Some((at, ack)) if timer.is_none_or(|timer| at < timer) => {
                    now = at;
                    answer = None;
                    assert!(ack.opening.is_syn());
                    sender.on_ack(now, &ack);
                    sender.on_ack(now, &ack);
                }
                _ => {
                    now = timer.expect("a SYN is out");
                    sender.on_timeout(now);
                }
            }
        }
    }

    /// Returns the additional option bytes of the SYN: Linux's SYN is 60 bytes long, of which timestamps take 12 bytes.
    fn skipped(config: &TcpConfig) -> u32 {
        if config.timestamps() {
            0
        } else {
            12
        }
    }

    fn header_length(config: &TcpConfig) -> u32 {
        if config.timestamps() {
            52
        } else {
            40
        }
    }

    #[test]
    fn rfc_9293_section_3_5_handshake_gives_the_first_rtt_sample() {
        let (mut sender, sent, data) = play(&opens(true), 0, Span(0));
        assert_eq!(sent, [(Time(0), Opening::Syn(8)), (Time(RTT.0), Opening::Ack)]);
        assert_eq!((data, sender.timer().srtt()), (10, Some(RTT)));
        // R + max(G, 4 · R/2).
        assert_eq!(
            (sender.timer().rto(), sender.take_measured()),
            (Span::millis(300), Some(RTT))
        );
        assert_eq!(sender.next_timeout(), Time(Span::millis(400).0).into());
    }

    #[test]
    fn rfc_6298_section_5_syn_timeouts_double_from_one_second() {
        let (sender, sent, _) = play(&opens(true), 3, Span(0));
        let at: Vec<u64> = sent.iter().map(|(at, _)| at.0 / Span::millis(1).0).collect();
        assert_eq!(at, [0, 1_000, 3_000, 7_000, 7_100]);
        assert_eq!(sender.counters().timeouts, 3);
        // The timestamp identifies the SYN that was answered.
        assert_eq!(sender.timer().srtt(), Some(RTT));
    }

    #[test]
    fn rfc_6298_section_5_7_without_an_rtt_sample_data_start_with_an_rto_of_three_seconds() {
        let (sender, ..) = play(&opens(false), 1, Span(0));
        assert_eq!((sender.timer().srtt(), sender.timer().rto()), (None, Span::seconds(3)));
        let (sender, ..) = play(&opens(false), 0, Span(0));
        assert_eq!(sender.timer().srtt(), Some(RTT));
    }

    #[test]
    fn two_lost_syns_reduce_the_initial_window_to_a_segment() {
        let data = |lost, late| play(&opens(true), lost, late).2;
        let none = Span(0);
        assert_eq!(
            [data(0, none), data(1, none), data(2, none), data(5, none)],
            [10, 10, 1, 1]
        );
        // With an RTT of four seconds, two SYNs are retransmitted before the answer to the first one arrives.
        assert_eq!(data(0, Span::millis(3_900)), 10);
    }
}
