//! BLUE compared with a trace that was computed by hand from figure 2 of Feng, Shin, Kandlur and Saha, "The BLUE active
//! queue management algorithms", IEEE/ACM Transactions on Networking 10(4), 2002:
//!
//! ```text
//! upon packet loss:  if now - last_update > freeze_time: p_m += d1; last_update = now
//! upon link idle:    if now - last_update > freeze_time: p_m -= d2; last_update = now
//! ```
//!
//! A link that stays idle is idle at each instant, so its probability falls once per `freeze_time`.

use super::MS;
use longpipe_events::Time;
use longpipe_network::policies::aqm::AtEnqueue;
use longpipe_network::policies::blue::{Blue, BlueConfig};
use longpipe_network::policies::{Arrival, Verdict};

/// An arrival at a line that has been idle since a time [ms], or an overflow.
#[derive(Clone, Copy, Debug)]
enum Event {
    IdleSince(u64),
    Overflow,
}

use Event::{IdleSince, Overflow};

/// Each event with its time [ms], and p_m after it. d1 is 0.25, d2 is 0.125, and freeze_time is 100 ms; these numbers have
/// exact sums.
const TRACE: [(u64, Event, f64); 18] = [
    // The probability is not negative, but the idle line counts as a change.
    (0, IdleSince(0), 0.0),
    (50, Overflow, 0.0),
    (101, Overflow, 0.25),
    (150, Overflow, 0.25),
    // The line fell idle 304 ms after the previous change.
    (420, IdleSince(405), 0.125),
    (560, IdleSince(550), 0.0),
    (640, Overflow, 0.0),
    (651, Overflow, 0.25),
    (752, Overflow, 0.5),
    (900, IdleSince(890), 0.375),
    // The line was idle at 1000, 1100 and 1200 ms.
    (1250, IdleSince(1000), 0.0),
    (1301, Overflow, 0.25),
    (1402, Overflow, 0.5),
    (1503, Overflow, 0.75),
    (1604, Overflow, 1.0),
    // At a probability of 1, all packets are dropped, and the line stays idle.
    (1700, IdleSince(1650), 1.0),
    (1710, IdleSince(1650), 0.875),
    (2000, IdleSince(1650), 0.625),
];

/// Returns the largest draw that is below a probability.
fn below(probability: f64) -> f64 {
    f64::from_bits(probability.to_bits() - 1)
}

/// Checks that arrivals are marked if their draw is below `probability`, and only then. The state does not change.
fn assert_probability(blue: &Blue, now: Time, probability: f64, event: (u64, Event)) {
    let arrival = Arrival {
        now,
        ..Arrival::default()
    };
    let verdict = |draw: f64| blue.clone().decide(&arrival, || draw);
    assert_eq!(
        verdict(probability),
        Verdict::Admit,
        "{event:?}: more than {probability}"
    );
    if probability > 0.0 {
        assert_eq!(
            verdict(below(probability)),
            Verdict::Mark,
            "{event:?}: less than {probability}"
        );
    }
}

#[test]
fn blue_follows_overflows_and_idle_times_as_in_the_paper() {
    let mut blue = Blue::new(&BlueConfig {
        increment: 0.25,
        decrement: 0.125,
        freeze_ps: 100 * MS,
        ecn: false,
    });
    for (ms, event, probability) in TRACE {
        let now = Time(ms * MS);
        match event {
            Overflow => blue.overflow(now),
            IdleSince(ms) => {
                let arrival = Arrival {
                    now,
                    idle_since: Some(Time(ms * MS)),
                    ..Arrival::default()
                };
                blue.decide(&arrival, || 0.0);
            }
        }
        assert_probability(&blue, now, probability, (ms, event));
    }
}
