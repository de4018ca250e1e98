//! RFC 6675 rule by rule, compared with ns-2's SACK where the two differ.

use crate::assert_trace;
use crate::script::{Script, Trace, MSS};
use longpipe_tcp::config::RecoveryKind::{Rfc6675, Sack};

/// Limits the window to 16 segments, so that it grows only little.
fn settled(script: Script) -> Script {
    script.with(|tcp| tcp.initial_ssthresh_bytes = Some(16 * MSS))
}

fn both(change: impl Fn(Script) -> Script) -> [Trace; 2] {
    [Rfc6675, Sack].map(|kind| change(Script::new(kind).segments(30)).play())
}

#[test]
fn section_5_step_3_a_duplicate_ack_releases_a_new_segment_until_the_loss_is_detected() {
    let [rfc, sack] = both(|script| settled(script).segments(24).lose(&[0]));
    assert_trace(&rfc, &["0.0 0-15", "1.0 16-17 0* 18-22", "2.0 23"]);
    assert_trace(&sack, &["0.0 0-15", "1.0 0* 16-22", "2.0 23"]);
}

#[test]
fn section_5_step_2_one_ack_with_enough_sacked_data_starts_a_recovery() {
    // All duplicate ACKs except for the last two are lost; the first of these covers twelve segments.
    let [rfc, sack] = both(|script| settled(script).lose(&[3]).lose_acks(3..13));
    assert_trace(&rfc, &["0.0 0-15", "1.0 16-18 3* 19-22", "2.0 23-29"]);
    // With SACK, the third duplicate ACK is caused by a segment that the first two duplicate ACKs released.
    assert_eq!(sack.to_string().lines().nth(2), Some("2.0 3*"), "{sack}");
}

#[test]
fn section_4_three_ranges_or_segments_indicate_a_loss() {
    // Segments 4, 6 and 8 have arrived, so there are three ranges beyond segment 3, and also beyond segments 5 and 7;
    // beyond segment 9, six consecutive segments have arrived.
    let [rfc, _] = both(|script| script.lose(&[3, 5, 7, 9]).lose_acks([3, 4]));
    assert_trace(&rfc, &["0.0 0-15", "1.0 16-21 3* 5* 7*", "2.0 9* 22-29"]);
}

#[test]
fn section_5_pipe_counts_data_in_flight_and_retransmissions() {
    // Nine of 24 segments are lost, and twelve have arrived. Including the retransmission, four segments are in flight,
    // five fewer than half of the window.
    let [rfc, sack] = both(|script| script.segments(40).lose(&(3..12).collect::<Vec<_>>()));
    assert_eq!(rfc.to_string().lines().nth(2), Some("2.0 4-11* 24"), "{rfc}");
    // SACK's PIPE counts lost segments until they are acknowledged.
    assert_eq!(sack.to_string().lines().nth(2), Some("2.0 4-5*"), "{sack}");
}

#[test]
fn nextseg_rule_3_unmarked_hole_is_sent_without_new_data() {
    // One segment beyond segment 14 arrived. After segment 3 is repaired, the rescue retransmission sends segment 14
    // needlessly, because its original is still in flight.
    let [rfc, _] = both(|script| script.segments(16).lose(&[3, 14]));
    assert_trace(&rfc, &["0.0 0-15", "1.0 3* 14*", "2.0 14*"]);
}

#[test]
fn nextseg_rule_4_a_lost_tail_is_rescued_once_the_first_retransmission_is_acknowledged() {
    let [rfc, sack] = both(|script| script.segments(16).lose(&[3, 15]));
    assert_trace(&rfc, &["0.0 0-15", "1.0 3*", "2.0 15*"]);
    assert_trace(&sack, &["0.0 0-15", "1.0 3*", "12.0 15*"]);
    // The rescue retransmission arrives first, and its ACK shows that segments 17 and 18 are also lost.
    let [rfc, sack] = both(|script| settled(script).segments(20).lose(&[10, 17, 18, 19]));
    assert_trace(&rfc, &["0.0 0-15", "1.0 16-19 10*", "2.0 19*", "3.0 17-18*"]);
    assert_eq!((rfc.timeouts, sack.timeouts), (0, 1), "{sack}");
}

#[test]
fn nextseg_rule_4_there_is_one_rescue_per_recovery() {
    let [rfc, _] = both(|script| script.segments(16).lose(&[3, 15, 17]));
    assert_trace(&rfc, &["0.0 0-15", "1.0 3*", "2.0 15*", "12.0 15*"]);
}

#[test]
fn section_5_1_delivered_segments_are_not_retransmitted_after_timeout() {
    // The ACK of the retransmission after the timeout shows that of the last 14 segments, only the last one arrived.
    let [rfc, sack] = both(|script| script.segments(16).lose(&(2..15).collect::<Vec<_>>()));
    assert_eq!(rfc.to_string().lines().last(), Some("14.0 9-14*"), "{rfc}");
    assert_eq!(sack.to_string().lines().last(), Some("14.0 9-15*"), "{sack}");
}

#[test]
fn section_5_1_recovery_waits_for_data_lost_at_a_timeout() {
    // Packet 18 is the retransmission of segment 4 in slow start. Segments 5 to 8 reveal that it was lost, and a
    // timeout repairs the loss.
    let lost: Vec<u64> = (2..15).chain([18]).collect();
    let [rfc, _] = both(|script| script.segments(16).lose(&lost));
    assert_eq!((rfc.fast_retransmits, rfc.timeouts), (0, 2), "{rfc}");
}

#[test]
fn section_2_an_ack_of_new_data_that_reveals_a_loss_starts_a_recovery() {
    // ACKs 2 to 11 are lost. ACK 12 acknowledges segment 2 and reports ten segments beyond segment 3.
    let [rfc, sack] = both(|script| settled(script).lose(&[3]).lose_acks(2..12));
    assert_eq!(rfc.to_string().lines().nth(1), Some("1.0 16-17 3* 18-22"), "{rfc}");
    assert_eq!(sack.to_string().lines().nth(1), Some("1.0 16-18"), "{sack}");
}

#[test]
fn losses_of_two_windows_take_two_recoveries() {
    let [rfc, _] = both(|script| script.segments(60).lose(&[3, 26]));
    assert_eq!((rfc.fast_retransmits, rfc.timeouts), (2, 0), "{rfc}");
}

#[test]
fn fack_starts_recovery_at_one_distant_sack() {
    // Segment 7 alone is five segments beyond segment 3. Including the retransmission, twelve of 19 segments are then
    // in flight, and the window is reduced to eight.
    let [rfc, fack] = [false, true].map(|fack| {
        let script = Script::new(Rfc6675).with(|tcp| tcp.rfc6675.fack = fack);
        settled(script).segments(24).lose(&[3, 4, 5, 6]).play()
    });
    assert_eq!(rfc.to_string().lines().nth(1), Some("1.0 16-20 3-5*"), "{rfc}");
    assert_eq!(fack.to_string().lines().nth(1), Some("1.0 16-18 3-6* 19"), "{fack}");
    assert_eq!((fack.fast_retransmits, fack.timeouts), (1, 0), "{fack}");
}
