//! RACK-TLP and PRR.

use crate::script::{Script, Trace, MSS, RTT};
use crate::{assert_trace, repair, Repair};
use longpipe_tcp::config::RecoveryKind::Rack;
use longpipe_tcp::config::TimerConfig;

fn probing() -> Script {
    Script::new(Rack).segments(16).with(|tcp| tcp.rack.probe = true)
}

fn stamped(undo: bool) -> Script {
    Script::new(Rack).segments(80).with(|tcp| {
        tcp.rack.undo = undo;
        let min_rto_ps = 10 * RTT;
        tcp.timer = TimerConfig::Fine {
            granularity_ps: RTT / 100,
            min_rto_ps,
            max_rto_ps: 64 * min_rto_ps,
            initial_rto_ps: min_rto_ps,
            timestamps: true,
        };
    })
}

#[test]
fn prr_keeps_pipe_at_ssthresh_after_loss_detection() {
    // Three ACKs open the window by six segments, and two more ACKs release one segment each (RFC 3042); the third
    // duplicate ACK reveals the loss.
    let trace = Script::new(Rack).lose(&[3]).play();
    assert_trace(&trace, &["0.0 0-15", "1.0 16-23 3* 24-27", "2.0 28-36", "3.0 37-39"]);
}

#[test]
fn rfc_9937_many_losses_are_repaired_at_the_rate_at_which_data_arrives() {
    // Nine of 16 segments are lost. When the threshold is nine, eight other segments and the first retransmission are
    // in flight.
    let trace = Script::new(Rack).lose(&[3, 4, 5, 6, 7, 8, 9, 10, 11]).play();
    assert_trace(
        &trace,
        &["0.0 0-15", "1.0 16-23 3*", "2.0 4-11* 24", "3.0 25-33", "4.0 34-39"],
    );
}

#[test]
fn after_a_timeout_only_lost_segments_are_retransmitted_in_slow_start() {
    let trace = Script::new(Rack).lose(&(0..16).collect::<Vec<_>>()).play();
    let start = ["0.0 0-15", "10.0 0*", "11.0 1-2*", "12.0 3-6*", "13.0 7-14*"];
    assert_eq!(trace.to_string().lines().take(5).collect::<Vec<_>>(), start, "{trace}");
    let trace = Script::new(Rack).segments(16).lose(&[0, 1, 2, 3, 16, 17, 18]).play();
    let retransmissions = trace.sent.iter().filter(|sent| sent.retransmission).count();
    assert_eq!((trace.timeouts, retransmissions), (0, 7), "{trace}");
}

#[test]
fn rfc_8985_section_3_4_a_lost_retransmission_costs_an_rtt_and_no_timeout() {
    let trace = Script::new(Rack).lose(&[3, 22]).play();
    assert_eq!((trace.timeouts, repair(&trace)), (0, Repair::In(2.0)), "{trace}");
}

#[test]
fn rfc_8985_section_7_a_lost_tail_is_repaired_by_a_probe_two_rtts_later() {
    // The repair takes two RTTs plus 200 ms for the delayed ACK of a single segment; with the retransmission timer it
    // would take ten RTTs.
    assert_trace(&probing().lose(&[15]).play(), &["0.0 0-15", "5.0 15*"]);
    // Segments that the probe's ACK does not cover were sent earlier than the probe, so they are lost.
    let trace = probing().lose(&[12, 13, 14, 15]).play();
    assert_trace(&trace, &["0.0 0-15", "3.0 15*", "4.0 12*", "5.0 13-14*"]);
    let without = Script::new(Rack).segments(16).lose(&[15]).play();
    assert_trace(&without, &["0.0 0-15", "11.0 15*"]);
}

#[test]
fn rfc_8985_section_6_2_after_reordering_the_window_delays_loss_detection() {
    let script = || stamped(true).delay(3, 0.1);
    let once = script().play();
    assert_eq!(once.fast_retransmits, 1, "{once}");
    // The 40th packet belongs to the second flight and is equally late; by then RACK waits for a quarter of an RTT.
    let twice = script().delay(40, 0.1).play();
    assert_eq!(twice.fast_retransmits, 1, "{twice}");
    let late = script().delay(40, 0.4).play();
    assert_eq!(late.fast_retransmits, 2, "{late}");
}

#[test]
fn rfc_3522_an_ack_of_the_original_transmission_undoes_the_reduction() {
    let rounds = |undo| stamped(undo).delay(3, 0.1).play();
    let (taken_back, kept) = (rounds(true), rounds(false));
    let after = |trace: &Trace| {
        trace
            .sent
            .iter()
            .filter(|sent| sent.round_trips > 1.5 && sent.round_trips < 2.5)
            .count()
    };
    assert!(after(&taken_back) > after(&kept) + 10, "{taken_back}\n{kept}");
}

/// Returns a script without timestamps, so that only D-SACK or the ACKs after a timeout can reveal spurious
/// retransmissions.
fn unstamped(dsack: bool, frto: bool) -> Script {
    Script::new(Rack).segments(120).with(|tcp| {
        (tcp.rack.dsack, tcp.rack.frto) = (dsack, frto);
        tcp.initial_ssthresh_bytes = Some(20 * MSS);
    })
}

#[test]
fn rfc_2883_dsack_of_the_only_retransmission_undoes_the_reduction() {
    // The fourth packet is 0.4 RTT late: a recovery starts, and its retransmission arrives as a duplicate.
    let late = |dsack| unstamped(dsack, false).delay(3, 0.4).play();
    let (with_dsack, without_dsack) = (late(true), late(false));
    assert_eq!(
        (with_dsack.fast_retransmits, without_dsack.fast_retransmits),
        (1, 1),
        "{with_dsack}"
    );
    assert!(with_dsack.end < without_dsack.end, "{with_dsack}\n{without_dsack}");
    // The retransmission was necessary, so no duplicate arrives and nothing is undone.
    let lost = |dsack| unstamped(dsack, false).lose(&[3]).play();
    assert_eq!(lost(true).to_string(), lost(false).to_string());
}

#[test]
fn rfc_5682_spurious_timeout_is_undone_after_one_retransmission() {
    // The second flight is delayed for longer than the RTO.
    let late = |frto| {
        (16..36)
            .fold(unstamped(true, frto), |script, packet| script.delay(packet, 11.0))
            .play()
    };
    let (with_frto, without_frto) = (late(true), late(false));
    let retransmissions = |trace: &Trace| trace.sent.iter().filter(|sent| sent.retransmission).count();
    assert_eq!((with_frto.timeouts, retransmissions(&with_frto)), (1, 1), "{with_frto}");
    assert!(
        retransmissions(&without_frto) > 1 && with_frto.end < without_frto.end,
        "{without_frto}"
    );
}

#[test]
fn rfc_5682_after_a_genuine_timeout_all_lost_segments_are_retransmitted() {
    let flight: Vec<u64> = (4..16).collect();
    let lost = |frto| unstamped(false, frto).lose(&flight).play();
    let (with_frto, without_frto) = (lost(true), lost(false));
    assert_eq!(with_frto.timeouts, without_frto.timeouts, "{with_frto}");
    // F-RTO sends two new segments first, which takes one RTT.
    assert!(with_frto.end <= without_frto.end + 2.0, "{with_frto}\n{without_frto}");
}

#[test]
fn linux_undelivered_retransmission_starts_another_recovery() {
    // The fourth segment is lost twice, and a segment sent after its first retransmission is lost once. Of the two
    // retransmissions that follow, one arrives before the other.
    let play = |successive| {
        let script = Script::new(Rack).segments(120);
        script
            .with(|tcp| tcp.rack.successive = successive)
            .lose(&[3, 24, 27])
            .play()
    };
    let (followed, alone) = (play(true), play(false));
    let fourth = |trace: &Trace| {
        let rounds = trace.sent.iter().map(|sent| sent.round_trips);
        rounds.filter(|&round| (2.9..3.1).contains(&round)).count()
    };
    assert_eq!((fourth(&followed), fourth(&alone)), (7, 9), "{followed}\n{alone}");
    assert_eq!(
        (followed.fast_retransmits, alone.fast_retransmits),
        (2, 1),
        "{followed}"
    );
}

/// Eifel, D-SACK and F-RTO each undo a timeout caused by a delayed flight. RACK then detects the segments of the flight
/// that were lost (RFC 8985 section 6.2), without a second timeout.
#[test]
fn segments_lost_before_an_undone_timeout_are_repaired_without_another_timeout() {
    let held_up = |script: Script| {
        (16..36)
            .filter(|packet| ![24, 25, 26].contains(packet))
            .fold(script, |script, packet| script.delay(packet, 11.0))
            .lose(&[24, 25, 26])
            .play()
    };
    for (undo, script) in [
        (
            "Eifel",
            stamped(true)
                .segments(120)
                .with(|tcp| tcp.initial_ssthresh_bytes = Some(20 * MSS)),
        ),
        ("D-SACK", unstamped(true, false)),
        ("F-RTO", unstamped(false, true)),
    ] {
        let trace = held_up(script);
        assert_eq!(trace.timeouts, 1, "{undo}\n{trace}");
    }
}

/// Undoing a fast recovery also clears the loss marks of segments that are really lost; their loss is detected again
/// without a timeout.
#[test]
fn segments_lost_in_an_undone_recovery_are_repaired_without_a_timeout() {
    for lost in 5..12 {
        let trace = stamped(true).delay(3, 0.1).lose(&(5..=lost).collect::<Vec<_>>()).play();
        assert_eq!(trace.timeouts, 0, "5 to {lost}\n{trace}");
    }
}

/// RFC 8985 section 6.2: segment 29 is sent before the second retransmission of segment 3. The delivery of this
/// retransmission ends the recovery and leaves no SACKed segment. RACK declares segment 29 lost after a quarter of the
/// minimum RTT, plus 2 ms and up to two ticks of 4 ms as in Linux. The retransmission timer would expire after ten
/// RTTs.
#[test]
fn loss_before_the_last_retransmission_is_detected() {
    let trace = Script::new(Rack).segments(30).lose(&[3, 24, 30]).play();
    assert_trace(&trace, &["0.0 0-15", "1.0 16-23 3* 24-27", "2.0 28-29 3*", "3.3 29*"]);
}
