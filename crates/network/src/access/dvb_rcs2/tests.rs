//! Comparison with the closed forms of `tests/data/access/delays.csv`, and conservation.

use super::*;
use crate::access::test_queues::Queues;
use crate::access::AccessConfig;

const MS: u64 = 1_000_000_000;
/// Rate of a carrier with 149 short bursts in 100 ms (SNS3).
const RATE_BPS: u64 = 453_000;

/// A beam with its queues, which packets enter in order of time.
struct Beam {
    cell: DvbRcs2,
    queues: Queues,
}

impl Beam {
    fn new(configs: &[AccessConfig], delay_ps: u64) -> Beam {
        let station = |(link, config)| NewStation {
            config,
            link,
            node: link,
            to: link,
            rate_bps: RATE_BPS,
            delay: Span(delay_ps),
        };
        let stations: Vec<_> = configs.iter().enumerate().map(station).collect();
        assert_eq!(crate::access::problem_of_cell(&stations), None);
        Beam {
            cell: DvbRcs2::new(&stations, 1),
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
    let defaults = r#""kind": "dvb-rcs2", "carriers": 1, "waveform": 3, "free_rate_bps": 0"#;
    let or = |name: &str, value: &str| match fields.contains(name) {
        true => String::new(),
        false => format!(r#", "{name}": {value}"#),
    };
    let rest = [
        or("preset", r#""typical""#),
        or("constant_rate_bps", "0"),
        or("requests", r#""vbdc""#),
        or("request_loss", "0.0"),
    ];
    serde_json::from_str(&format!("{{{defaults}{}{fields}}}", rest.concat())).expect("a configuration")
}

/// Returns the mean time [ms] from the arrival of a packet of 30 bytes at an idle terminal to its reception at the
/// gateway, over phases of arrivals and over delays that are `delay_ms` in the mean.
fn first_packet_ms(fields: &str, delay_ms: u64) -> f64 {
    let (mut sum, mut packets) = (0, 0);
    for shift in 0..20 {
        let delay = (delay_ms * 10 + 50 * shift - 475) * MS / 10;
        let mut beam = Beam::new(&[config(fields)], delay);
        let arrivals: Vec<Time> = (0..40)
            .map(|i| Time(7000 * MS * (i + 1) + i * 1007 * MS / 40))
            .collect();
        arrivals.iter().for_each(|&at| beam.arrive(at, 0, 30));
        beam.run_until(Time(400_000 * MS));
        let left = &beam.queues.left[0];
        assert_eq!(left.len(), arrivals.len());
        sum += left
            .iter()
            .zip(&arrivals)
            .map(|(left, at)| left.0 + delay - at.0)
            .sum::<u64>();
        packets += left.len() as u64;
    }
    sum as f64 / packets as f64 / MS as f64
}

#[test]
fn first_packets_take_the_sum_of_their_parts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/access/delays.csv");
    let text = std::fs::read_to_string(path).expect("the table of delays");
    let mut compared = vec![];
    for line in text
        .lines()
        .filter(|line| line.starts_with("DVB-RCS2 first packet ms,"))
    {
        let columns: Vec<&str> = line.split(',').collect();
        let case = columns[1]
            .split(' ')
            .next()
            .unwrap_or_default()
            .trim_start_matches("case=");
        let fields = match case {
            "cra" => r#", "constant_rate_bps": 3040, "requests": "none""#,
            "on-demand" => "",
            "periodic" => r#", "on_demand": false"#,
            "sns3" => r#", "preset": "sns3""#,
            "random-access" => r#", "random_access": "crdsa", "requests": "none""#,
            _ => continue,
        };
        // SNS3 plans for terminals at up to 280 ms.
        let delay_ms = if case == "sns3" { 240 } else { 270 };
        let mean = first_packet_ms(fields, delay_ms) + (270 - delay_ms) as f64;
        let (expected, tolerance): (f64, f64) = (columns[2].parse().expect("ms"), columns[4].parse().expect("ms"));
        println!("{case}: {mean:.1} ms, expected {expected} ± {tolerance} ms");
        // By random access, the first of three copies is 25 ms after the start of a superframe.
        let of_tolerance = if case == "random-access" { 1.0 } else { 0.2 };
        assert!((mean - expected).abs() < of_tolerance * tolerance, "{case}: {mean} ms");
        compared.push(case);
    }
    assert_eq!(compared, ["cra", "random-access", "on-demand", "periodic", "sns3"]);
}

#[test]
fn first_packets_of_opensand_wait_for_half_a_period_of_requests() {
    let mean = first_packet_ms(r#", "preset": "opensand""#, 270);
    // Half a period of 1007 ms, three one-way delays, four times half a frame of 26.5 ms, and a frame.
    let parts = 1007.0 / 2.0 + 3.0 * 270.0 + 2.0 * 26.5 + 26.5;
    println!("opensand: {mean:.1} ms, expected {parts} ± 50 ms");
    assert!((mean - parts).abs() < 25.0, "{mean} ms");
}

#[test]
fn throughput_is_a_multiple_of_a_burst_per_superframe() {
    let mut beam = Beam::new(
        &[config(r#", "constant_rate_bps": 50000, "requests": "none""#)],
        270 * MS,
    );
    (0..400).for_each(|_| beam.arrive(Time(MS), 0, 1500));
    beam.run_until(Time(30_001 * MS));
    // 50 kbit/s need 625 bytes in 100 ms, which are 17 bursts of 38 bytes.
    let report = beam.cell.report(0, Time(30_001 * MS));
    assert!(report.used.abs_diff(17 * 300) <= 17, "{report:?}");
    assert_eq!(report.requests, 0);
}

#[test]
fn terminals_divide_an_overloaded_beam_equally() {
    for preset in ["typical", "sns3", "opensand"] {
        let own = config(&format!(
            r#", "preset": "{preset}", "requests": "rbdc", "cell": "beam""#
        ));
        let mut beam = Beam::new(&vec![own; 5], 250 * MS);
        for station in 0..5 {
            (0..200).for_each(|_| beam.queues.waiting[station].push_back(1500));
        }
        (0..5).for_each(|station| beam.arrive(Time(5 * MS), station, 1500));
        // OpenSAND's first terminal sends its first request a second after the others.
        let mut used_by = |end: Time| -> Vec<u64> {
            beam.run_until(end);
            (0..5).map(|station| beam.cell.report(station, end).used).collect()
        };
        let (before, after) = (used_by(Time(10_000 * MS)), used_by(Time(20_000 * MS)));
        let used: Vec<u64> = after
            .iter()
            .zip(&before)
            .map(|(after, before)| after - before)
            .collect();
        let (least, most) = (used.iter().min().unwrap_or(&0), used.iter().max().unwrap_or(&0));
        assert!(most - least <= most / 20, "{preset}: {used:?}");
        let rate = used.iter().sum::<u64>() * 38 * 8 / 10;
        assert!(rate > RATE_BPS * 98 / 100, "{preset}: {rate} bit/s");
    }
}

#[test]
fn a_lost_request_is_repeated_when_the_gateway_forgets_it() {
    let mut beam = Beam::new(&[config(r#", "preset": "sns3", "request_loss": 0.5"#)], 250 * MS);
    for packet in 0..100 {
        beam.arrive(Time(packet * 5000 * MS + 3 * MS), 0, 1000);
    }
    let end = Time(600_000 * MS);
    beam.run_until(end);
    let report = beam.cell.report(0, end);
    assert_eq!(beam.queues.left[0].len(), 100);
    assert!(report.requests_lost.abs_diff(report.requests / 2) < 30, "{report:?}");
    assert!(report.requests > 150, "{report:?}");
}

#[test]
fn random_access_sends_requests_and_data_and_loses_both() {
    for (kind, load, least, most) in [
        ("crdsa", 0.8, 0.3, 0.5),
        ("slotted-aloha", 0.8, 0.5, 0.65),
        ("crdsa", 0.3, 0.0, 0.01),
    ] {
        let own = config(&format!(
            r#", "random_access": "{kind}", "random_access_slots": 100, "random_access_load": {load}"#
        ));
        let mut beam = Beam::new(&[own], 250 * MS);
        let packets = 1000;
        for packet in 0..packets {
            beam.arrive(Time(packet * 7013 * MS + 3 * MS), 0, 28);
        }
        let end = Time(packets * 7013 * MS + 20_000 * MS);
        beam.run_until(end);
        let report = beam.cell.report(0, end);
        let (left, lost) = (beam.queues.left[0].len() as u64, beam.queues.lost[0].len() as u64);
        assert_eq!(left + lost, packets);
        let count = |wanted: StationAction| {
            let events = beam.queues.recorded.iter();
            events
                .filter(|(at, _, event)| *at <= end && event.action == wanted)
                .count() as u64
        };
        // A packet and its request are bursts of random access, unless granted bursts carry them.
        let sent = count(StationAction::Attempt) + count(StationAction::Collision);
        assert_eq!(
            count(StationAction::Request) + count(StationAction::LostRequest),
            report.requests
        );
        assert_eq!(count(StationAction::LostRequest), report.requests_lost);
        assert_eq!(count(StationAction::Transmission), report.used);
        assert_eq!(
            count(StationAction::Collision) + report.requests_lost,
            report.collisions
        );
        assert!(sent <= report.attempts);
        assert_eq!(lost, count(StationAction::Collision));
        let share = report.collisions as f64 / report.attempts as f64;
        println!("{kind} at {load}: {share:.3} of {} lost", report.attempts);
        assert!((least..=most).contains(&share), "{kind} {load}: {share}");
    }
}

#[test]
fn a_lost_burst_loses_all_packets_of_which_it_carries_a_part() {
    let own = r#", "random_access": "slotted-aloha", "random_access_load": 1.0, "requests": "none""#;
    let mut beam = Beam::new(&[config(own)], 250 * MS);
    let packets = 500;
    for packet in 0..packets {
        // 100 bytes take four bursts of 35 bytes, the last of them in another superframe, and 60 bytes two.
        let bytes = if packet % 2 == 0 { 100 } else { 60 };
        beam.arrive(Time(packet * 7013 * MS + 3 * MS), 0, bytes);
    }
    let end = Time(packets * 7013 * MS + 20_000 * MS);
    beam.run_until(end);
    let (left, lost) = (beam.queues.left[0].len(), beam.queues.lost[0].len());
    assert_eq!((left + lost) as u64, packets);
    // Each burst arrives with the probability exp(-1).
    let expected = packets as f64 / 2.0 * ((-4.0f64).exp() + (-2.0f64).exp());
    assert!(
        (left as f64 - expected).abs() < 4.0 * expected.sqrt(),
        "{left}, expected {expected}"
    );
}

#[test]
fn terminals_use_four_superframes_of_random_access_in_six() {
    let own = r#", "random_access": "crdsa", "requests": "none""#;
    let mut beam = Beam::new(&[config(own)], 250 * MS);
    (0..2000).for_each(|_| beam.arrive(Time(MS), 0, 28));
    let end = Time(60_000 * MS);
    beam.run_until(end);
    // Three bursts in four of six superframes.
    let attempts = beam.cell.report(0, end).attempts;
    assert!(attempts.abs_diff(600 * 3 * 4 / 6) <= 12, "{attempts}");
    assert_eq!(beam.queues.left[0].len() as u64, attempts);
}

#[test]
fn an_idle_beam_has_no_events() {
    let own = config(r#", "constant_rate_bps": 3040, "cell": "beam""#);
    let mut beam = Beam::new(&vec![own; 100], 250 * MS);
    assert_eq!(beam.cell.next_event(), None);
    beam.arrive(Time(MS), 7, 1000);
    beam.run_until(Time(20_000 * MS));
    assert_eq!(beam.cell.next_event(), None);
    assert_eq!(beam.queues.left[7].len(), 1);
    // Each superframe grants a burst of the constant rate.
    let end = Time(100_000 * MS);
    assert!(beam.cell.report(3, end).granted.abs_diff(1002) <= 1);
}
