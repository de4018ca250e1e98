//! Tests with the examples of RFC 9768 appendix A, and tests of sender and receiver together.

use super::*;
use crate::config::{self, AckConfig, EcnConfig, PipeStart, RecoveryConfig, SackConfig, TcpConfig, TimerRestart};
use crate::receiver::Receiver;
use crate::segment::{DataSegment, Ecn, Opening};
use crate::sender::Sender;
use longpipe_events::{Span, Time};
use proptest::prelude::*;

const MSS: u64 = 512;

#[test]
fn rfc_9768_appendix_a_2_1_the_safest_case_of_nine_and_ten_packets() {
    // Columns: packets newly acknowledged, d.cep, dSafer.cep. The first two rows are from the RFC.
    let table = [
        (9, 2, 2),
        (10, 2, 10),
        (8, 0, 8),
        (7, 0, 0),
        (7, 7, 7),
        (15, 7, 15),
        (16, 0, 16),
        (1, 3, 3),
    ];
    for (newly, least, safer) in table {
        assert_eq!(safest(newly, least), safer, "{newly} {least}");
    }
}

fn of(marked: bool) -> Ecn {
    Ecn {
        capable: true,
        marked,
        ..Ecn::default()
    }
}

#[test]
fn rfc_9768_appendix_a_1_byte_counters_wrap_at_2_24_and_never_decrease() {
    // Columns: s.ceb, counter in the option, increase. The first row is from the RFC.
    let table = [
        (33_554_433, 1_461, 1_460),
        (0, 1_460, 1_460),
        (0xff_ffff, 0x100_0003, 4),
        (0x7ff_ff00, 0x800_0100, 0x200),
        (2_920, 1_460, -1_460),
        (0x100_0000, 0xff_ffff, -1),
    ];
    for (before, now, new) in table {
        assert_eq!(newly_marked(ByteCounts::new(1, now), before), new, "{before} {now}");
    }
}

#[test]
fn rfc_9768_appendix_a_2_2_bytes_show_whether_the_field_has_wrapped() {
    // Columns: marked bytes, d.cep, dSafer.cep, and the number of marked packets that the bytes select.
    for (bytes, least, safest, packets) in [(1_460, 0, 8, 8), (1_460, 2, 10, 2), (10_200, 7, 15, 7)] {
        assert_eq!(
            likely(bytes, 1_460, least, safest),
            packets,
            "example of the RFC: {bytes} {least} {safest}"
        );
    }
    let mss = 1_000;
    let table = [
        // If eight more packets were marked, the mean payload would be less than half of an MSS.
        (2_000, 2, 10, 2),
        (0, 0, 8, 0),
        // These bytes do not fit into two packets.
        (2_001, 2, 10, 10),
        (10_000, 2, 10, 10),
        // If the safest number is correct, the mean payload is at least half of an MSS.
        (5_000, 5, 10, 10),
        (4_999, 5, 10, 5),
    ];
    for (bytes, least, safest, packets) in table {
        assert_eq!(likely(bytes, mss, least, safest), packets, "{bytes} {least} {safest}");
    }
}

#[test]
fn rfc_9768_section_3_2_1_byte_counters_count_payload_from_their_initial_values() {
    let mut counter = Counter::default();
    let reported = |counter: &Counter| (counter.counts().unmarked(), counter.counts().marked());
    assert_eq!(reported(&counter), (1, 0));
    for (ecn, bytes) in [
        (of(false), 1_460),
        (of(true), 400),
        (Ecn::default(), 1_460),
        (of(true), 1_460),
    ] {
        counter.take(ecn, bytes);
    }
    assert_eq!(reported(&counter), (1_461, 1_860));
}

#[test]
fn rfc_9768_section_3_2_1_the_packet_counter_starts_at_five_and_wraps_at_eight() {
    let mut counter = Counter::default();
    let reported: Vec<u8> = [false, true, true, true, true, false, true]
        .map(|marked| {
            counter.take(of(marked), 1);
            counter.next_ace()
        })
        .to_vec();
    assert_eq!(reported, [5, 6, 7, 0, 1, 1, 2]);
}

#[test]
fn rfc_9768_section_3_2_2_5_1_the_first_mark_and_two_unreported_marks_trigger_acks() {
    let mut counter = Counter::default();
    let mut due = |marked| {
        counter.take(of(marked), 1);
        let due = counter.is_due();
        if due {
            counter.next_ace();
        }
        due
    };
    let seen = [false, true, true, true, true, false, false, true, false].map(&mut due);
    assert_eq!(seen, [false, true, false, true, false, false, false, true, false]);
}

#[test]
fn rfc_9768_section_3_2_3_3_end_of_marks_waits_for_the_next_ack() {
    let mut receiver = Receiver::new(&config(2, true, true));
    let mut sequence = 0;
    let reported = [false, false, true, false, false, false].map(|marked| {
        let segment = DataSegment {
            sequence,
            length: 100,
            ecn: of(marked),
            ..DataSegment::default()
        };
        sequence += 100;
        receiver.on_segment(Time(0), &segment);
        receiver.poll_transmit(Time(0)).map(|ack| ack.counts.marked())
    });
    // Every second packet is acknowledged, and the marked one, whose ACK begins another pair.
    assert_eq!(reported, [None, Some(0), Some(100), None, Some(100), None]);
}

#[test]
fn a_syn_ack_has_no_counters() {
    let mut receiver = Receiver::new(&config(1, true, true));
    let mut answer = |opening| {
        receiver.on_segment(
            Time(0),
            &DataSegment {
                opening,
                length: u32::from(opening == Opening::Over),
                ..DataSegment::default()
            },
        );
        receiver.poll_transmit(Time(0)).expect("an ACK")
    };
    let syn = answer(Opening::Syn(8));
    assert_eq!((syn.counts, syn.packet_bytes()), (ByteCounts::NONE, 48));
    let ack = answer(Opening::Over);
    assert_eq!((ack.counts, ack.packet_bytes()), (ByteCounts::new(1, 0), 52));
}

fn config(segments: u32, sack: bool, option: bool) -> TcpConfig {
    let mut config = config::tests::config();
    config.ecn = EcnConfig::Accurate { abe: false, option };
    config.ack = AckConfig::Delayed {
        segments,
        timeout_ps: 1_000,
        quick: 0,
    };
    config.initial_window_segments = 64;
    if sack {
        config.recovery = RecoveryConfig::Sack(SackConfig {
            blocks: 3,
            pipe: PipeStart::Window,
            guard: true,
            timer_restart: TimerRestart::Every,
        });
    }
    config
}

/// Connects a sender and a receiver. `fates` lists which packets are marked and which are lost; `keeps` determines
/// which ACKs arrive. Returns the marked packets and bytes received, and the numbers that the sender has counted.
fn counts(config: &TcpConfig, fates: &[(bool, bool)], mut keeps: impl FnMut(usize) -> bool) -> [(u64, u64); 2] {
    let (mut sender, mut receiver) = (Sender::new(config, Span(0)), Receiver::new(config));
    // The last segment is a short one.
    sender.write_up_to(fates.len() as u64 * MSS - MSS / 3);
    let (mut arrived, mut acks, mut now) = ((0, 0), 0, Time(0));
    for &(marked, lost) in fates {
        now += Span(1);
        let Some(segment) = sender.poll_transmit(now) else {
            break;
        };
        if lost {
            continue;
        }
        let marked = marked && segment.ecn.capable;
        if marked {
            arrived = (arrived.0 + 1, arrived.1 + u64::from(segment.length));
        }
        let ecn = Ecn { marked, ..segment.ecn };
        receiver.on_segment(now, &DataSegment { ecn, ..segment });
        while let Some(ack) = receiver.poll_transmit(now) {
            acks += 1;
            if keeps(acks) {
                sender.on_ack(now, &ack);
            }
        }
    }
    // Repeats the last ACK without loss, so that at least one ACK arrives.
    receiver.repeat_ack();
    if let Some(ack) = receiver.poll_transmit(now) {
        sender.on_ack(now, &ack);
    }
    [arrived, (sender.reported_marks(), sender.reported_marked_bytes())]
}

proptest! {
    #[test]
    fn sender_and_receiver_counts_agree_without_lost_acks(
        segments in 1u32..=7,
        sack in any::<bool>(),
        fates in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.05)), 1..200),
    ) {
        let [arrived, counted] = counts(&config(segments, sack, false), &fates, |_| true);
        prop_assert_eq!(counted, (arrived.0, 0));
        let [arrived, counted] = counts(&config(segments, sack, true), &fates, |_| true);
        prop_assert_eq!(counted, arrived);
    }

    #[test]
    fn no_mark_is_missed_if_lost_acks_cover_fewer_than_eight_packets(
        which in prop::collection::vec(any::<bool>(), 200),
        fates in prop::collection::vec((any::<bool>(), Just(false)), 1..200),
    ) {
        // Every packet is acknowledged, and at most six consecutive ACKs are lost.
        let mut lost = 0;
        let keeps = |ack: usize| {
            lost = if lost < 6 && which[ack % which.len()] { lost + 1 } else { 0 };
            lost == 0
        };
        let [arrived, counted] = counts(&config(1, true, false), &fates, keeps);
        prop_assert_eq!(counted.0, arrived.0);
    }

    #[test]
    fn with_more_lost_acks_the_sender_never_counts_too_few_marks(run in 8usize..40, fates in prop::collection::vec((any::<bool>(), Just(false)), 64)) {
        let [arrived, counted] = counts(&config(1, true, false), &fates, |ack| !(5..5 + run).contains(&ack));
        prop_assert!(counted.0 >= arrived.0, "{} {}", counted.0, arrived.0);
    }

    #[test]
    fn options_report_all_marked_bytes_regardless_of_lost_acks(
        segments in 1u32..=7,
        sack in any::<bool>(),
        which in prop::collection::vec(prop::bool::weighted(0.2), 200),
        fates in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.05)), 1..200),
    ) {
        let [arrived, counted] = counts(&config(segments, sack, true), &fates, |ack| which[ack % which.len()]);
        prop_assert_eq!(counted.1, arrived.1);
    }
}
