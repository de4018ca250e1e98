//! Round trips and rates from records, and each byte counted once.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn ledger() -> Ledger {
    Ledger::new(Wants {
        rates: true,
        ..Wants::RECORDS
    })
}

fn sent(ledger: &mut Ledger, segments: std::ops::Range<u64>, at: u64) {
    for segment in segments {
        ledger.on_sent(Time(at), 10 * segment, 10 * (segment + 1), 10 * (segment + 1));
    }
}

#[test]
fn a_round_trip_is_that_of_the_latest_segment_acknowledged_unless_it_was_sent_again() {
    let mut ledger = ledger();
    sent(&mut ledger, 0..2, 100);
    sent(&mut ledger, 2..4, 130);
    assert_eq!(ledger.on_ack(Time(200), 10, [].into_iter()).rtt, Some(Span(100)));
    // Karn: of what was sent again nobody knows which copy came. At one instant both are the same.
    ledger.on_sent(Time(210), 10, 20, 40);
    ledger.on_sent(Time(210), 10, 20, 40);
    let news = ledger.on_ack(Time(300), 20, [].into_iter());
    assert_eq!((news.rtt, news.least_rtt, news.lost), (None, Some(Span(100)), 20));
    let news = ledger.on_ack(Time(301), 40, [].into_iter());
    assert_eq!(
        (news.rtt, news.least_rtt, news.lost),
        (Some(Span(171)), Some(Span(100)), 0)
    );
    assert_eq!(ledger.in_flight(40), 0);
}

#[test]
fn the_rate_is_that_at_which_the_bottleneck_lets_data_through() {
    // Four segments leave at once and arrive every 25; each ACK lets two more out, which queue up.
    let mut ledger = ledger();
    sent(&mut ledger, 0..4, 0);
    let mut rates = vec![];
    for segment in 0..40 {
        let now = 100 + 25 * segment;
        rates.extend(ledger.on_ack(Time(now), 10 * (segment + 1), [].into_iter()).rate);
        sent(&mut ledger, 4 + 2 * segment..6 + 2 * segment, now);
    }
    // The first one is by a whole round trip, all later ones are by the bottleneck's: 10 bytes in 25.
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
        let (mut ledger, mut una, mut arrived, mut total) = (ledger(), 0, BTreeSet::new(), 0);
        sent(&mut ledger, 0..30, 0);
        for (now, (ack, blocks, again)) in acks.into_iter().enumerate() {
            una = una.max(ack);
            let blocks: Vec<_> = blocks
                .into_iter()
                .filter(|&(start, _)| start > una)
                .map(|(start, length)| (start, (start + length).min(30)))
                .collect();
            if again >= una {
                ledger.on_sent(Time(now as u64), 10 * again, 10 * (again + 1), 300);
            }
            let news = ledger.on_ack(
                Time(now as u64),
                10 * una,
                blocks.iter().map(|&(start, end)| (10 * start, 10 * end)),
            );
            arrived.extend(0..una);
            blocks.into_iter().for_each(|(start, end)| arrived.extend(start..end));
            total += news.delivered;
            prop_assert_eq!(total, 10 * arrived.len() as u64);
            prop_assert_eq!(ledger.in_flight(300), 300 - total);
        }
    }
}
