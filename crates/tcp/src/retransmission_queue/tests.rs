//! Tests of the retransmission queue's RTT and rate samples, and a check that each byte is counted only once.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn rtx_queue() -> RetransmissionQueue {
    RetransmissionQueue::new(Wants {
        rates: true,
        ..Wants::RECORDS
    })
}

fn sent(rtx_queue: &mut RetransmissionQueue, segments: std::ops::Range<u64>, at: u64) {
    for segment in segments {
        rtx_queue.on_sent(Time(at), 10 * segment, 10 * (segment + 1), 10 * (segment + 1));
    }
}

#[test]
fn the_rtt_is_that_of_the_latest_segment_acknowledged_unless_retransmitted() {
    let mut rtx_queue = rtx_queue();
    sent(&mut rtx_queue, 0..2, 100);
    sent(&mut rtx_queue, 2..4, 130);
    assert_eq!(
        rtx_queue.on_ack(Time(200), 10, None, [].into_iter()).rtt,
        Some(Span(100))
    );
    // Karn's algorithm: the ACK of a retransmitted segment is ambiguous, unless both transmissions took place at the
    // same time.
    rtx_queue.on_sent(Time(210), 10, 20, 40);
    rtx_queue.on_sent(Time(210), 10, 20, 40);
    let summary = rtx_queue.on_ack(Time(300), 20, None, [].into_iter());
    assert_eq!(
        (summary.rtt, summary.least_rtt, summary.lost),
        (None, Some(Span(100)), 20)
    );
    let summary = rtx_queue.on_ack(Time(301), 40, None, [].into_iter());
    assert_eq!(
        (summary.rtt, summary.least_rtt, summary.lost),
        (Some(Span(171)), Some(Span(100)), 0)
    );
    assert_eq!(rtx_queue.in_flight(40), 0);
}

/// RTT samples follow tcp_clean_rtx_queue and tcp_sacktag_one of Linux 6.1: `first_ackt`, `last_ackt`, `first_sackt`,
/// `last_sackt`.
#[test]
fn linux_rtt_samples_come_from_newly_reported_segments() {
    let sampled = |summary: AckSummary| (summary.seq_rtt.map(|rtt| rtt.0), summary.rtt.map(|rtt| rtt.0));
    let begun = || {
        let mut rtx_queue = with_losses();
        sent_apart(&mut rtx_queue, 0..6, 100);
        // Segments 2 and 3 arrive before segment 1: SRTT uses the first sample, controllers use the last one.
        assert_eq!(
            sampled(rtx_queue.on_ack(Time(200), 10, None, [(20, 40)].into_iter())),
            (Some(100), Some(97))
        );
        rtx_queue
    };
    // An ACK of segments 1 to 3 measures segment 1; the ACK of segments 4 and 5, which has a SACK block, gives one
    // sample of each kind.
    let mut rtx_queue = begun();
    assert_eq!(
        sampled(rtx_queue.on_ack(Time(300), 40, None, [].into_iter())),
        (Some(199), Some(199))
    );
    let mut rtx_queue = begun();
    let summary = rtx_queue.on_ack(Time(300), 20, Some(Time(101)), [(50, 60)].into_iter());
    assert_eq!(sampled(summary), (Some(199), Some(195)));
    // Retransmitted segments and segments that were SACKed before give no sample; a timestamp echo or a newly SACKed
    // segment gives one. An echo gives at least a millisecond.
    let millisecond = Span::millis(1).0;
    for (echo, blocks, expected) in [
        (None, vec![], (None, None)),
        (Some(Time(250)), vec![], (Some(millisecond), Some(millisecond))),
        (Some(Time(250)), vec![(50, 60)], (Some(195), Some(195))),
    ] {
        let mut rtx_queue = begun();
        rtx_queue.on_sent(Time(250), 10, 20, 60);
        assert_eq!(
            sampled(rtx_queue.on_ack(Time(300), 40, echo, blocks.into_iter())),
            expected
        );
        assert_eq!(rtx_queue.least_rtt(), Some(Span(expected.1.unwrap_or(97).min(97))));
    }
}

#[test]
fn linux_a_timestamp_echo_counts_milliseconds() {
    // Microseconds of the retransmission and of its ACK, and the difference of their timestamps [ms].
    for (sent, acked, expected) in [
        (0, 100_003, 100),
        (400, 100_403, 100),
        (998, 101_001, 101),
        (999, 100_999, 100),
        (500, 900, 1),
    ] {
        let mut rtx_queue = with_losses();
        rtx_queue.on_sent(Time(0), 0, 10, 10);
        rtx_queue.on_sent(Time(0) + Span::micros(sent), 0, 10, 10);
        let echo = Some(Time(0) + Span::micros(sent));
        let summary = rtx_queue.on_ack(Time(0) + Span::micros(acked), 10, echo, [].into_iter());
        assert_eq!(summary.rtt, Some(Span::millis(expected)), "{sent} {acked}");
        assert_eq!(summary.seq_rtt, summary.rtt);
    }
}

#[test]
fn the_delivery_rate_is_the_rate_of_the_bottleneck() {
    // Four segments leave at once and arrive at intervals of 25 ps; each ACK releases two more segments, which wait in
    // the queue.
    let mut rtx_queue = rtx_queue();
    sent(&mut rtx_queue, 0..4, 0);
    let mut rates = vec![];
    for segment in 0..40 {
        let now = 100 + 25 * segment;
        rates.extend(
            rtx_queue
                .on_ack(Time(now), 10 * (segment + 1), None, [].into_iter())
                .rate,
        );
        sent(&mut rtx_queue, 4 + 2 * segment..6 + 2 * segment, now);
    }
    // The first sample covers a whole RTT. All later samples have the bottleneck's rate of 10 bytes per 25 ps.
    assert_eq!((rates[0].delivered, rates[0].interval), (10, Span(100)));
    for rate in &rates[4..] {
        assert_eq!(rate.delivered * 25, rate.interval.0 * 10, "{rate:?}");
    }
    assert_eq!(rates[4].prior_delivered, 10);
    assert_eq!(rates[4].tx_in_flight, 40);
}

proptest! {
    #[test]
    fn each_byte_is_delivered_once_however_it_is_reported(
        acks in prop::collection::vec((0u64..30, prop::collection::vec((0u64..30, 1u64..8), 0..3), 0u64..30), 1..40),
    ) {
        let (mut rtx_queue, mut una, mut arrived, mut total) = (rtx_queue(), 0, BTreeSet::new(), 0);
        sent(&mut rtx_queue, 0..30, 0);
        for (now, (ack, blocks, retransmitted)) in acks.into_iter().enumerate() {
            una = una.max(ack);
            let blocks: Vec<_> = blocks
                .into_iter()
                .filter(|&(start, _)| start > una)
                .map(|(start, length)| (start, (start + length).min(30)))
                .collect();
            if retransmitted >= una {
                rtx_queue.on_sent(Time(now as u64), 10 * retransmitted, 10 * (retransmitted + 1), 300);
            }
            let summary = rtx_queue.on_ack(
                Time(now as u64),
                10 * una,
                None,
                blocks.iter().map(|&(start, end)| (10 * start, 10 * end)),
            );
            arrived.extend(0..una);
            blocks.into_iter().for_each(|(start, end)| arrived.extend(start..end));
            total += summary.delivered;
            prop_assert_eq!(total, 10 * arrived.len() as u64);
            prop_assert_eq!(rtx_queue.in_flight(300), 300 - total);
            let arrived_beyond = rtx_queue.segments.iter().filter(|segment| segment.arrived).count();
            prop_assert_eq!(rtx_queue.sacked_segments(), arrived_beyond);
        }
    }
}

/// Sends the segments with the given numbers through a retransmission queue with loss detection, the first at `at` and
/// the others at intervals of 1 ps.
fn sent_apart(rtx_queue: &mut RetransmissionQueue, segments: std::ops::Range<u64>, at: u64) {
    for (segment, at) in segments.zip(at..) {
        rtx_queue.on_sent(Time(at), 10 * segment, 10 * (segment + 1), 10 * (segment + 1));
    }
}

fn with_losses() -> RetransmissionQueue {
    RetransmissionQueue::new(Wants {
        losses: true,
        ..Wants::RECORDS
    })
}

#[test]
fn segments_lost_before_an_undone_timeout_are_detected_afterwards() {
    let mut rtx_queue = with_losses();
    sent(&mut rtx_queue, 0..4, 100);
    rtx_queue.lose_by_timeout(Time(150), Span(0));
    rtx_queue.unmark_lost();
    sent(&mut rtx_queue, 4..6, 200);
    let summary = rtx_queue.on_ack(Time(300), 10, None, [(40, 60)].into_iter());
    let latest = summary.latest.expect("segments arrived");
    let detected = rtx_queue.detect_losses(Time(400), &latest, Span(0));
    assert_eq!(detected.lost, 30);
}

/// A timeout marks segments as tcp_timeout_mark_lost of Linux 6.1 does (RFC 8985 section 6.3): segments 0 to 3 were
/// sent at times 100 to 103, and segment 1 was retransmitted at 180.
#[test]
fn a_timeout_keeps_segments_sent_within_an_rtt_in_flight_except_the_first() {
    for (rtt, lost) in [
        (0, vec![0, 1, 2, 3]),
        (98, vec![0, 2]),
        (97, vec![0, 2, 3]),
        (200, vec![0]),
    ] {
        let mut rtx_queue = with_losses();
        sent_apart(&mut rtx_queue, 0..4, 100);
        rtx_queue.on_sent(Time(180), 10, 20, 40);
        rtx_queue.lose_by_timeout(Time(200), Span(rtt));
        assert_eq!(rtx_queue.in_flight(40), 10 * (4 - lost.len() as u64), "{rtt}");
        let mut found = vec![];
        while let Some((sequence, length)) = rtx_queue.next_lost() {
            found.push(sequence / 10);
            rtx_queue.on_sent(Time(200), sequence, sequence + u64::from(length), 40);
        }
        assert_eq!(found, lost, "{rtt}");
        // Segments not marked lost remain subject to loss detection: they are lost once a later transmission has been
        // delivered.
        let kept = (1..4).filter(|segment| !lost.contains(segment)).count() as u64;
        let summary = rtx_queue.on_ack(Time(300), 10, None, [].into_iter());
        let detected = rtx_queue.detect_losses(Time(300), &summary.latest.expect("segment 0 arrived"), Span(0));
        assert_eq!(detected.lost, 10 * kept, "{rtt}");
    }
}

/// RFC 8985 section 6.2, step 2, condition 1: TSecr shows that the ACK was triggered by a transmission before the
/// latest one.
#[test]
fn ack_of_first_transmission_does_not_update_rack_time() {
    for (echo, lost) in [(None, 30), (Some(Time(500)), 30), (Some(Time(100)), 0)] {
        let mut rtx_queue = with_losses();
        sent(&mut rtx_queue, 0..4, 100);
        rtx_queue.lose_by_timeout(Time(400), Span(0));
        rtx_queue.on_sent(Time(500), 0, 10, 40);
        rtx_queue.unmark_lost();
        let summary = rtx_queue.on_ack(Time(600), 10, echo, [].into_iter());
        let detected = summary
            .latest
            .map(|latest| rtx_queue.detect_losses(Time(600), &latest, Span(0)));
        assert_eq!(detected.unwrap_or_default().lost, lost, "{echo:?}");
    }
}

/// An event between the start of a transfer and the undoing of a reduction.
#[derive(Clone, Debug)]
enum Operation {
    /// New segments are sent.
    New(u64),
    /// A lost segment is retransmitted.
    Retransmit,
    /// Processes an ACK of additional segments; each SACK block is given by its distance and its length in segments.
    Ack(u64, Vec<(u64, u64)>),
    /// The retransmission timer expires; the value of the variant is RACK.rtt.
    Timeout(u64),
    Undo,
}

fn event() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (1u64..6).prop_map(Operation::New),
        Just(Operation::Retransmit),
        (0u64..3, prop::collection::vec((1u64..12, 1u64..4), 0..3))
            .prop_map(|(acked, blocks)| Operation::Ack(acked, blocks)),
        (0u64..400).prop_map(Operation::Timeout),
        Just(Operation::Undo),
    ]
}

proptest! {
    /// RFC 8985 section 6.2, step 5: regardless of the events before an undo, the ACK of a later transmission reveals
    /// the loss of every segment in flight that was sent more than an RTT earlier.
    #[test]
    fn after_an_undo_loss_detection_covers_every_unacknowledged_segment(events in prop::collection::vec(event(), 1..60)) {
        let mut rtx_queue = with_losses();
        let (mut una, mut max, mut now) = (0, 0, 0);
        for event in events {
            now += 100;
            match event {
                Operation::New(segments) => {
                    sent_apart(&mut rtx_queue, max..max + segments, now);
                    max += segments;
                }
                Operation::Retransmit => {
                    if let Some((sequence, length)) = rtx_queue.next_lost() {
                        rtx_queue.on_sent(Time(now), sequence, sequence + u64::from(length), 10 * max);
                    }
                }
                Operation::Ack(acked, blocks) => {
                    una = max.min(una + acked);
                    let blocks: Vec<_> = blocks
                        .into_iter()
                        .map(|(gap, length)| ((una + gap).min(max), (una + gap + length).min(max)))
                        .filter(|(start, end)| start < end)
                        .map(|(start, end)| (10 * start, 10 * end))
                        .collect();
                    let summary = rtx_queue.on_ack(Time(now), 10 * una, None, blocks.into_iter());
                    if let Some(latest) = summary.latest {
                        rtx_queue.detect_losses(Time(now), &latest, Span(0));
                    }
                }
                Operation::Timeout(rtt) => rtx_queue.lose_by_timeout(Time(now), Span(rtt)),
                Operation::Undo => rtx_queue.unmark_lost(),
            }
        }
        rtx_queue.unmark_lost();
        let open = rtx_queue.in_flight(10 * max);
        prop_assert_eq!(rtx_queue.lost(), 0);
        sent(&mut rtx_queue, max..max + 1, now + 100);
        let summary = rtx_queue.on_ack(Time(now + 200), 10 * una, None, [(10 * max, 10 * max + 10)].into_iter());
        let latest = summary.latest.expect("a segment arrived");
        let detected = rtx_queue.detect_losses(Time(now + 200), &latest, Span(0));
        prop_assert_eq!(detected.lost, open);
        prop_assert_eq!(rtx_queue.in_flight(10 * max + 10), 0);
    }
}
