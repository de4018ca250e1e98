//! Tests of immediate and delayed ACKs, window autotuning, SACK blocks, and segments in any order.

use super::*;
use crate::config::{RecoveryConfig, Rfc6675Config};
use proptest::prelude::*;

fn segment(sequence: u64, length: u32) -> DataSegment {
    DataSegment {
        sequence,
        length,
        retransmission: false,
        ..DataSegment::default()
    }
}

fn receiver(ack: AckConfig, sack_blocks: u8) -> Receiver {
    let config = TcpConfig {
        ack,
        ..crate::config::tests::config()
    };
    Receiver {
        sack_blocks,
        ..Receiver::new(&config)
    }
}

fn acks(receiver: &mut Receiver, segments: &[(u64, u32)]) -> Vec<Option<u64>> {
    segments
        .iter()
        .map(|&(sequence, length)| {
            receiver.on_segment(Time(0), &segment(sequence, length));
            receiver.poll_transmit(Time(0)).map(|ack| ack.acknowledgement)
        })
        .collect()
}

#[test]
fn the_fields_used_by_most_segments_fit_into_a_cache_line_with_24_other_bytes() {
    assert!(std::mem::offset_of!(Receiver, fast_path) < 40);
}

#[test]
fn out_of_order_data_is_kept_and_acknowledged_at_once() {
    let mut receiver = receiver(AckConfig::Immediate {}, 0);
    let seen = acks(
        &mut receiver,
        &[(0, 10), (20, 10), (40, 10), (30, 10), (10, 10), (0, 10)],
    );
    assert_eq!(seen, [Some(10), Some(10), Some(10), Some(10), Some(50), Some(50)]);
}

#[test]
fn a_delayed_ack_waits_for_two_segments_but_not_past_a_hole() {
    let mut receiver = receiver(
        AckConfig::Delayed {
            segments: 2,
            timeout_ps: 200,
            quick: 0,
        },
        0,
    );
    let seen = acks(&mut receiver, &[(0, 10), (10, 10), (30, 10), (20, 10), (40, 10)]);
    assert_eq!(seen, [None, Some(20), Some(20), Some(40), None]);
    assert_eq!(receiver.next_timeout(), Time(200).into());
    receiver.on_timeout(Time(200));
    assert_eq!(
        receiver.poll_transmit(Time(200)).map(|ack| ack.acknowledgement),
        Some(50)
    );
}

#[test]
fn the_first_segments_are_acknowledged_at_once_if_configured() {
    let ack = AckConfig::Delayed {
        segments: 2,
        timeout_ps: 200,
        quick: 3,
    };
    let seen = acks(
        &mut receiver(ack, 0),
        &[(0, 10), (10, 10), (20, 10), (30, 10), (40, 10)],
    );
    assert_eq!(seen, [Some(10), Some(20), Some(30), None, Some(50)]);
}

#[test]
fn rfc_2018_section_4_the_most_recent_block_is_first_and_blocks_are_repeated() {
    let mut receiver = receiver(AckConfig::Immediate {}, 3);
    let mut seen = vec![];
    for sequence in [0, 20, 40, 60, 80, 30, 10] {
        receiver.on_segment(Time(0), &segment(sequence, 10));
        seen.push(
            receiver
                .poll_transmit(Time(0))
                .unwrap()
                .sack_blocks()
                .collect::<Vec<_>>(),
        );
    }
    let expected: [&[(u64, u64)]; 7] = [
        &[],
        &[(20, 30)],
        &[(40, 50), (20, 30)],
        &[(60, 70), (40, 50), (20, 30)],
        &[(80, 90), (60, 70), (40, 50)],
        &[(20, 50), (80, 90), (60, 70)],
        &[(80, 90), (60, 70)],
    ];
    assert_eq!(seen, expected);
}

proptest! {
    #[test]
    fn segments_in_any_order_are_all_delivered(order in Just((0u64..30).collect::<Vec<_>>()).prop_shuffle(), extra in prop::collection::vec(0u64..30, 0..30)) {
        let mut receiver = receiver(AckConfig::Immediate {}, 0);
        let mut held = std::collections::BTreeSet::new();
        for i in extra.into_iter().chain(order) {
            receiver.on_segment(Time(0), &segment(i * 10, 10));
            held.insert(i);
            let prefix = (0..).take_while(|i| held.contains(i)).count() as u64;
            prop_assert_eq!(receiver.delivered(), prefix * 10);
            prop_assert_eq!(receiver.highest(), (held.last().unwrap() + 1) * 10);
        }
        prop_assert!(receiver.out_of_order.is_empty());
    }

    /// Each segment has its own length, may overlap others, and may or may not trigger an ACK.
    #[test]
    fn cached_sack_blocks_equal_those_found_by_a_search(
        segments in prop::collection::vec((0u64..40, 1u32..4, prop::bool::weighted(0.8)), 1..60),
        most in 1u8..4,
    ) {
        let mut receiver = receiver(AckConfig::Immediate {}, most);
        for (start, length, answered) in segments {
            receiver.on_segment(Time(0), &segment(start * 10, length * 10));
            if answered {
                let mut searching = receiver.clone();
                searching.stored = SEVERAL;
                prop_assert_eq!(receiver.poll_transmit(Time(0)), searching.poll_transmit(Time(0)));
            }
        }
    }
}

#[test]
fn linux_acks_beyond_a_hole_are_combined_after_the_fourth() {
    let ack = |sack_delay_ps| AckConfig::Linux {
        timeout_ps: Span::millis(40).0,
        quick: 0,
        sack_delay_ps,
        least_round_trip: true,
        write_every_ps: 0,
        growing_window: false,
    };
    // Segments are sent at intervals of 0.1 ms, each with a delay of 50 ms; the fifth segment is lost.
    let reported = |sack_delay_ps| {
        let mut receiver = Receiver::new(&TcpConfig {
            ack: ack(sack_delay_ps),
            recovery: RecoveryConfig::Rfc6675(Rfc6675Config { blocks: 3, fack: false }),
            ..crate::config::tests::config()
        });
        let mut reported = vec![];
        for number in (0..40).filter(|&number| number != 4) {
            let sent = Time(Span::millis(1).0 / 10 * number);
            let now = sent + Span::millis(50);
            if receiver.next_timeout() <= now.into() {
                receiver.on_timeout(now);
                reported.extend(
                    receiver
                        .poll_transmit(now)
                        .map(|ack| (number, ack.sack_blocks().count())),
                );
            }
            receiver.on_segment(
                now,
                &DataSegment {
                    timestamp: sent.into(),
                    ..segment(number * 512, 512)
                },
            );
            reported.extend(
                receiver
                    .poll_transmit(now)
                    .map(|ack| (number, ack.sack_blocks().count())),
            );
        }
        reported
            .into_iter()
            .filter(|&(_, blocks)| blocks > 0)
            .map(|(number, _)| number)
            .collect::<Vec<_>>()
    };
    assert_eq!(reported(0), (5..40).collect::<Vec<_>>());
    // The fifth ACK waits and is combined with the ACKs of the following millisecond, as in a capture of Linux 6.1.176.
    assert_eq!(reported(Span::millis(1).0 * 11 / 10), [5, 6, 7, 8, 20, 31]);
}

/// tcp_sack_new_ofo_skb of Linux 6.1 reports each range at least once: here, every second of 200 segments, which are
/// sent at intervals of 0.2 ms, is lost.
#[test]
fn linux_compressed_acks_report_every_range_beyond_a_hole() {
    let mut receiver = Receiver::new(&TcpConfig {
        ack: AckConfig::Linux {
            timeout_ps: Span::millis(40).0,
            quick: 0,
            sack_delay_ps: Span::millis(1).0 * 11 / 10,
            least_round_trip: true,
            write_every_ps: 0,
            growing_window: false,
        },
        recovery: RecoveryConfig::Rfc6675(Rfc6675Config { blocks: 3, fack: false }),
        ..crate::config::tests::config()
    });
    let mut reported = std::collections::BTreeSet::new();
    for number in (0..200).filter(|number| number % 2 == 0 || *number < 5) {
        let sent = Time(Span::micros(200 * number).0);
        let now = sent + Span::millis(50);
        let mut due = vec![now];
        due.extend(receiver.next_timeout().get().filter(|&at| at <= now));
        due.sort();
        for at in due {
            if at < now {
                receiver.on_timeout(at);
            } else {
                let stamped = DataSegment {
                    timestamp: sent.into(),
                    ..segment(number * 512, 512)
                };
                receiver.on_segment(now, &stamped);
            }
            if let Some(ack) = receiver.poll_transmit(at) {
                reported.extend(ack.sack_blocks().map(|(start, _)| start / 512));
            }
        }
    }
    let expected: std::collections::BTreeSet<u64> = (6..198).filter(|number| number % 2 == 0).collect();
    assert!(reported.is_superset(&expected), "{:?}", expected.difference(&reported));
}
