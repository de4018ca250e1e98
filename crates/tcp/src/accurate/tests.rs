//! The numbers of the RFC's appendix, and both ends beside each other.

use super::*;
use crate::config::{self, AckConfig, EcnConfig, PipeStart, RecoveryConfig, SackConfig, TcpConfig, TimerRestart};
use crate::receiver::Receiver;
use crate::segment::{DataSegment, Ecn};
use crate::sender::Sender;
use longpipe_events::{Span, Time};
use proptest::prelude::*;

const MSS: u64 = 512;

#[test]
fn rfc_9768_appendix_a_2_1_the_safest_case_of_nine_and_ten_packets() {
    // Packets newly acknowledged, d.cep, dSafer.cep; the first two are the RFC's.
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

#[test]
fn rfc_9768_section_3_2_1_counts_from_five_and_goes_round_at_eight() {
    let mut counter = Counter::default();
    let told: Vec<u8> = [false, true, true, true, true, false, true]
        .map(|marked| {
            counter.take(marked);
            counter.tell()
        })
        .to_vec();
    assert_eq!(told, [5, 6, 7, 0, 1, 1, 2]);
}

#[test]
fn rfc_9768_section_3_2_2_5_1_an_ack_leaves_where_marks_begin_and_at_the_second_of_which_none_told() {
    let mut counter = Counter::default();
    let mut due = |marked| {
        counter.take(marked);
        let due = counter.is_due();
        if due {
            counter.tell();
        }
        due
    };
    let seen = [false, true, true, true, true, false, false, true, false].map(&mut due);
    assert_eq!(seen, [false, true, false, true, false, false, false, true, false]);
}

fn config(segments: u32, sack: bool) -> TcpConfig {
    let mut config = config::tests::config();
    config.ecn = EcnConfig::Accurate { abe: false };
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

/// A sender and a receiver, between whom packets are marked or lost as the list says, and ACKs lost where `keeps` says so;
/// marked packets as the receiver counts them, and as the sender does.
fn counts(config: &TcpConfig, fates: &[(bool, bool)], mut keeps: impl FnMut(usize) -> bool) -> (u64, u64) {
    let (mut sender, mut receiver) = (Sender::new(config, Span(0)), Receiver::new(config));
    sender.write_up_to(fates.len() as u64 * MSS);
    let (mut arrived, mut counted, mut acks, mut now) = (0, 0, 0, Time(0));
    for &(marked, lost) in fates {
        now += Span(1);
        let Some(segment) = sender.poll_transmit(now) else {
            break;
        };
        if lost {
            continue;
        }
        let marked = marked && segment.ecn.capable;
        arrived += u64::from(marked);
        let ecn = Ecn { marked, ..segment.ecn };
        receiver.on_segment(now, &DataSegment { ecn, ..segment });
        while let Some(ack) = receiver.poll_transmit(now) {
            acks += 1;
            if keeps(acks) {
                sender.on_ack(now, &ack);
                counted = sender.marks_told();
            }
        }
    }
    // The last ACK arrives.
    receiver.tell_again();
    if let Some(ack) = receiver.poll_transmit(now) {
        sender.on_ack(now, &ack);
        counted = sender.marks_told();
    }
    (arrived, counted)
}

proptest! {
    #[test]
    fn where_no_ack_is_lost_the_sender_counts_what_the_receiver_saw(
        segments in 1u32..=7,
        sack in any::<bool>(),
        fates in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.05)), 1..200),
    ) {
        let (arrived, counted) = counts(&config(segments, sack), &fates, |_| true);
        prop_assert_eq!(counted, arrived);
    }

    #[test]
    fn where_acks_of_fewer_than_eight_packets_are_lost_nothing_is(
        which in prop::collection::vec(any::<bool>(), 200),
        fates in prop::collection::vec((any::<bool>(), Just(false)), 1..200),
    ) {
        // Every packet has an ACK, of which at most six in a row are lost.
        let mut lost = 0;
        let keeps = |ack: usize| {
            lost = if lost < 6 && which[ack % which.len()] { lost + 1 } else { 0 };
            lost == 0
        };
        let (arrived, counted) = counts(&config(1, true), &fates, keeps);
        prop_assert_eq!(counted, arrived);
    }

    #[test]
    fn where_more_are_lost_it_counts_no_fewer(run in 8usize..40, fates in prop::collection::vec((any::<bool>(), Just(false)), 64)) {
        let (arrived, counted) = counts(&config(1, true), &fates, |ack| !(5..5 + run).contains(&ack));
        prop_assert!(counted >= arrived, "{} {}", counted, arrived);
    }
}
