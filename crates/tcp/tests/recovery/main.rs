//! Transmissions of each recovery algorithm, packet by packet, and the number of RTTs that it takes to repair losses.

mod fast_retransmit;
mod rack;
mod rfc6675;
mod script;

use longpipe_tcp::config::{AckConfig, PipeStart, RecoveryKind, TimerRestart};
use proptest::prelude::*;
use script::{Script, Trace, AIMD, VEGAS};
use strum::IntoEnumIterator;
use RecoveryKind::{Newreno, Rack, Reno, Rfc6675, Sack, Tahoe, Vanilla};

/// Time until a loss is repaired [RTT], or a timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Repair {
    In(f64),
    Timeout,
}
use Repair::{In, Timeout};

fn repair(trace: &Trace) -> Repair {
    if trace.timeouts > 0 {
        Timeout
    } else {
        In(trace.repair)
    }
}

fn assert_trace(trace: &Trace, expected: &[&str]) {
    assert_eq!(trace.to_string().lines().collect::<Vec<_>>(), expected, "\n{trace}");
}

#[test]
fn one_to_four_losses_in_a_window_are_repaired() {
    // NewReno needs one RTT per loss, and SACK one or two RTTs for all losses; Reno has a timeout after three losses.
    for kind in RecoveryKind::iter() {
        let expected = match kind {
            Vanilla => [Timeout, Timeout, Timeout, Timeout],
            Tahoe => [In(1.0), In(2.0), In(3.0), In(4.0)],
            Reno => [In(1.0), In(3.0), Timeout, Timeout],
            Newreno => [In(1.0), In(2.0), In(3.0), In(4.0)],
            Sack => [In(1.0), In(1.0), In(2.0), In(2.0)],
            // PIPE allows only the first retransmission within this RTT.
            Rfc6675 => [In(1.0), In(2.0), In(2.0), In(2.0)],
            Rack => [In(1.0), In(1.0), In(1.0), In(1.0)],
        };
        let apart = [3, 6, 9, 12];
        let measured: Vec<Repair> = (1..=4)
            .map(|losses| repair(&Script::new(kind).lose(&apart[..losses]).play()))
            .collect();
        assert_eq!(measured, expected, "{kind:?}");
    }
}

#[test]
fn four_adjacent_losses_are_repaired() {
    for kind in RecoveryKind::iter() {
        let expected = match kind {
            Vanilla | Reno => Timeout,
            // Slow start retransmits all segments.
            Tahoe => In(3.0),
            Newreno => In(4.0),
            Sack | Rfc6675 | Rack => In(1.0),
        };
        let trace = Script::new(kind).lose(&[0, 1, 2, 3]).play();
        assert_eq!(repair(&trace), expected, "{kind:?}\n{trace}");
    }
}

#[test]
fn tahoe_goes_back_to_the_hole_in_slow_start() {
    let trace = Script::new(Tahoe).lose(&[3, 6]).segments(25).play();
    assert_trace(&trace, &["0.0 0-15", "1.0 16-21 3*", "2.0 6-7*", "3.0 22-24"]);
}

#[test]
fn reno_fills_one_hole_and_then_needs_a_timeout() {
    let trace = Script::new(Reno).lose(&[3, 6, 9]).segments(28).play();
    assert_trace(&trace, &["0.0 0-15", "1.0 16-21 3*", "2.0 22-27", "3.0 6*", "14.0 9*"]);
    assert_eq!((trace.fast_retransmits, trace.timeouts), (2, 1));
}

#[test]
fn newreno_fills_a_hole_per_rtt_and_sends_a_segment_per_two_duplicates() {
    let trace = Script::new(Newreno).lose(&[3, 6, 9]).segments(32).play();
    assert_trace(
        &trace,
        &["0.0 0-15", "1.0 16-21 3* 22-24", "2.0 25-27 6* 28-29", "3.0 30 9* 31"],
    );
    assert_eq!((trace.fast_retransmits, trace.timeouts), (1, 0));
}

#[test]
fn newreno_without_the_flywheel_follows_the_inflated_window() {
    let trace = Script::new(Newreno)
        .lose(&[3, 6, 9])
        .segments(32)
        .with(|tcp| tcp.newreno.flywheel = false)
        .play();
    assert_trace(
        &trace,
        &["0.0 0-15", "1.0 16-21 3*", "2.0 22-27 6*", "3.0 9*", "4.0 28-31"],
    );
}

#[test]
fn a_burst_limit_applies_to_each_ack_of_a_newreno_recovery() {
    // The ACK that segment 3 triggers advances SND.UNA to 14, which opens the window far beyond the data sent so far.
    let play = |max_burst| {
        Script::new(Newreno)
            .lose(&[3, 14])
            .with(|tcp| (tcp.newreno.flywheel, tcp.newreno.max_burst) = (false, max_burst))
            .play()
    };
    assert_eq!(repair(&play(None)), In(2.0));
    assert_eq!(repair(&play(Some(1))), In(2.0));
    assert!(play(None).end <= play(Some(1)).end);
}

#[test]
fn sack_fills_holes_first_as_pipe_allows() {
    let trace = Script::new(Sack).lose(&[3, 6, 9, 12]).segments(26).play();
    assert_trace(&trace, &["0.0 0-15", "1.0 16-21 3*", "2.0 6* 9* 12* 22-25"]);
}

#[test]
fn a_lost_retransmission_ends_in_a_timeout() {
    // Vanilla needs a timeout in any case.
    for kind in RecoveryKind::iter() {
        let once = Script::new(kind).lose(&[3]).play();
        let copy = once.sent.iter().position(|sent| sent.retransmission).unwrap();
        let trace = Script::new(kind).lose(&[3, copy as u64]).play();
        // RACK detects the loss because segments sent later are delivered.
        let timeouts = match kind {
            Vanilla => 2,
            Rack => 0,
            _ => 1,
        };
        assert_eq!(trace.timeouts, timeouts, "{kind:?}\n{trace}");
    }
}

#[test]
fn a_timeout_in_recovery_clears_the_scoreboard_and_goes_back_n() {
    let trace = Script::new(Sack).lose(&[3, 6, 22]).segments(24).play();
    assert_trace(&trace, &["0.0 0-15", "1.0 16-21 3* 6*", "2.0 22-23", "11.0 3*"]);
    // If the scoreboard is cleared, segments that the receiver already has are retransmitted.
    let trace = Script::new(Sack).lose(&[3, 6, 22, 23]).segments(24).play();
    assert_trace(
        &trace,
        &["0.0 0-15", "1.0 16-21 3* 6*", "2.0 22-23", "11.0 3*", "12.0 6-7*"],
    );
}

#[test]
fn a_second_timeout_waits_twice_as_long() {
    let trace = Script::new(Vanilla).lose(&[3, 22, 23]).segments(22).play();
    assert_trace(&trace, &["0.0 0-15", "1.0 16-21", "11.0 3*", "31.0 3*", "71.0 3*"]);
}

#[test]
fn lost_acks_cause_no_retransmission_if_a_later_ack_arrives() {
    for kind in RecoveryKind::iter() {
        let trace = Script::new(kind).lose_acks([0, 1, 2, 5, 7, 8, 9, 10]).play();
        assert!(trace.sent.iter().all(|sent| !sent.retransmission), "{kind:?}\n{trace}");
        assert_eq!(trace.timeouts, 0, "{kind:?}\n{trace}");
    }
}

#[test]
fn rfc_2018_section_4_repeated_blocks_compensate_for_lost_acks() {
    let play = |blocks| {
        let script = Script::new(Sack).segments(16).lose(&[3, 6, 9]).lose_acks([5, 6]);
        let script = script.with(|tcp| (tcp.sack.blocks, tcp.sack.pipe) = (blocks, PipeStart::Outstanding));
        script.play()
    };
    let retransmissions = |trace: &Trace| trace.sent.iter().filter(|sent| sent.retransmission).count();
    assert_eq!(
        (repair(&play(3)), retransmissions(&play(3))),
        (In(1.0), 3),
        "{}",
        play(3)
    );
    assert!(retransmissions(&play(1)) > 3, "{}", play(1));
}

/// Plays a script in which segment 3 is overtaken by all later segments of its flight except for the last `before`
/// segments.
fn reordered(kind: RecoveryKind, before: u64) -> Trace {
    let script = Script::new(kind).segments(16).delay(3, 0.01);
    (4 + before..16)
        .fold(script, |script, packet| script.delay(packet, 0.02))
        .play()
}

#[test]
fn reordering_by_three_but_not_by_two_segments_counts_as_a_loss() {
    for kind in RecoveryKind::iter() {
        let trace = reordered(kind, 2);
        assert_eq!(
            (trace.fast_retransmits, trace.timeouts, trace.sent.len()),
            (0, 0, 16),
            "{kind:?}\n{trace}"
        );
        let trace = reordered(kind, 3);
        assert_eq!(trace.fast_retransmits, u64::from(kind != Vanilla), "{kind:?}\n{trace}");
        assert_eq!(trace.timeouts, 0, "{kind:?}\n{trace}");
    }
}

#[test]
fn the_timer_restarts_on_the_first_partial_ack_or_on_every_one() {
    // NewReno needs twelve RTTs to repair twelve losses; the minimum RTO is ten RTTs.
    let lost: Vec<u64> = (0..12).collect();
    let play = |timer_restart| {
        let script = Script::new(Newreno).lose(&lost);
        script.with(|tcp| tcp.newreno.timer_restart = timer_restart).play()
    };
    assert_eq!(repair(&play(TimerRestart::Every)), In(12.0));
    assert_eq!(play(TimerRestart::First).timeouts, 1);
    // SACK's second and third retransmissions are late; the third one arrives after the expiration of the timer that
    // the first partial ACK started.
    let play = |timer_restart| {
        let script = Script::new(Sack).lose(&[0, 1, 2]).delay(17, 4.0).delay(18, 10.0);
        script.with(|tcp| tcp.sack.timer_restart = timer_restart).play()
    };
    assert_eq!(play(TimerRestart::Every).timeouts, 0);
    assert_eq!(play(TimerRestart::First).timeouts, 1);
}

#[test]
fn partial_ack_deflates_the_window_as_configured() {
    let play = |partial_deflation| {
        Script::new(Newreno)
            .lose(&[3, 14])
            .with(|tcp| (tcp.newreno.flywheel, tcp.newreno.partial_deflation) = (false, partial_deflation))
            .play()
    };
    assert_eq!(repair(&play(true)), In(2.0));
    assert_ne!(play(true).to_string(), play(false).to_string());
}

#[test]
fn a_timeout_halves_the_window_with_or_without_its_inflation() {
    // The retransmission is lost while 12 duplicate ACKs inflate the window, which was halved from 19 segments.
    let play = |deflate_on_timeout| {
        Script::new(Reno)
            .segments(120)
            .lose(&[3, 22])
            .with(|tcp| (tcp.reno.guard, tcp.reno.deflate_on_timeout) = (true, deflate_on_timeout))
            .play()
    };
    assert!(play(false).end < play(true).end);
}

#[test]
fn the_scaled_window_field_limits_the_sender() {
    for kind in RecoveryKind::iter() {
        // A 16-bit window field without scaling allows 65 segments of 1000 bytes, regardless of the receiver's buffer.
        let script = Script::new(kind).segments(300).with(|tcp| {
            tcp.window_scale = 0;
            tcp.initial_window_segments = 100;
        });
        let trace = script.play();
        assert_eq!(
            trace.sent.iter().filter(|sent| sent.round_trips == 0.0).count(),
            65,
            "{kind:?}"
        );
    }
}

#[test]
fn any_one_or_two_losses_are_repaired() {
    for kind in RecoveryKind::iter() {
        for first in 0..40 {
            for second in first..40 {
                let trace = Script::new(kind).lose(&[first, second]).play();
                assert!(trace.end < 140.0, "{kind:?} {first} {second}\n{trace}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_file_is_delivered_with_any_losses_delays_and_options(
        lost in prop::collection::vec(0u64..120, 0..30),
        lost_acks in prop::collection::vec(0u64..120, 0..30),
        late in prop::collection::vec((0u64..120, 0.0f64..3.0), 0..10),
        window in 2u64..40,
        flags in prop::array::uniform11(any::<bool>()),
    ) {
        let [delayed, flywheel, deflation, guard, first, outstanding, deflate, one_block, timeouts_only, always, apart] =
            flags;
        for kind in RecoveryKind::iter() {
            let script = Script::new(kind).segments(60).lose(&lost).lose_acks(lost_acks.iter().copied()).with(|tcp| {
                tcp.receiver_window_bytes = window * script::MSS;
                tcp.initial_window_segments = 4;
                if delayed {
                    tcp.ack = AckConfig::Delayed { segments: 2, timeout_ps: 20_000_000_000, quick: 0 };
                }
                tcp.tahoe.guard = guard;
                tcp.reno.guard = guard;
                tcp.reno.deflate_on_timeout = deflate;
                tcp.reno.guard_timeouts_only = timeouts_only;
                tcp.reno.inflate_always = always;
                tcp.fast_retransmit_interval_ps = if apart { 2 * script::RTT } else { 0 };
                tcp.newreno.flywheel = flywheel;
                tcp.newreno.partial_deflation = deflation;
                tcp.newreno.guard = guard;
                tcp.newreno.timer_restart = if first { TimerRestart::First } else { TimerRestart::Every };
                tcp.sack.guard = guard;
                tcp.sack.blocks = if one_block { 1 } else { 3 };
                tcp.rfc6675.blocks = tcp.sack.blocks;
                if outstanding {
                    tcp.sack.pipe = PipeStart::Outstanding;
                }
            });
            late.iter().fold(script, |script, &(packet, by)| script.delay(packet, by)).play();
        }
    }
}

#[test]
fn vegas_doubles_every_other_rtt_while_no_queue_builds() {
    let trace = Script::new(Reno)
        .segments(30)
        .with(|tcp| (tcp.congestion, tcp.initial_window_segments) = (VEGAS, 1))
        .play();
    assert_trace(
        &trace,
        &[
            "0.0 0",
            "1.0 1",
            "2.0 2-3",
            "3.0 4-5",
            "4.0 6-9",
            "5.0 10-13",
            "6.0 14-21",
            "7.0 22-29",
        ],
    );
}

#[test]
fn vegas_repairs_losses_like_its_loss_recovery() {
    for kind in RecoveryKind::iter() {
        let play = |congestion| {
            Script::new(kind)
                .lose(&[3, 6])
                .with(|tcp| tcp.congestion = congestion)
                .play()
        };
        let [aimd, vegas] = [AIMD, VEGAS].map(play);
        assert_eq!(vegas.timeouts, aimd.timeouts, "{kind:?}\n{vegas}");
    }
}
