//! Comparison with frame times, the filling timeout and the delay of the control loop, and conservation.

use super::*;
use crate::access::test_queues::Queues;
use crate::access::AccessConfig;

const MS: u64 = 1_000_000_000;
const SECOND: u64 = 1000 * MS;
const DELAY: Span = Span(250 * MS);
const RATE_BPS: u64 = 20_000_000;

/// A carrier with its queues, which packets enter in order of time.
struct Carrier {
    cell: DvbS2,
    queues: Queues,
}

impl Carrier {
    fn new(configs: &[AccessConfig]) -> Carrier {
        let station = |(link, config)| NewStation {
            config,
            link,
            node: 0,
            to: link,
            rate_bps: RATE_BPS,
            delay: DELAY,
        };
        let stations: Vec<_> = configs.iter().enumerate().map(station).collect();
        assert_eq!(crate::access::problem_of_cell(&stations), None);
        Carrier {
            cell: DvbS2::new(&stations),
            queues: Queues::new(configs.len()),
        }
    }

    fn run_until(&mut self, end: Time) {
        while let Some(at) = self.cell.next_event().filter(|&at| at <= end) {
            self.cell.wake(at, &mut self.queues);
        }
        assert!(self.cell.conserves(end));
    }

    fn arrive(&mut self, at: Time, station: usize, bytes: u64) {
        self.run_until(at);
        self.queues.waiting[station].push_back(bytes);
        self.cell.arrived(at, station, bytes, &mut self.queues);
    }
}

fn config(fields: &str) -> AccessConfig {
    let defaults = r#""kind": "dvb-s2", "frames": "normal", "pilots": false, "extended": false, "gse_label_bytes": 3"#;
    let or = |name: &str, value: &str| match fields.contains(name) {
        true => String::new(),
        false => format!(r#", "{name}": {value}"#),
    };
    let rest = [
        or("modcod", r#""8PSK 3/4""#),
        or("fill_timeout_ps", "10000000000"),
        or("report_interval_ps", "1000000000000"),
        or("margin", "0.0"),
        or("hysteresis", "0.0"),
    ];
    serde_json::from_str(&format!("{{{defaults}{}{fields}}}", rest.concat())).expect("a configuration")
}

/// Returns the time [ps] of a frame with 6041 bytes for data at the rate of the link.
fn frame_ps() -> u64 {
    (8 * 6041 * SECOND).div_ceil(RATE_BPS)
}

#[test]
fn a_frame_begins_when_it_is_full_or_after_the_timeout() {
    let mut carrier = Carrier::new(&[config("")]);
    carrier.arrive(Time(SECOND), 0, 1500);
    // The fifth packet fills the frame at once; the fourth one is in fragments.
    (0..5).for_each(|_| carrier.arrive(Time(3 * SECOND), 0, 1500));
    carrier.run_until(Time(9 * SECOND));
    let first = SECOND + 10 * MS + frame_ps();
    let second = 3 * SECOND + frame_ps();
    let last = second + 10 * MS + frame_ps();
    let expected: Vec<Time> = [first, second, second, second, last, last]
        .into_iter()
        .map(Time)
        .collect();
    let left = &carrier.queues.left[0];
    println!("{left:?}");
    assert_eq!(left.len(), 6);
    assert_eq!((left[0], left[1], left[5]), (expected[0], expected[1], expected[5]));
}

#[test]
fn a_saturated_carrier_sends_at_its_rate_without_headers() {
    for (most, bytes) in [("8PSK 3/4", 6041u64), ("QPSK 1/4", 1991)] {
        let mut carrier = Carrier::new(&[config(&format!(r#", "modcod": "{most}""#))]);
        carrier.queues.waiting[0].extend([1500; 20_000]);
        carrier.arrive(Time(MS), 0, 1500);
        carrier.run_until(Time(10 * SECOND));
        let sent = 8 * 1500 * carrier.queues.left[0].len() as u64;
        // Each frame has at most the headers of a whole packet and of two fragments.
        let share = sent as f64 / (10 * RATE_BPS) as f64;
        let least = 1.0 - (7.0 + 20.0 * 1500.0 / bytes as f64) / 1500.0;
        println!("{most}: {share}, at least {least}");
        assert!((least..1.0).contains(&share), "{share} {least}");
    }
}

#[test]
fn terminals_with_equal_modcods_share_the_carrier_equally() {
    let own = config(r#", "cell": "carrier""#);
    let mut carrier = Carrier::new(&vec![own; 5]);
    (0..5).for_each(|station| carrier.queues.waiting[station].extend([1000; 10_000]));
    carrier.arrive(Time(MS), 0, 1000);
    carrier.run_until(Time(10 * SECOND));
    let left: Vec<usize> = carrier.queues.left.iter().map(Vec::len).collect();
    let (least, most) = (left.iter().min().unwrap_or(&0), left.iter().max().unwrap_or(&0));
    assert!(most - least <= 8, "{left:?}");
}

#[test]
fn padding_of_slower_frames_carries_data_for_faster_terminals() {
    let slow = config(r#", "cell": "carrier", "es_n0_ps": [[0, 3.5]]"#);
    let fast = config(r#", "cell": "carrier", "es_n0_ps": [[0, 12.0]]"#);
    let mut carrier = Carrier::new(&[slow, fast]);
    carrier.arrive(Time(SECOND), 0, 1000);
    carrier.arrive(Time(SECOND + MS), 1, 1000);
    carrier.run_until(Time(2 * SECOND));
    // QPSK 2/3 has 5370 bytes in 32490 symbols, and 8PSK 3/4 has 6041 bytes in 21690.
    let slower = u128::from(frame_ps()) * 32_490 / 21_690;
    for station in 0..2 {
        let left = carrier.queues.left[station][0].0 - SECOND - 10 * MS;
        assert!(
            u128::from(left).abs_diff(slower) < u128::from(MS) / 1000,
            "{left} {slower}"
        );
    }
    assert_eq!(carrier.cell.report(1, Time(2 * SECOND)).waiting, Span(9 * MS));
}

/// Returns the time [s] for which frames that arrive are lost while Es/N0 falls from 10 dB to 0 dB in 10 s: the MODCOD is
/// that of the last report that was sent two delays before, and needs more than the present Es/N0.
fn lost_s(interval_s: f64, modcods: &[Modcod]) -> f64 {
    let level_db = |at_s: f64| 10.0 - at_s;
    let is_lost = |at_s: f64| {
        let reported_s = ((at_s - 2.0 * DELAY.as_seconds()) / interval_s).floor().max(0.0) * interval_s;
        let thresholds = modcods.iter().map(|modcod| modcod.es_n0_db);
        let chosen = thresholds
            .filter(|&threshold| threshold <= level_db(reported_s))
            .fold(f64::MIN, f64::max);
        level_db(at_s) < chosen
    };
    (0..10_000).filter(|&ms| is_lost(f64::from(ms) / 1000.0)).count() as f64 / 1000.0
}

#[test]
fn frames_are_lost_until_the_control_loop_reacts() {
    for interval_s in [0.5, 1.0, 2.0] {
        let own = format!(
            r#", "es_n0_ps": [[0, 10.0], [10000000000000, 0.0]], "report_interval_ps": {}"#,
            (interval_s * SECOND as f64) as u64
        );
        let mut carrier = Carrier::new(&[config(&own)]);
        carrier.queues.waiting[0].extend([1500; 30_000]);
        carrier.arrive(Time(0), 0, 1500);
        // The last frames arrive after 10 s.
        carrier.run_until(Time(10 * SECOND - DELAY.0));
        let lost = &carrier.queues.lost[0];
        // Times without an arrival of a packet, of which several lie in one frame.
        let mut times: Vec<(u64, bool)> = (carrier.queues.left[0].iter().map(|at| (at.0, false)))
            .chain(lost.iter().map(|at| (at.0, true)))
            .collect();
        times.sort_unstable();
        let spans = times
            .windows(2)
            .filter(|pair| pair[1].1)
            .map(|pair| pair[1].0 - pair[0].0);
        let lost_ps: u64 = spans.sum();
        let expected = lost_s(interval_s, &carrier.cell.modcods);
        println!(
            "{interval_s} s: lost {:.3} s, expected {expected:.3} s",
            lost_ps as f64 / 1e12
        );
        assert!(
            (lost_ps as f64 / 1e12 - expected).abs() < 0.05,
            "{interval_s}: {lost_ps} {expected}"
        );
    }
}

#[test]
fn a_margin_above_the_fall_in_the_control_loop_prevents_losses() {
    // Es/N0 falls by 1 dB/s, and a report is up to 1.5 s old when a frame arrives.
    for (margin, is_lossless) in [(1.6, true), (1.0, false)] {
        let own = format!(r#", "es_n0_ps": [[0, 10.0], [10000000000000, 0.0]], "margin": {margin}"#);
        let mut carrier = Carrier::new(&[config(&own)]);
        carrier.queues.waiting[0].extend([1500; 30_000]);
        carrier.arrive(Time(0), 0, 1500);
        carrier.run_until(Time(10 * SECOND));
        assert_eq!(carrier.queues.lost[0].is_empty(), is_lossless, "{margin} dB");
    }
}

#[test]
fn hysteresis_delays_a_change_to_a_faster_modcod_only() {
    let names = |hysteresis: f64, from: f64, to: f64| {
        let own = format!(r#", "es_n0_ps": [[0, {from}], [1000000000000, {to}]], "hysteresis": {hysteresis}"#);
        let mut carrier = Carrier::new(&[config(&own)]);
        carrier.arrive(Time(5 * SECOND), 0, 1500);
        carrier.run_until(Time(6 * SECOND));
        carrier.cell.modcods[carrier.cell.terminals[0].modcod].name
    };
    assert_eq!(names(0.0, 2.5, 3.2), "QPSK 2/3");
    assert_eq!(names(0.3, 2.5, 3.2), "QPSK 3/5");
    assert_eq!(names(0.3, 3.5, 2.5), "QPSK 3/5");
}

#[test]
fn an_idle_carrier_has_no_events() {
    let mut carrier = Carrier::new(&vec![config(r#", "cell": "carrier""#); 100]);
    assert_eq!(carrier.cell.next_event(), None);
    carrier.arrive(Time(MS), 7, 1000);
    carrier.run_until(Time(SECOND));
    assert_eq!(carrier.cell.next_event(), None);
    assert_eq!(carrier.queues.left[7].len(), 1);
}
