//! Immediate and delayed ACKs, window autotuning, SACK blocks, and segments in any order.

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
fn what_most_segments_touch_fits_a_line_of_cache_beside_24_bytes() {
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
fn the_first_segments_are_acknowledged_at_once_if_that_is_asked_for() {
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
fn rfc_2018_section_4_blocks_come_most_recent_first_and_are_repeated() {
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
    fn any_order_of_segments_delivers_all(order in Just((0u64..30).collect::<Vec<_>>()).prop_shuffle(), extra in prop::collection::vec(0u64..30, 0..30)) {
        let mut receiver = receiver(AckConfig::Immediate {}, 0);
        let mut held = std::collections::BTreeSet::new();
        for i in extra.into_iter().chain(order) {
            receiver.on_segment(Time(0), &segment(i * 10, 10));
            held.insert(i);
            let prefix = (0..).take_while(|i| held.contains(i)).count() as u64;
            prop_assert_eq!(receiver.delivered(), prefix * 10);
            prop_assert_eq!(receiver.highest(), (held.last().unwrap() + 1) * 10);
        }
        prop_assert!(receiver.beyond.is_empty());
    }

    /// Each segment has a length, may overlap others, and may or may not trigger an ACK.
    #[test]
    fn blocks_that_stayed_as_they_were_are_those_that_would_be_found(
        segments in prop::collection::vec((0u64..40, 1u32..4, prop::bool::weighted(0.8)), 1..60),
        most in 1u8..4,
    ) {
        let mut receiver = receiver(AckConfig::Immediate {}, most);
        for (start, length, answered) in segments {
            receiver.on_segment(Time(0), &segment(start * 10, length * 10));
            if answered {
                let mut searching = receiver.clone();
                searching.put = SEVERAL;
                prop_assert_eq!(receiver.poll_transmit(Time(0)), searching.poll_transmit(Time(0)));
            }
        }
    }
}

#[test]
fn linux_past_the_fourth_acks_beyond_a_hole_wait_for_each_other() {
    let ack = |sack_delay_ps| AckConfig::Linux {
        timeout_ps: Span::millis(40).0,
        quick: 0,
        sack_delay_ps,
        least_round_trip: true,
        write_every_ps: 0,
        growing_window: false,
    };
    // Segments are sent at intervals of .1 ms, each with a delay of 50 ms; the fifth segment is lost.
    let told = |sack_delay_ps| {
        let mut receiver = Receiver::new(&TcpConfig {
            ack: ack(sack_delay_ps),
            recovery: RecoveryConfig::Rfc6675(Rfc6675Config { blocks: 3, fack: false }),
            ..crate::config::tests::config()
        });
        let mut told = vec![];
        for number in (0..40).filter(|&number| number != 4) {
            let sent = Time(Span::millis(1).0 / 10 * number);
            let now = sent + Span::millis(50);
            if receiver.next_timeout() <= now.into() {
                receiver.on_timeout(now);
                told.extend(
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
            told.extend(
                receiver
                    .poll_transmit(now)
                    .map(|ack| (number, ack.sack_blocks().count())),
            );
        }
        told.into_iter()
            .filter(|&(_, blocks)| blocks > 0)
            .map(|(number, _)| number)
            .collect::<Vec<_>>()
    };
    assert_eq!(told(0), (5..40).collect::<Vec<_>>());
    // The fifth ACK waits and is combined with the ACKs of the following millisecond, as in a capture of Linux 6.1.176.
    assert_eq!(told(Span::millis(1).0 * 11 / 10), [5, 6, 7, 8, 20, 31]);
}

/// tcp_sack_new_ofo_skb of Linux 6.1 reports each range at least once: here every second one of 200 segments, sent at
/// intervals of .2 ms, is lost.
#[test]
fn linux_compressed_acks_tell_of_every_range_beyond_a_hole() {
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
    let mut told = std::collections::BTreeSet::new();
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
                told.extend(ack.sack_blocks().map(|(start, _)| start / 512));
            }
        }
    }
    let expected: std::collections::BTreeSet<u64> = (6..198).filter(|number| number % 2 == 0).collect();
    assert!(told.is_superset(&expected), "{:?}", expected.difference(&told));
}
