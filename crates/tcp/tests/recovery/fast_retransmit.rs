//! When duplicate ACKs bring a fast retransmit, and what holds it back.

use crate::script::{self, Script};
use longpipe_tcp::config::RecoveryKind;
use strum::IntoEnumIterator;
use RecoveryKind::{Newreno, Reno, Sack, Tahoe};

#[test]
fn rfc_2582_section_5_a_guard_forbids_repeated_fast_retransmits() {
    // Reno's second loss lies below the first recovery; NewReno takes the echo of what a timeout sent again for a loss.
    for (kind, lost, unguarded, guarded) in [
        (Reno, &[0, 1, 2, 3][..], 2, 1),
        (Newreno, &[0, 3, 5, 16, 17], 3, 1),
        (Sack, &[0, 3, 5, 16, 17], 1, 1),
    ] {
        for (guard, expected) in [(false, unguarded), (true, guarded)] {
            let script = Script::new(kind).lose(lost).with(|tcp| {
                (tcp.reno.guard, tcp.newreno.guard, tcp.sack.guard) = (guard, guard, guard);
            });
            let trace = script.play();
            assert_eq!(trace.fast_retransmits, expected, "{kind:?} {guard}\n{trace}");
        }
    }
}

#[test]
fn a_guard_by_timeouts_alone_lets_fast_retransmits_follow_each_other() {
    // Segments 2 and 4 of one window are lost; then a timeout, whose go-back-N makes duplicates of its own.
    let fast = |lost: &[u64], guard, guard_timeouts_only| {
        let script = Script::new(Reno)
            .segments(120)
            .lose(lost)
            .with(|tcp| (tcp.reno.guard, tcp.reno.guard_timeouts_only) = (guard, guard_timeouts_only));
        script.play().fast_retransmits
    };
    let two: &[u64] = &[2, 8];
    assert_eq!(fast(two, false, false), 2);
    assert_eq!(fast(two, true, true), 2);
    assert_eq!(fast(two, true, false), 1);
    let many: &[u64] = &[4, 5, 6, 7, 8, 9, 10, 11];
    assert!(fast(many, false, false) > fast(many, true, true));
}

#[test]
fn fast_retransmits_keep_their_interval() {
    // Two losses of one window for those that take each for itself, of two windows for the others.
    for (kind, lost) in [
        (Tahoe, &[3, 60][..]),
        (Reno, &[2, 8]),
        (Newreno, &[3, 60]),
        (Sack, &[3, 60]),
    ] {
        let play = |round_trips| {
            let script = Script::new(kind).segments(120).lose(lost);
            let trace = script
                .with(|tcp| tcp.fast_retransmit_interval_ps = round_trips * script::RTT)
                .play();
            (trace.fast_retransmits, trace.timeouts)
        };
        assert_eq!(play(0), (2, 0), "{kind:?}");
        assert_eq!(play(100), (1, 1), "{kind:?}");
    }
}

#[test]
fn duplicates_inflate_the_window_with_or_without_a_fast_retransmit() {
    let play = |inflate_always| {
        Script::new(Reno)
            .segments(120)
            .lose(&[2, 8])
            .with(|tcp| (tcp.reno.guard, tcp.reno.inflate_always) = (true, inflate_always))
            .play()
    };
    assert_eq!(play(false).fast_retransmits, play(true).fast_retransmits);
    assert_ne!(play(false).to_string(), play(true).to_string());
}

#[test]
fn a_fast_retransmit_restarts_the_timer_or_leaves_it() {
    // The duplicates come after six round trips, the retransmission's ACK after thirteen; the smallest RTO is ten.
    for kind in [Tahoe, Reno, Newreno, Sack] {
        let play = |restarts| {
            let script = Script::new(kind).segments(16).lose(&[0]).delay(16, 6.0);
            let script = (1..16).fold(script, |script, packet| script.delay(packet, 5.0));
            script.with(|tcp| tcp.fast_retransmit_restarts_timer = restarts).play()
        };
        assert_eq!(
            [true, false].map(|restarts| play(restarts).timeouts),
            [0, 1],
            "{kind:?}"
        );
    }
}

#[test]
fn fewer_than_three_duplicates_leave_the_loss_to_the_timer() {
    for kind in RecoveryKind::iter() {
        // Of the ACKs after the hole, numbers 3 and on, two get through.
        let trace = Script::new(kind).segments(16).lose(&[3]).lose_acks(5..15).play();
        assert_eq!((trace.fast_retransmits, trace.timeouts), (0, 1), "{kind:?}\n{trace}");
    }
}
