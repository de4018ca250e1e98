//! Comparison with the closed forms in `tests/data/access/delays.csv`, order, and conservation.

use super::*;
use crate::access::AccessConfig;
use std::collections::HashMap;

const MS: u64 = 1_000_000_000;
const SECOND: u64 = 1000 * MS;
const RATE_BPS: u64 = 40_000_000;
/// Standard errors within which a simulated value agrees with a closed form whose tolerance is smaller.
const SIGMAS: f64 = 4.0;

/// Queues of packets with their arrivals, and what has left or was lost.
#[derive(Default)]
struct Queues {
    waiting: Vec<VecDeque<(Time, u64)>>,
    /// Whether each station always has packets of 1500 bytes.
    saturated: bool,
    taken: Vec<VecDeque<(Time, u64)>>,
    /// Departures and arrivals of packets.
    left: Vec<Vec<(Time, Time)>>,
    bytes: Vec<u64>,
    lost: Vec<u64>,
    recorded: Vec<Vec<(Time, StationEvent)>>,
}

impl Stations for Queues {
    fn waiting_bytes(&self, station: usize) -> u64 {
        match self.saturated {
            true => 1_000_000,
            false => self.waiting[station].iter().map(|(_, bytes)| bytes).sum(),
        }
    }

    fn take(&mut self, station: usize, now: Time) -> Option<u64> {
        let packet = match self.saturated {
            true => (now, 1500),
            false => self.waiting[station].pop_front()?,
        };
        self.taken[station].push_back(packet);
        Some(packet.1)
    }

    fn leave(&mut self, station: usize, now: Time) {
        let (arrived, bytes) = self.taken[station].pop_front().expect("a packet was taken");
        self.bytes[station] += bytes;
        if !self.saturated {
            self.left[station].push((now, arrived));
        }
    }

    fn discard_at(&mut self, station: usize, place: usize, _now: Time) {
        self.taken[station].remove(place).expect("a packet was taken");
        self.lost[station] += 1;
    }

    fn record(&mut self, station: usize, at: Time, event: StationEvent) {
        if !self.saturated {
            self.recorded[station].push((at, event));
        }
    }
}

struct Cell {
    cell: Cellular,
    queues: Queues,
}

impl Cell {
    /// Creates stations with these fields of their access.
    fn new(stations: &[&str], seed: u64) -> Cell {
        let configs: Vec<AccessConfig> = stations.iter().map(|fields| access(fields)).collect();
        let station = |(link, config)| NewStation {
            config,
            link,
            // Stations 0 and 1 belong to one user.
            node: link / 2,
            to: link / 2,
            rate_bps: RATE_BPS,
            delay: Span(0),
        };
        let new: Vec<_> = configs.iter().enumerate().map(station).collect();
        assert_eq!(crate::access::problem_of_cell(&new), None);
        let count = stations.len();
        Cell {
            cell: Cellular::new(&new, seed),
            queues: Queues {
                waiting: vec![VecDeque::new(); count],
                saturated: false,
                taken: vec![VecDeque::new(); count],
                left: vec![vec![]; count],
                bytes: vec![0; count],
                lost: vec![0; count],
                recorded: vec![vec![]; count],
            },
        }
    }

    fn run_until(&mut self, end: Time) {
        while let Some(at) = self.cell.next_event().filter(|&at| at <= end) {
            self.cell.wake(at, &mut self.queues);
        }
    }

    fn arrive(&mut self, at: Time, station: usize, bytes: u64) {
        self.run_until(at);
        self.queues.waiting[station].push_back((at, bytes));
        self.cell.arrived(at, station, bytes, &mut self.queues);
    }

    /// Runs until nothing is in progress, and checks that all packets have left or were lost.
    fn finish(&mut self) {
        while let Some(at) = self.cell.next_event() {
            self.cell.wake(at, &mut self.queues);
        }
        assert!(self.cell.conserves(Time(0)));
        assert!(self.queues.taken.iter().all(VecDeque::is_empty));
        assert!(self.queues.waiting.iter().all(VecDeque::is_empty));
    }
}

fn access(fields: &str) -> AccessConfig {
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(
        r#"{"kind": "cellular", "preset": "nr", "direction": "up", "scheduler": "proportional-fair",
            "fairness_time_ps": 1000000000000, "request_grant_bytes": 512, "acknowledgement_slots": 4, "grant_slots": 4,
            "block_error": 0.0, "harq_transmissions": 5, "rlc": "am", "rlc_retransmissions": 32,
            "reassembly_ps": 20000000000, "poll_retransmit_ps": 20000000000, "status_prohibit_ps": 10000000000,
            "handover_interruption_ps": 50000000000, "forwarding": true, "drx_on_ps": 10000000000,
            "drx_inactivity_ps": 100000000000, "release_after_ps": 10000000000000}"#,
    )
    .expect("the defaults");
    let own: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&format!("{{{fields}}}")).expect("the fields");
    object.extend(own);
    serde_json::from_value(object.into()).expect("a configuration")
}

/// A row of the table of delays.
struct Row {
    given: HashMap<String, String>,
    value: f64,
    tolerance: f64,
}

impl Row {
    fn number(&self, name: &str) -> f64 {
        self.given[name].parse().expect("a number")
    }

    /// Compares a value that has this standard error.
    fn compare(&self, value: f64, error: f64) {
        let allowed = self.tolerance.max(SIGMAS * error);
        println!("{:?}: {value:.5}, expected {} ± {allowed:.5}", self.given, self.value);
        assert!(
            (value - self.value).abs() <= allowed,
            "{:?}: {value}, expected {}",
            self.given,
            self.value
        );
    }
}

fn rows(quantity: &str) -> Vec<Row> {
    let path = format!("{}/../../tests/data/access/delays.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the table");
    let lines = text.lines().filter(|line| line.starts_with(&format!("{quantity},")));
    let rows: Vec<Row> = lines
        .map(|line| {
            let columns: Vec<&str> = line.split(',').collect();
            let given = columns[1].split(' ').filter_map(|word| word.split_once('='));
            let value: f64 = columns[2].parse().expect("a value");
            Row {
                given: given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                value,
                tolerance: match columns[4].strip_suffix('%') {
                    Some(percent) => value * percent.parse::<f64>().expect("a percentage") / 100.0,
                    None => columns[4].parse().expect("a tolerance"),
                },
            }
        })
        .collect();
    assert!(!rows.is_empty());
    rows
}

/// Returns the mean delay [ms] of single packets of a station, over all phases of arrival.
fn first_packet_ms(stations: &[&str], station: usize, bytes: u64) -> f64 {
    const PACKETS: u64 = 1009;
    let mut cell = Cell::new(stations, 1);
    for number in 0..PACKETS {
        // Phases of a request period of at most 20 ms that are equally distributed.
        cell.arrive(Time(number * SECOND + number * 20 * MS / PACKETS + 1), station, bytes);
    }
    cell.finish();
    let left = &cell.queues.left[station];
    let sum: u64 = left.iter().map(|(departure, arrival)| departure.0 - arrival.0).sum();
    assert_eq!(left.len() as u64, PACKETS);
    sum as f64 / PACKETS as f64 / MS as f64
}

#[test]
fn first_uplink_packet_waits_for_request_and_grant() {
    let mut compared = 0;
    for row in rows("NR first packet ms") {
        let fields = format!(r#""request_period_ps": {}"#, row.number("sr-period") * MS as f64);
        // Requests of users have the uplink slots one after the other.
        let station = row.number("sr-slot") as usize - 7;
        let bytes = if row.given["buffer-status"] == "yes" { 1400 } else { 400 };
        row.compare(first_packet_ms(&[&fields, &fields, &fields], station, bytes), 0.0);
        compared += 1;
    }
    for row in rows("LTE or NR first packet ms") {
        let fields = format!(r#""request_period_ps": {}"#, row.number("sr-period") * MS as f64);
        row.compare(first_packet_ms(&[&fields], 0, 400), 0.0);
        compared += 1;
    }
    assert_eq!(compared, 14);
}

#[test]
fn downlink_packets_wait_for_the_next_slot() {
    // Half a slot and a slot of transmission with FDD.
    let mean = first_packet_ms(&[r#""preset": "lte", "direction": "down""#], 0, 400);
    assert!((mean - 1.5).abs() < 0.01, "{mean}");
}

/// Returns a station of LTE whose HARQ has a round trip [ms].
fn harq(error: f64, rtt: f64, further: &str) -> String {
    format!(
        r#""preset": "lte", "direction": "down", "harq_processes": 32, "block_error": {error}, "processing_slots": {}{further}"#,
        rtt - 4.0
    )
}

/// Returns the delays [ms] that retransmissions add to small packets, one every `interval` ms, and the number of lost ones.
fn added_ms(fields: &str, packets: u64, interval: u64) -> (Vec<u64>, u64) {
    let mut cell = Cell::new(&[fields], 3);
    for number in 0..packets {
        cell.arrive(Time(number * interval * MS + MS / 2), 0, 40);
    }
    cell.finish();
    let added = |&(departure, arrival): &(Time, Time)| (departure.0 - arrival.0 - 3 * MS / 2) / MS;
    (cell.queues.left[0].iter().map(added).collect(), cell.queues.lost[0])
}

fn mean_and_error(values: &[u64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<u64>() as f64 / count;
    let square = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / count;
    (mean, (square / count).sqrt())
}

#[test]
fn harq_adds_geometric_delays() {
    const PACKETS: u64 = 1_000_000;
    let mut measured: HashMap<String, (Vec<u64>, u64)> = HashMap::new();
    for row in rows("HARQ mean added ms")
        .iter()
        .filter(|row| !row.given.contains_key("order"))
    {
        let fields = harq(row.number("bler"), row.number("rtt"), r#", "rlc": "um""#);
        let (added, lost) = added_ms(&fields, PACKETS, 100);
        let (mean, error) = mean_and_error(&added);
        row.compare(mean, error);
        measured.insert(format!("{} {}", row.given["bler"], row.given["rtt"]), (added, lost));
    }
    let of = |row: &Row| &measured[&format!("{} {}", row.given["bler"], row.given["rtt"])];
    for row in rows("HARQ share") {
        let delay = (row.number("retransmissions") * row.number("rtt")) as u64;
        let count = of(&row).0.iter().filter(|&&added| added == delay).count() as f64;
        row.compare(count / PACKETS as f64, count.sqrt() / PACKETS as f64);
    }
    for row in rows("HARQ residual loss") {
        let lost = of(&row).1 as f64;
        row.compare(
            lost / PACKETS as f64,
            (row.value * PACKETS as f64).max(1.0).sqrt() / PACKETS as f64,
        );
    }
}

#[test]
fn order_delays_packets_behind_a_failed_block() {
    for row in rows("HARQ mean added ms")
        .iter()
        .filter(|row| row.given.contains_key("order"))
    {
        let (added, _) = added_ms(&harq(row.number("bler"), row.number("rtt"), ""), 1_000_000, 1);
        let (mean, error) = mean_and_error(&added);
        // Delays of successive packets depend on each other for several round trips.
        row.compare(mean, error * row.number("rtt").sqrt());
    }
}

#[test]
fn rlc_retransmits_blocks_lost_by_harq() {
    for row in rows("RLC AM mean added ms") {
        // The timer of the poll, and the slot of the new transmission.
        let poll = (row.number("detection") as u64 - 1) * MS;
        let fields = format!(
            r#""preset": "lte", "direction": "down", "harq_transmissions": 1, "processing_slots": 1, "block_error": {},
               "poll_retransmit_ps": {}"#,
            row.number("residual"),
            poll,
        );
        let (added, lost) = added_ms(&fields, 1_000_000, 200);
        let (mean, error) = mean_and_error(&added);
        row.compare(mean, error);
        assert_eq!(lost, 0);
    }
}

#[test]
fn proportional_fairness_gains_by_fading() {
    const SLOTS: u64 = 100_000;
    let fields = r#""preset": "lte", "direction": "down", "fairness_time_ps": 2000000000000"#;
    let served = |users: usize, fading: &str| {
        let own = format!("{fields}{fading}");
        let mut cell = Cell::new(&vec![own.as_str(); users], 5);
        cell.queues.saturated = true;
        (0..users).for_each(|user| cell.cell.arrived(Time(0), user, 1500, &mut cell.queues));
        cell.run_until(Time(SLOTS * MS));
        let before = cell.queues.bytes.clone();
        cell.run_until(Time(2 * SLOTS * MS));
        let bytes: Vec<u64> = cell
            .queues
            .bytes
            .iter()
            .zip(before)
            .map(|(after, before)| after - before)
            .collect();
        bytes
    };
    let alone = served(1, "")[0] as f64;
    // Headers take less than 2 % of the blocks.
    let rate = alone * 8.0 / (SLOTS * MS) as f64 * 1e12;
    assert!((0.98..1.0).contains(&(rate / RATE_BPS as f64)), "{rate}");
    for row in rows("proportional fair gain") {
        let users = row.number("users") as usize;
        let bytes = served(users, r#", "fading_ps": 1000000000"#);
        row.compare(bytes.iter().sum::<u64>() as f64 / alone, 0.0);
        let (least, most) = (bytes.iter().min().expect("users"), bytes.iter().max().expect("users"));
        assert!((*least as f64) > 0.93 * *most as f64, "{bytes:?}");
    }
}

#[test]
fn schedulers_divide_the_cell() {
    // Two users, one of which has half the rate.
    let served = |scheduler: &str| {
        let fields = format!(r#""preset": "lte", "direction": "down", "scheduler": "{scheduler}""#);
        let slow = format!(r#"{fields}, "quality_ps": [[0, 0.5]]"#);
        let mut cell = Cell::new(&[&fields, &slow], 5);
        cell.queues.saturated = true;
        (0..2).for_each(|user| cell.cell.arrived(Time(0), user, 1500, &mut cell.queues));
        cell.run_until(Time(10 * SECOND));
        cell.queues
            .bytes
            .iter()
            .map(|&bytes| 8.0 * bytes as f64 / 10.0 / RATE_BPS as f64)
            .collect::<Vec<_>>()
    };
    for (scheduler, expected) in [
        ("proportional-fair", [0.5, 0.25]),
        ("round-robin", [0.5, 0.25]),
        ("maximum-rate", [1.0, 0.0]),
    ] {
        let shares = served(scheduler);
        println!("{scheduler}: {shares:?}");
        assert!(shares
            .iter()
            .zip(expected)
            .all(|(share, expected)| (share - expected).abs() < 0.02));
    }
}

#[test]
fn cqi_sets_the_rate_of_a_user() {
    let mut cell = Cell::new(
        &[r#""preset": "lte", "direction": "down", "cqi_ps": [[0, 15], [5000000000000, 7]]"#],
        5,
    );
    cell.queues.saturated = true;
    cell.cell.arrived(Time(0), 0, 1500, &mut cell.queues);
    cell.run_until(Time(5 * SECOND));
    let first = cell.queues.bytes[0];
    cell.run_until(Time(10 * SECOND));
    let ratio = (cell.queues.bytes[0] - first) as f64 / first as f64;
    // TS 36.213 table 7.2.3-1.
    assert!((ratio / (1.4766 / 5.5547) - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn packets_are_conserved_and_keep_their_order() {
    for (number, further) in [
        r#""rlc": "am""#,
        r#""rlc": "um""#,
        r#""rlc": "am", "rlc_retransmissions": 1"#,
        r#""rlc": "am", "harq_processes": 1"#,
        r#""rlc": "um", "harq_transmissions": 1, "reassembly_ps": 0"#,
        r#""rlc": "am", "status_prohibit_ps": 0, "processing_slots": 1, "preset": "lte", "fading_ps": 5000000000"#,
        r#""rlc": "am", "resource_blocks": 1, "request_grant_bytes": 1"#,
        r#""rlc": "am", "handover_every_ps": 100000000000"#,
        r#""rlc": "am", "handover_every_ps": 150000000000, "forwarding": false"#,
        r#""rlc": "um", "handover_every_ps": 150000000000, "promotion_ps": 300000000000, "release_after_ps": 100000000000"#,
        r#""rlc": "am", "drx_cycle_ps": 160000000000, "drx_inactivity_ps": 5000000000"#,
    ]
    .iter()
    .enumerate()
    {
        let fields =
            |way: &str| format!(r#""direction": "{way}", "block_error": 0.4, "harq_transmissions": 2, {further}"#);
        let (up, down) = (fields("up"), fields("down"));
        let mut cell = Cell::new(&[&up, &down, &up], number as u64);
        let mut stream = Stream::new(number as u64, "arrivals", 0);
        let mut now = Time(0);
        const PACKETS: u64 = 20_000;
        for _ in 0..PACKETS {
            let gap = if stream.below(50) == 0 { 100 * MS } else { 2 * MS };
            now += Span(stream.below(gap));
            cell.arrive(now, stream.below(3) as usize, 40 + stream.below(1461));
        }
        cell.finish();
        let lost: u64 = cell.queues.lost.iter().sum();
        let left: u64 = cell.queues.left.iter().map(|left| left.len() as u64).sum();
        assert_eq!(left + lost, PACKETS);
        for left in &cell.queues.left {
            assert!(left
                .windows(2)
                .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
        }
        let loses = ["um", "rlc_retransmissions", "forwarding"].iter().any(|field| further.contains(field));
        assert_eq!(lost > 0, loses, "{further}: {lost}");
        for station in 0..3 {
            let report = cell.cell.report(station, now);
            assert_eq!(
                report.retransmissions > 0,
                !further.contains(r#""harq_transmissions": 1"#)
            );
            assert!(report.used <= report.granted);
            assert_eq!(report.requests > 0, station != 1);
        }
    }
}

/// Returns the departures [ms] of packets of a user with these fields, one every `interval` ms from 0.25 ms on.
fn departures_ms(fields: &str, packets: u64, interval: u64) -> (Vec<f64>, u64) {
    let mut cell = Cell::new(&[fields], 1);
    for number in 0..packets {
        cell.arrive(Time(number * interval * MS + MS / 4), 0, 400);
    }
    cell.finish();
    let ms = |&(departure, _): &(Time, Time)| departure.0 as f64 / MS as f64;
    (cell.queues.left[0].iter().map(ms).collect(), cell.queues.lost[0])
}

#[test]
fn a_handover_interrupts_the_link_and_forwards_its_packets() {
    let fields = r#""preset": "lte", "direction": "down", "handover_every_ps": 1000000000000"#;
    let (forwarded, lost) = departures_ms(fields, 1500, 1);
    assert_eq!((forwarded.len(), lost), (1500, 0));
    // The block that begins at 999 ms is received when the handover begins.
    let pause = forwarded
        .windows(2)
        .find(|pair| pair[1] - pair[0] > 1.0)
        .expect("a pause");
    assert_eq!(pause, [1000.0, 1051.0]);
    // Packets that wait at the old base station are lost without forwarding: those of a busy link.
    let busy = format!(r#"{fields}, "forwarding": false, "quality_ps": [[0, 0.05]]"#);
    let (left, lost) = departures_ms(&busy, 1500, 1);
    assert_eq!(left.len() as u64 + lost, 1500);
    assert!(lost > 100, "{lost}");
    let (_, lost) = departures_ms(&busy.replace("false", "true"), 1500, 1);
    assert_eq!(lost, 0);
}

#[test]
fn an_upload_continues_with_a_request_after_a_handover() {
    let (left, lost) = departures_ms(r#""handover_every_ps": 1000000000000"#, 1500, 1);
    assert_eq!((left.len(), lost), (1500, 0));
    let pause = left.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    // The interruption, a request every 20 ms, and a grant.
    assert!((50.0..50.0 + 20.0 + 12.0).contains(&pause), "{pause}");
}

#[test]
fn inactive_users_receive_at_the_start_of_drx_cycles() {
    let fields = r#""preset": "lte", "direction": "down", "drx_cycle_ps": 320000000000"#;
    // A packet each second: cycles begin at multiples of 320 ms, and last 10 ms.
    let (left, _) = departures_ms(fields, 5, 1000);
    assert_eq!(left, [2.0, 1281.0, 2241.0, 3201.0, 4161.0]);
    // A packet each 50 ms keeps the user active.
    let (left, _) = departures_ms(fields, 20, 50);
    assert!(
        left.iter()
            .enumerate()
            .all(|(number, &left)| left == 50.0 * number as f64 + 2.0),
        "{left:?}"
    );
}

#[test]
fn released_users_are_promoted_once_for_both_directions() {
    let fields = |way: &str| format!(r#""preset": "lte", "direction": "{way}", "promotion_ps": 341000000000"#);
    let (down, up) = (fields("down"), fields("up"));
    let mut cell = Cell::new(&[&up, &down], 1);
    cell.arrive(Time(MS / 4), 0, 400);
    cell.arrive(Time(500 * MS + MS / 4), 1, 400);
    cell.arrive(Time(20_000 * MS + MS / 4), 1, 400);
    cell.finish();
    let delays: Vec<u64> = cell
        .queues
        .left
        .iter()
        .flatten()
        .map(|(left, arrived)| (left.0 - arrived.0) / MS)
        .collect();
    // Promotion, and a request and a grant; the next slot; promotion after 10 s without data.
    assert!((341 + 9..=341 + 19).contains(&delays[0]), "{delays:?}");
    assert_eq!(delays[1..], [1, 342]);
}

#[test]
fn an_idle_cell_has_no_events() {
    let mut cell = Cell::new(&[r#""direction": "up""#, r#""direction": "down""#], 1);
    cell.arrive(Time(MS), 0, 400);
    cell.arrive(Time(MS), 1, 400);
    cell.finish();
    assert_eq!(cell.cell.next_event(), None);
    assert!(cell
        .queues
        .left
        .iter()
        .flatten()
        .all(|(departure, _)| departure.0 < 40 * MS));
}
