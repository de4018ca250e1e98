//! Conditions for a fast retransmit: duplicate ACKs, and guards that suppress it.

use crate::assert_trace;
use crate::script::{self, Script};
use longpipe_tcp::config::RecoveryKind;
use strum::IntoEnumIterator;
use RecoveryKind::{Newreno, Rack, Reno, Sack, Tahoe};

#[test]
fn rfc_2582_section_5_a_guard_prevents_repeated_fast_retransmits() {
    // Reno's second loss lies below the end of the first recovery. NewReno interprets the duplicate ACKs that its
    // retransmissions after a timeout trigger as a loss, and Tahoe does the same with the duplicate ACKs of its
    // retransmissions.
    for (kind, lost, unguarded, guarded) in [
        (Tahoe, &[3, 4, 5, 6, 8][..], 5, 1),
        (Reno, &[0, 1, 2, 3], 2, 1),
        (Newreno, &[0, 3, 5, 16, 17], 3, 1),
        (Sack, &[0, 3, 5, 16, 17], 1, 1),
    ] {
        for (guard, expected) in [(false, unguarded), (true, guarded)] {
            let script = Script::new(kind).lose(lost).with(|tcp| {
                (tcp.reno.guard, tcp.newreno.guard, tcp.sack.guard) = (guard, guard, guard);
                tcp.tahoe.guard = guard;
            });
            let trace = script.play();
            assert_eq!(trace.fast_retransmits, expected, "{kind:?} {guard}\n{trace}");
        }
    }
}

/// Returns a script for Tahoe in which segments 3 to 6 and 8 of the first flight and the packets `more` are lost.
fn tahoe(guard: bool, more: &[u64]) -> Script {
    let script = Script::new(Tahoe).lose(&[3, 4, 5, 6, 8]).lose(more);
    script.with(|tcp| tcp.tahoe.guard = guard)
}

#[test]
fn guard_prevents_tahoe_from_reacting_to_its_own_duplicates() {
    // Slow start retransmits segments 9 to 12, which the receiver already has. This causes four duplicate ACKs, which
    // would trigger another retransmit if there were no guard.
    let repair = ["0.0 0-15", "1.0 16-21 3*", "2.0 4-5*", "3.0 6-9*", "4.0 10-12* 22-27"];
    let echoes = [
        "5.0 22-27* 28-31",
        "6.0 28-31* 32-34",
        "7.0 32-34* 35-36",
        "8.0 35-36* 37-38",
        "9.0 39",
    ];
    assert_trace(&tahoe(false, &[]).play(), &[&repair[..], &echoes].concat());
    assert_trace(
        &tahoe(true, &[]).play(),
        &[&repair[..], &["5.0 28-36", "6.0 37-39"]].concat(),
    );
}

#[test]
fn a_guard_applies_to_tahoe_after_a_timeout() {
    // All but two of the duplicate ACKs are lost, so a timeout occurs before a fast retransmit.
    let play = |guard| {
        let trace = tahoe(guard, &[]).lose_acks(3..15).play();
        (trace.timeouts, trace.fast_retransmits)
    };
    assert_eq!(play(true), (1, 0));
    assert_eq!(play(false).0, 1);
    assert!(play(false).1 > 0);
}

#[test]
fn guard_allows_tahoe_fast_retransmit_of_later_data() {
    // Segment 22 is packet 32; it is the first segment whose duplicate ACKs may be caused by retransmissions. Segment
    // 23 follows.
    for (lost, fast_retransmits, timeouts) in [(32, 1, 1), (33, 2, 0)] {
        let trace = tahoe(true, &[lost]).play();
        assert_eq!(
            (trace.fast_retransmits, trace.timeouts),
            (fast_retransmits, timeouts),
            "{trace}"
        );
    }
}

#[test]
fn timeout_only_guard_allows_consecutive_fast_retransmits() {
    // Segments 2 and 4 of one window are lost. A timeout follows, and its go-back-N causes duplicate ACKs.
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
fn fast_retransmits_have_a_minimum_interval() {
    // Recovery algorithms that handle each loss separately see both losses in one window; the others see them in two.
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
    // The duplicate ACKs arrive after six RTTs, and the ACK of the retransmission after thirteen RTTs; the minimum RTO
    // is ten RTTs.
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
        // Of the ACKs sent after the hole (ACK 3 and later), two arrive.
        let trace = Script::new(kind).segments(16).lose(&[3]).lose_acks(5..15).play();
        // RACK waits for a quarter of an RTT instead of counting duplicate ACKs.
        let expected = if kind == Rack { (1, 0) } else { (0, 1) };
        assert_eq!((trace.fast_retransmits, trace.timeouts), expected, "{kind:?}\n{trace}");
    }
}
