//! PI compared with an independent program (`tests/pi_witness.py`), which computes with exact fractions.

use super::MS;
use longpipe_events::Time;
use longpipe_network::policies::aqm::AtEnqueue;
use longpipe_network::policies::pi::{Pi, PiConfig};
use longpipe_network::policies::{Arrival, Verdict};
use std::collections::VecDeque;
use Verdict::{Admit, Mark};

/// Time [us] of each arrival, its random number in 4096ths, the probability, whether the packet was dropped, and the start
/// [us] of its transmission.
const WITNESS: &str = include_str!("../../data/queues/pi.csv");

fn arrival(now: Time) -> Arrival {
    Arrival {
        now,
        bytes: 1000,
        ..Arrival::default()
    }
}

/// Compares PI with the table; `knows_starts` is whether it learns the start of a transmission when a packet arrives.
fn assert_equals_witness(knows_starts: bool) {
    let mut pi = Pi::new(&PiConfig {
        target: 5,
        a: 1.0 / 512.0,
        b: 1.0 / 600.0,
        update_ps: 6 * MS,
        ecn: false,
    });
    let mut starts = VecDeque::new();
    for row in WITNESS.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let time = |field: &str| Time(field.parse::<u64>().unwrap() * MS / 1000);
        let now = time(fields[0]);
        while starts.front().is_some_and(|&begins| begins <= now) {
            pi.begin_service(starts.pop_front().unwrap());
        }
        let draw = fields[1].parse::<f64>().unwrap() / 4096.0;
        let verdict = pi.decide(&arrival(now), || draw);
        assert!(
            (pi.probability() - fields[2].parse::<f64>().unwrap()).abs() < 1e-12,
            "{row}: {}",
            pi.probability()
        );
        assert_eq!(verdict, if fields[3] == "1" { Mark } else { Admit }, "{row}");
        if verdict == Mark {
            continue;
        }
        let begins = time(fields[4]);
        if knows_starts {
            pi.admit(&arrival(now), begins);
            continue;
        }
        pi.enqueue(&arrival(now));
        if begins == now {
            pi.begin_service(begins);
        } else {
            starts.push_back(begins);
        }
    }
}

#[test]
fn pi_decides_like_the_independent_program() {
    assert_equals_witness(true);
    assert_equals_witness(false);
}

/// Four packets arrive, of which one is in transmission, so that the first update adds 3/4. The outage drops the others, and
/// the next update subtracts 3/8.
#[test]
fn pi_counts_packets_until_an_outage_drops_them() {
    let mut pi = Pi::new(&PiConfig {
        target: 0,
        a: 0.25,
        b: 0.125,
        update_ps: 10 * MS,
        ecn: false,
    });
    for begins in [0, 18, 26, 34] {
        pi.decide(&arrival(Time(0)), || 0.0);
        pi.admit(&arrival(Time(0)), Time(begins * MS));
    }
    pi.purge(Time(12 * MS));
    assert_eq!(pi.probability(), 0.75);
    pi.decide(&arrival(Time(21 * MS)), || 0.0);
    assert_eq!(pi.probability(), 0.375);
}
