//! Tests of immediate and delayed ACKs, window autotuning, SACK blocks, and segments in any order.

use super::*;
use crate::config::{RackConfig, RecoveryConfig, Rfc6675Config};
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
fn fields_of_the_fast_path_fit_into_a_cache_line() {
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

/// Returns the number of the arriving segment, and that of the first segment in the ACK's first SACK block, for each
/// ACK of a receiver with SACK compression. Every second of `count` segments, which are sent at intervals of `gap`, is
/// lost from the sixth on.
fn compressed_acks(count: u64, gap: Span) -> Vec<(u64, Vec<u64>)> {
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
    let mut acks = Vec::new();
    for number in (0..count).filter(|number| number % 2 == 0 || *number < 5) {
        let sent = Time(gap.0 * number);
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
                acks.push((number, ack.sack_blocks().map(|(start, _)| start / 512).collect()));
            }
        }
    }
    acks
}

/// tcp_sack_new_ofo_skb of Linux 6.1 reports each range at least once; the ACK of the last segments still waits.
#[test]
fn linux_compressed_acks_report_every_range_beyond_a_hole() {
    let acks = compressed_acks(200, Span::micros(200));
    let reported: std::collections::BTreeSet<u64> = acks.into_iter().flat_map(|(_, starts)| starts).collect();
    assert_eq!(
        reported.into_iter().collect::<Vec<_>>(),
        (3..98).map(|half| 2 * half).collect::<Vec<_>>()
    );
}

/// In a capture of Linux 6.1.176 over 22.9 Mbit/s and 33 ms, every second segment of a burst is lost, so that one
/// arrives every 0.529 ms. After four immediate ACKs, every second arrival triggers an ACK of the segments before it.
#[test]
fn linux_a_segment_beyond_two_ranges_triggers_an_ack_of_the_segments_before_it() {
    let acks = compressed_acks(32, Span(Span::micros(529).0 / 2));
    let beyond: Vec<_> = acks.into_iter().filter(|(_, starts)| !starts.is_empty()).collect();
    let expected = [
        (6, vec![6]),
        (8, vec![8, 6]),
        (10, vec![10, 8, 6]),
        (12, vec![12, 10, 8]),
        (16, vec![14, 12, 10]),
        (20, vec![18, 16, 14]),
        (24, vec![22, 20, 18]),
        (28, vec![26, 24, 22]),
    ];
    assert_eq!(beyond, expected);
}

/// tcp_data_queue: a segment that fills a hole lets the window grow while the data beyond the hole are still in the
/// buffer, where they leave no room here. Its ACK advertises the space that these data leave (tcp_select_window); they
/// are read before the next segment arrives.
#[test]
fn linux_segment_that_fills_a_hole_delivers_buffered_data() {
    let mut receiver = Receiver::new(&TcpConfig {
        ack: AckConfig::Linux {
            timeout_ps: Span::millis(40).0,
            quick: 0,
            sack_delay_ps: 0,
            least_round_trip: true,
            write_every_ps: 0,
            growing_window: true,
        },
        receiver_window_bytes: 1 << 20,
        window_scale: 7,
        ..crate::config::tests::config()
    });
    // Segments are sent at intervals of 5 ms, each with a delay of 50 ms; segment 30 arrives after segment 89.
    let mut windows = Vec::new();
    for (place, number) in (0..).zip((0..30).chain(31..90).chain([30, 90, 91])) {
        let sent = Time(Span::millis(5).0 * place);
        let now = sent + Span::millis(50);
        let stamped = DataSegment {
            timestamp: sent.into(),
            ..segment(number * 512, 512)
        };
        receiver.on_segment(now, &stamped);
        windows.extend(receiver.poll_transmit(now).map(|ack| (number, ack.window)));
    }
    let last = windows.len() - 6;
    let expected = [
        (87, 113_664),
        (88, 113_664),
        (89, 113_664),
        (30, 107_904),
        (90, 114_688),
        (91, 115_712),
    ];
    assert_eq!(windows[last..], expected);
}

proptest! {
    #[test]
    fn compressed_acks_are_equal_without_shortcuts(order in prop::collection::vec(0u64..30, 1..150)) {
        let ack = AckConfig::Linux {
            timeout_ps: Span::millis(40).0,
            quick: 0,
            sack_delay_ps: Span::millis(1).0,
            least_round_trip: true,
            write_every_ps: 0,
            growing_window: false,
        };
        let rack = RackConfig { blocks: 3, probe: true, undo: true, dsack: true, frto: true, successive: true };
        let config = TcpConfig { ack, recovery: RecoveryConfig::Rack(rack), ..crate::config::tests::config() };
        let mut receivers = [(); 2].map(|()| Receiver::new(&config));
        receivers[1].disable_shortcuts();
        for (number, place) in (100..).zip(order) {
            let now = Time(Span::micros(200 * number).0);
            let segment = DataSegment { timestamp: Time(now.0 - Span::millis(15).0).into(), ..segment(place * 10, 10) };
            let [short, full] = receivers.each_mut().map(|receiver| {
                if receiver.next_timeout() <= now.into() {
                    receiver.on_timeout(now);
                }
                let late = receiver.poll_transmit(now);
                receiver.on_segment(now, &segment);
                (late, std::iter::from_fn(|| receiver.poll_transmit(now)).collect::<Vec<_>>())
            });
            prop_assert_eq!(short, full);
        }
    }
}
