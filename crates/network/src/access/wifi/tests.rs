//! Comparison with the simulation of slots in `tests/data/access/wifi.csv`, and rules of single exchanges.

use super::*;
use crate::access::AccessConfig;

const US: u64 = 1_000_000;
const MS: u64 = 1000 * US;

/// Queues of packet lengths, and what has left or was dropped.
#[derive(Default)]
struct Queues {
    waiting: Vec<VecDeque<u64>>,
    /// Packets that each station always has, of this length [byte]; None for the queues alone.
    always: Option<u64>,
    taken: Vec<VecDeque<u64>>,
    left: Vec<Vec<(Time, u64)>>,
    discarded: Vec<Vec<u64>>,
    recorded: Vec<Vec<StationEvent>>,
}

impl Stations for Queues {
    fn waiting_bytes(&self, station: usize) -> u64 {
        self.always.unwrap_or_else(|| self.waiting[station].iter().sum())
    }

    fn take(&mut self, station: usize, _now: Time) -> Option<u64> {
        let bytes = self.always.or_else(|| self.waiting[station].pop_front())?;
        self.taken[station].push_back(bytes);
        Some(bytes)
    }

    fn leave(&mut self, station: usize, now: Time) {
        let bytes = self.taken[station].pop_front().expect("a packet was taken");
        self.left[station].push((now, bytes));
    }

    fn discard_at(&mut self, station: usize, place: usize, _now: Time) {
        let bytes = self.taken[station].remove(place).expect("a packet was taken");
        self.discarded[station].push(bytes);
    }

    fn record(&mut self, station: usize, _at: Time, event: StationEvent) {
        self.recorded[station].push(event);
    }
}

/// A channel with the queues of its stations.
struct Channel {
    cell: Wifi,
    queues: Queues,
}

impl Channel {
    /// Creates stations, each of which has a node and the fields of its access.
    fn new(stations: &[(usize, u64, &str)], seed: u64) -> Channel {
        let configs: Vec<AccessConfig> = stations.iter().map(|&(_, _, fields)| access(fields)).collect();
        let new: Vec<NewStation<'_>> = (stations.iter().zip(&configs).enumerate())
            .map(|(link, (&(node, rate_bps, _), config))| NewStation {
                config,
                link,
                node,
                to: link,
                rate_bps,
                delay: Span(0),
            })
            .collect();
        assert_eq!(crate::access::problem_of_cell(&new), None);
        let count = stations.len();
        Channel {
            cell: Wifi::new(&new, seed),
            queues: Queues {
                waiting: vec![VecDeque::new(); count],
                taken: vec![VecDeque::new(); count],
                left: vec![vec![]; count],
                discarded: vec![vec![]; count],
                recorded: vec![vec![]; count],
                always: None,
            },
        }
    }

    /// Creates stations that always have packets.
    fn saturated(stations: &[(usize, u64, &str)], seed: u64) -> Channel {
        let mut channel = Channel::new(stations, seed);
        channel.queues.always = Some(1500);
        (0..stations.len()).for_each(|station| channel.cell.arrived(Time(0), station, 1500, &mut channel.queues));
        channel
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

    /// Returns the bytes that have left each station.
    fn bytes(&self) -> Vec<u64> {
        let sum = |left: &Vec<(Time, u64)>| left.iter().map(|(_, bytes)| bytes).sum();
        self.queues.left.iter().map(sum).collect()
    }

    fn reports(&self, now: Time) -> Vec<AccessReport> {
        (0..self.queues.left.len())
            .map(|station| self.cell.report(station, now))
            .collect()
    }
}

fn access(fields: &str) -> AccessConfig {
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(
        r#"{"kind": "wifi", "standard": "ax", "width": "20 MHz", "streams": 1, "max_duration_ps": 5484000000,
            "frame_error": 0.0, "retry_limit": 7, "cw_min": 15, "cw_max": 1023, "scheduler": "airtime",
            "quantum_ps": 300000000, "suspend_for_ps": 0}"#,
    )
    .expect("the defaults");
    let own: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&format!("{{{fields}}}")).expect("the fields");
    object.extend(own);
    serde_json::from_value(object.into()).expect("a configuration")
}

/// Returns the fields and the link's rate of a mode of the table.
fn mode(name: &str) -> (String, u64) {
    let (fields, rate_bps) = match name.trim_end_matches("-ampdu32") {
        "11a-6" => (r#""standard": "a""#, 6_000_000),
        "11a-54" => (r#""standard": "a""#, 54_000_000),
        "11g-54" => (r#""standard": "g""#, 54_000_000),
        "11n-mcs7" => (r#""standard": "n""#, 72_200_000),
        "11ac-mcs8" => (r#""standard": "ac""#, 86_700_000),
        "11ax-mcs0" => (r#""standard": "ax""#, 8_600_000),
        "11ax-mcs7" => (r#""standard": "ax""#, 86_000_000),
        "11ax-mcs11" => (r#""standard": "ax""#, 143_400_000),
        other => panic!("{other}"),
    };
    let frames = if name.ends_with("-ampdu32") { 32 } else { 1 };
    (format!(r#"{fields}, "max_frames": {frames}"#), rate_bps)
}

/// Returns the goodput [Mbit/s] of all stations together, after 2 s, over several seeds.
fn goodput(fields: &str, rate_bps: u64, stations: usize, seeds: u64, seconds: u64) -> f64 {
    let own: Vec<_> = (0..stations).map(|node| (node, rate_bps, fields)).collect();
    let (begin, end) = (Time(2000 * MS), Time((2 + seconds) * 1000 * MS));
    let mut bytes = 0;
    for seed in 0..seeds {
        let mut channel = Channel::saturated(&own, seed);
        channel.run_until(begin);
        let before: u64 = channel.bytes().iter().sum();
        channel.run_until(end);
        bytes += channel.bytes().iter().sum::<u64>() - before;
    }
    8.0 * bytes as f64 / (seeds * seconds) as f64 / 1e6
}

/// Returns the columns of the rows of a table of goodputs, with their conditions by name.
fn rows(table: &str, quantity: &str) -> Vec<(std::collections::HashMap<String, String>, f64)> {
    let path = format!("{}/../../tests/data/access/{table}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the table");
    let rows = text.lines().filter(|line| line.starts_with(&format!("{quantity},")));
    rows.map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        let given = columns[1].split(' ').filter_map(|word| word.split_once('='));
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        (given, columns[2].parse().expect("a goodput"))
    })
    .collect()
}

#[test]
fn goodputs_equal_those_of_an_independent_simulation() {
    let mut compared = 0;
    for (given, expected) in rows("wifi", "goodput Mbit/s") {
        let is_own = given["prescribed"] == "yes" && given["after"] == "eifs" && given["retry-limit"] == "7";
        if !is_own {
            continue;
        }
        let (mut fields, rate_bps) = mode(&given["mode"]);
        fields += match given["space"].as_str() {
            "difs" => r#", "aifsn": 2"#,
            _ => "",
        };
        let stations: usize = given["n"].parse().expect("a number");
        let seconds = if given["mode"].ends_with("-ampdu32") { 120 } else { 40 };
        let value = goodput(&fields, rate_bps, stations, 4, seconds);
        let difference = value / expected - 1.0;
        println!(
            "{} {} n={stations}: {value:.3} Mbit/s, expected {expected} ({:+.2} %)",
            given["mode"],
            given["space"],
            100.0 * difference
        );
        assert!(difference.abs() < 0.01, "{given:?}: {value}, expected {expected}");
        compared += 1;
    }
    // 11 modes with DIFS, and 8 of them with AIFS, for each of 4 numbers of stations.
    assert_eq!(compared, 76);
}

#[test]
fn goodputs_agree_with_the_tables_of_ns3() {
    // ns-3's formula has one further slot after a success, as if busy periods did not count as slots.
    for (rule, expected_misses) in [
        ("false", vec!["11ax-mcs0 n=50", "11ax-mcs7 n=50"]),
        (
            "true",
            vec![
                "11ax-mcs7 n=5",
                "11ax-mcs7 n=10",
                "11ax-mcs7 n=20",
                "11ax-mcs7 n=50",
                "11ax-mcs11 n=5",
                "11ax-mcs11 n=10",
                "11ax-mcs11 n=20",
                "11ax-mcs11 n=50",
            ],
        ),
    ] {
        let mut misses = vec![];
        for (given, expected) in rows("published", "goodput Mbit/s") {
            // ns-3's row with DIFS after a collision has stations that do not wait for the missing response.
            if given["mode"].starts_with("11b") || given["after"] != "eifs" {
                continue;
            }
            let (mut fields, rate_bps) = mode(&given["mode"]);
            fields += &format!(r#", "aifsn": 2, "retry_limit": 255, "counts_busy_slots": {rule}"#);
            let stations: usize = given["n"].parse().expect("a number");
            let value = goodput(&fields, rate_bps, stations, 4, 40);
            let difference = value / expected - 1.0;
            let row = format!("{} n={stations}", given["mode"]);
            println!(
                "{rule} {row}: {value:.3} Mbit/s, ns-3 {expected} ({:+.2} %)",
                100.0 * difference
            );
            if difference.abs() > 0.025 {
                misses.push(row);
            }
        }
        assert_eq!(misses, expected_misses, "{rule}");
    }
}

#[test]
fn aggregates_have_the_goodput_of_a_simulation_with_ns3() {
    let found = rows("published", "simulated goodput Mbit/s");
    let [(given, expected)] = &found[..] else {
        panic!("{found:?}")
    };
    let (fields, rate_bps) = mode(&given["mode"]);
    let value = goodput(&fields, rate_bps, 5, 4, 60);
    println!(
        "{value:.2} Mbit/s, ns-3 {expected} Mbit/s ({:+.1} %)",
        100.0 * (value / expected - 1.0)
    );
    assert!((value / expected - 1.0).abs() < 0.05);
}

#[test]
fn a_packet_alone_takes_the_time_of_its_frame() {
    let mut channel = Channel::new(&[(0, 54_000_000, r#""standard": "a""#)], 1);
    channel.arrive(Time(MS), 0, 1500);
    channel.run_until(Time(10 * MS));
    // The idle channel may be used in the next slot; 1536 bytes take 57 symbols of 4 us behind a preamble of 20 us.
    let slot = (MS / SLOT_PS + 1) * SLOT_PS;
    assert_eq!(channel.queues.left[0], [(Time(slot + 248 * US), 1500)]);
    let event = channel.queues.recorded[0][0];
    assert_eq!(
        (event.action, event.bytes, event.waited),
        (StationAction::Attempt, 1536, Span(slot - MS))
    );
    let report = channel.cell.report(0, Time(10 * MS));
    assert_eq!(
        (report.attempts, report.collisions, report.airtime),
        (1, 0, Span(292 * US))
    );
    assert_eq!(report.waiting_for_medium, Span(slot - MS));
}

#[test]
fn corrupted_frames_are_repeated_and_keep_their_order() {
    let mut channel = Channel::new(&[(0, 143_400_000, r#""frame_error": 0.3"#)], 3);
    for packet in 0..2000 {
        channel.arrive(Time(packet * 100 * US), 0, 1000 + packet % 400);
    }
    channel.run_until(Time(10_000 * MS));
    let left: Vec<u64> = channel.queues.left[0].iter().map(|&(_, bytes)| bytes).collect();
    let discarded = &channel.queues.discarded[0];
    assert_eq!(left.len() + discarded.len(), 2000);
    // The probability of 7 losses is 2e-4.
    assert!(discarded.len() < 6, "{discarded:?}");
    let mut expected: VecDeque<u64> = (0..2000).map(|packet| 1000 + packet % 400).collect();
    for bytes in left {
        while expected.pop_front() != Some(bytes) {}
    }
    let report = channel.cell.report(0, Time(10_000 * MS));
    // Each frame is transmitted 1 / 0.7 times.
    assert!(report.retransmissions.abs_diff(2000 * 3 / 7) < 100, "{report:?}");
}

#[test]
fn a_frame_is_discarded_at_the_retry_limit() {
    let fields = r#""frame_error": 1.0, "retry_limit": 4, "max_frames": 1"#;
    let mut channel = Channel::new(&[(0, 143_400_000, fields)], 1);
    channel.arrive(Time(0), 0, 700);
    channel.run_until(Time(1000 * MS));
    let report = channel.cell.report(0, Time(1000 * MS));
    assert_eq!(channel.queues.discarded[0], [700]);
    assert_eq!((report.attempts, report.retransmissions), (4, 3));
}

#[test]
fn aggregates_stay_within_frames_bytes_and_duration() {
    for (fields, rate_bps, frames) in [
        // 64 frames; 65 535 bytes / 1544; 5448 us of 3.6 us x 26 bit / 8 / 1544; 256 frames; 10 frames.
        (r#""standard": "ac", "width": "80 MHz""#, 433_300_000, 64),
        (r#""standard": "n""#, 72_200_000, 31),
        (r#""standard": "n""#, 7_200_000, 3),
        (r#""standard": "ax", "width": "80 MHz""#, 600_500_000, 256),
        (r#""standard": "ax", "max_frames": 10"#, 143_400_000, 10),
    ] {
        let mut channel = Channel::saturated(&[(0, rate_bps, fields)], 1);
        channel.run_until(Time(1000 * MS));
        let report = channel.cell.report(0, Time(1000 * MS));
        let per_transmission = channel.queues.left[0].len() as u64 / (report.attempts - 1);
        assert_eq!(per_transmission, frames, "{fields}");
        let longest = report.airtime.0 / report.attempts;
        assert!(longest < 5484 * US + 16 * US + 48 * US, "{fields}: {longest}");
    }
}

#[test]
fn schedulers_divide_the_access_point_by_airtime_or_by_packets() {
    for (scheduler, expected) in [("airtime", [48.13, 48.13, 2.4]), ("frames", [6.55, 6.55, 6.55])] {
        let fields = format!(r#""standard": "n", "max_frames": 1, "scheduler": "{scheduler}""#);
        let wide = format!(r#"{fields}, "streams": 2"#);
        // Without back-off and headers, rates are those of the published table.
        let stations = [
            (0, 144_400_000, &*wide),
            (0, 144_400_000, &*wide),
            (0, 7_200_000, &*fields),
        ];
        let mut channel = Channel::saturated(&stations, 1);
        let end = Time(20_000 * MS);
        channel.run_until(end);
        let (bytes, reports) = (channel.bytes(), channel.reports(end));
        let airtimes: Vec<f64> = reports.iter().map(|report| report.airtime.as_seconds()).collect();
        let total: f64 = airtimes.iter().sum();
        match scheduler {
            "airtime" => assert!(
                airtimes
                    .iter()
                    .all(|airtime| (3.0 * airtime / total - 1.0).abs() < 0.01),
                "{airtimes:?}"
            ),
            _ => assert!(bytes[0].abs_diff(bytes[2]) <= 3000, "{bytes:?}"),
        }
        // Data rates during the airtimes, without preambles, responses and headers, give the published rates.
        let rates = [144.4, 144.4, 7.2];
        let shares = reports
            .iter()
            .zip(rates)
            .map(|(report, rate)| report.attempts as f64 * 12e-3 / rate);
        let data: Vec<f64> = shares.collect();
        if scheduler == "frames" {
            let sum: f64 = data.iter().sum();
            let published = 12e-3 * reports[0].attempts as f64 / sum;
            assert!((published - expected[0]).abs() < 0.05, "{published}");
        }
    }
}

#[test]
fn stations_of_an_access_point_contend_once() {
    // Downlinks of nine clients at one node against one uplink: each node has half of the transmissions.
    let mut stations: Vec<_> = (0..9).map(|_| (0, 143_400_000, r#""max_frames": 1"#)).collect();
    stations.push((1, 143_400_000, r#""max_frames": 1"#));
    let mut channel = Channel::saturated(&stations, 1);
    let end = Time(20_000 * MS);
    channel.run_until(end);
    let reports = channel.reports(end);
    let down: u64 = reports[..9].iter().map(|report| report.attempts).sum();
    let share = down as f64 / (down + reports[9].attempts) as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
    let largest = reports[..9].iter().map(|report| report.attempts).max().unwrap_or(0);
    assert!(largest - down / 9 < down / 900, "{reports:?}");
}

#[test]
fn a_suspended_link_sends_nothing() {
    let fields = r#""suspend_every_ps": 1000000000000, "suspend_for_ps": 200000000000"#;
    let mut channel = Channel::new(&[(0, 143_400_000, fields)], 1);
    for packet in 0..500 {
        channel.arrive(Time(packet * 10 * MS), 0, 1500);
    }
    channel.run_until(Time(10_000 * MS));
    let left = &channel.queues.left[0];
    assert_eq!(left.len(), 500);
    let suspended = |at: &Time| at.0 >= 1000 * MS && at.0 % (1000 * MS) < 200 * MS;
    assert!(left.iter().all(|(at, _)| !suspended(at)));
    // The 20 packets that a suspension delays leave together with the one that arrives at its end, within 2 ms.
    let first = left.iter().find(|(at, _)| at.0 >= 1200 * MS).expect("a packet").0;
    assert!(first.0 < 1202 * MS);
    assert_eq!(left.iter().filter(|(at, _)| *at == first).count(), 21);
}

#[test]
fn an_idle_channel_has_no_events() {
    let stations: Vec<_> = (0..50).map(|node| (node, 143_400_000, "")).collect();
    let mut channel = Channel::new(&stations, 1);
    assert_eq!(channel.cell.next_event(), None);
    channel.arrive(Time(MS), 7, 1000);
    channel.run_until(Time(20 * MS));
    assert_eq!(channel.cell.next_event(), None);
    assert_eq!(channel.queues.left[7].len(), 1);
}

#[test]
fn stations_of_different_standards_do_not_share_a_cell() {
    let configs = [access(r#""standard": "n""#), access(r#""standard": "ac""#)];
    let station = |(link, config)| NewStation {
        config,
        link,
        node: link,
        to: link,
        rate_bps: 72_200_000,
        delay: Span(0),
    };
    let stations: Vec<_> = configs.iter().enumerate().map(station).collect();
    let problem = crate::access::problem_of_cell(&stations).expect("a problem");
    assert_eq!(problem.0, 1);
    assert_eq!(problem.1.field, "standard");
}
