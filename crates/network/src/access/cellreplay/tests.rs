//! Comparison with the departures in `tests/data/access/cellreplay.csv`, for which an independent program generates three
//! recordings and their packets. This program draws the same recordings by the same linear congruential sequence.

use super::*;
use crate::access::AccessConfig;

/// Packets that wait, numbers of those that have been taken, and departures by number; None for lost packets.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<u64>,
    taken: VecDeque<usize>,
    departures: Vec<Option<Time>>,
}

impl Stations for Queue {
    fn waiting_bytes(&self, _station: usize) -> u64 {
        self.waiting.iter().sum()
    }

    fn take(&mut self, _station: usize, _now: Time) -> Option<u64> {
        let bytes = self.waiting.pop_front()?;
        self.taken.push_back(self.departures.len());
        self.departures.push(None);
        Some(bytes)
    }

    fn leave(&mut self, _station: usize, now: Time) {
        let number = self.taken.pop_front().expect("a packet was taken");
        self.departures[number] = Some(now);
    }

    fn discard_at(&mut self, _station: usize, place: usize, _now: Time) {
        self.taken.remove(place).expect("a packet was taken");
    }

    fn record(&mut self, _station: usize, _at: Time, _event: StationEvent) {}
}

/// Ranges of a synthetic recording (first value, number of values), as in the comment of the table's program.
struct Kind {
    name: &'static str,
    seed: u64,
    timer: u64,
    train: (u64, u64),
    base: (u64, u64),
    step: (u64, u64),
    offsets: (u64, u64),
    heavy: (u64, u64),
    burst: (u64, u64),
    gap: (u64, u64),
    pause: (u64, u64),
    sizes: Vec<f64>,
}

fn kinds() -> [Kind; 3] {
    [
        Kind {
            name: "stationary",
            seed: 1,
            timer: 0,
            train: (100, 41),
            base: (18, 7),
            step: (1, 2),
            offsets: (10, 6),
            heavy: (1, 2),
            burst: (1, 12),
            gap: (0, 2),
            pause: (20, 60),
            sizes: (0..14).map(|step| 0.35 * f64::from(step)).collect(),
        },
        Kind {
            name: "driving",
            seed: 2,
            timer: 15,
            train: (80, 300),
            base: (25, 90),
            step: (0, 9),
            offsets: (4, 9),
            heavy: (0, 13),
            burst: (1, 40),
            gap: (0, 4),
            pause: (0, 400),
            sizes: vec![1.5, 0.5, 2.5, 2.5, 3.0, 1.0, 6.5],
        },
        Kind {
            name: "loaded",
            seed: 3,
            timer: 5,
            train: (150, 1),
            base: (30, 20),
            step: (2, 3),
            offsets: (3, 2),
            heavy: (2, 4),
            burst: (200, 300),
            gap: (0, 5),
            pause: (100, 500),
            sizes: vec![0.0],
        },
    ]
}

/// Returns the recording of a kind, and 10 000 packets as arrivals [ms] and lengths [byte].
fn synthetic(kind: &Kind) -> (CellReplayConfig, Vec<(u64, u64)>) {
    let mut state = kind.seed;
    let mut value = || {
        state = (1_103_515_245 * state + 12_345) % (1 << 31);
        state >> 8
    };
    let mut draw = |(first, count): (u64, u64)| first + value() % count;
    let (mut light, mut time) = (vec![], 0);
    for _ in 0..120 {
        let (base, count) = (draw(kind.base), draw(kind.offsets));
        let mut line = vec![time, base, 0];
        while (line.len() as u64) < 2 + count {
            line.push(line[line.len() - 1] + draw(kind.step));
        }
        light.push(line);
        time += draw(kind.train);
    }
    let mut heavy = vec![draw(kind.heavy)];
    while heavy.len() < 4000 {
        heavy.push(heavy[heavy.len() - 1] + draw(kind.heavy));
    }
    let (mut packets, mut time) = (vec![], 0);
    while packets.len() < 10_000 {
        for _ in 0..draw(kind.burst) {
            let is_full = draw((0, 2)) == 1;
            packets.push((time, if is_full { 1400 } else { draw((40, 1361)) }));
            time += draw(kind.gap);
        }
        time += draw(kind.pause);
    }
    packets.truncate(10_000);
    let config = CellReplayConfig {
        size_offsets_ms: Some(kind.sizes.clone()),
        long_to_short_ps: kind.timer * MS,
        ..unlimited(light, heavy)
    };
    (config, packets)
}

/// Returns a recording with an unlimited queue, and without offsets by size.
fn unlimited(light_ms: Vec<Vec<u64>>, heavy_ms: Vec<u64>) -> CellReplayConfig {
    CellReplayConfig {
        light_ms,
        heavy_ms,
        size_offsets_ms: None,
        skip_ps: 0,
        long_to_short_ps: 0,
        queue: HeavyQueue::Infinite,
        queue_packets: None,
        queue_size_bytes: None,
        codel_target_ps: None,
        codel_interval_ps: None,
    }
}

/// Returns the departures [ms] of packets, which arrive in whole milliseconds, over a recording.
fn departures(config: CellReplayConfig, packets: &[(u64, u64)]) -> Vec<u64> {
    let times = departures_or_losses(config, packets);
    times.into_iter().map(|time| time.expect("no packet is lost")).collect()
}

/// Returns the departures [ms] of packets, which arrive in whole milliseconds, over a recording; None for lost ones.
fn departures_or_losses(config: CellReplayConfig, packets: &[(u64, u64)]) -> Vec<Option<u64>> {
    let packets: Vec<_> = packets.iter().map(|&(ms, bytes)| (Time(ms * MS), bytes)).collect();
    let times = exact_departures(config, &packets);
    assert!(times.iter().flatten().all(|time| time.0 % MS == 0));
    times.iter().map(|time| time.map(|time| time.0 / MS)).collect()
}

/// Returns the departures of packets over a recording; None for lost ones.
fn exact_departures(config: CellReplayConfig, packets: &[(Time, u64)]) -> Vec<Option<Time>> {
    let config = AccessConfig::Cellreplay(config);
    let station = NewStation {
        config: &config,
        link: 0,
        node: 0,
        to: 1,
        rate_bps: 1,
        delay: Span(0),
    };
    assert_eq!(crate::access::problem_of_cell(&[station]), None);
    let mut cell = CellReplay::new(&[station]);
    let mut queue = Queue::default();
    let run_until = |cell: &mut CellReplay, queue: &mut Queue, end: Time| {
        while let Some(at) = cell.next_event().filter(|&at| at <= end) {
            cell.wake(at, queue);
        }
    };
    for &(time, bytes) in packets {
        // Departures come before arrivals at the same instant.
        run_until(&mut cell, &mut queue, time);
        queue.waiting.push_back(bytes);
        cell.arrived(time, 0, bytes, &mut queue);
    }
    run_until(&mut cell, &mut queue, Time(u64::MAX));
    assert!(cell.conserves(Time(0)));
    queue.departures
}

/// Returns the values of a quantity of the table by their conditions.
fn rows(quantity: &str, recording: &str) -> Vec<(String, String)> {
    let path = format!("{}/../../tests/data/access/cellreplay.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the table");
    let begin = format!("{quantity},recording={recording}");
    let rows = text.lines().filter(|line| line.starts_with(&begin));
    rows.map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        (columns[1].to_owned(), columns[2].to_owned())
    })
    .collect()
}

#[test]
fn packets_depart_as_in_an_independent_program() {
    for kind in kinds() {
        let (config, packets) = synthetic(&kind);
        let found = departures(config, &packets);
        assert_eq!(found.len(), 10_000);
        let expected = rows("departure ms", kind.name);
        assert_eq!(expected.len(), 50);
        for (number, (conditions, value)) in expected.iter().enumerate() {
            assert!(conditions.contains(&format!(
                "packet={number} arrival={} size={}",
                packets[number].0, packets[number].1
            )));
            assert_eq!(found[number].to_string(), *value, "{conditions}");
        }
    }
}

#[test]
fn times_of_departures_have_the_digest_of_an_independent_program() {
    for kind in kinds() {
        let (config, packets) = synthetic(&kind);
        let text: String = departures(config, &packets)
            .iter()
            .map(|time| format!("{time}\n"))
            .collect();
        assert_eq!(
            rows("SHA-256 of departures", kind.name)[0].1,
            sha256(text.as_bytes()),
            "{}",
            kind.name
        );
    }
}

/// Returns a recording with the queue in the conditions of a row, such as "queue=drop-tail packets=20".
fn with_queue(config: &CellReplayConfig, conditions: &str) -> CellReplayConfig {
    let mut config = config.clone();
    for condition in conditions.split(' ') {
        let (name, value) = condition.split_once('=').expect("NAME=VALUE");
        let number = || Some(value.parse::<u64>().expect("a number"));
        match name {
            "recording" => {}
            "queue" => {
                config.queue = match value {
                    "drop-tail" => HeavyQueue::DropTail,
                    "drop-head" => HeavyQueue::DropHead,
                    "codel" => HeavyQueue::Codel,
                    _ => panic!("{value}"),
                }
            }
            "packets" => config.queue_packets = number(),
            "bytes" => config.queue_size_bytes = number(),
            "target" => config.codel_target_ps = number().map(|ms| ms * MS),
            "interval" => config.codel_interval_ps = number().map(|ms| ms * MS),
            _ => panic!("{name}"),
        }
    }
    config
}

#[test]
fn queues_drop_the_packets_that_an_independent_program_drops() {
    for kind in kinds() {
        let (config, packets) = synthetic(&kind);
        let (digests, losses) = (rows("SHA-256 with losses", kind.name), rows("lost packets", kind.name));
        assert_eq!(digests.len(), 4);
        for ((conditions, digest), (_, lost)) in digests.iter().zip(losses) {
            let times = departures_or_losses(with_queue(&config, conditions), &packets);
            let count = times.iter().filter(|time| time.is_none()).count();
            assert_eq!(count.to_string(), lost, "{conditions}");
            let line = |time: &Option<u64>| time.map_or("lost\n".to_owned(), |time| format!("{time}\n"));
            let text: String = times.iter().map(line).collect();
            assert_eq!(*digest, sha256(text.as_bytes()), "{conditions}");
        }
    }
}

/// Returns the SHA-256 digest (FIPS 180-4) in hexadecimal digits.
fn sha256(message: &[u8]) -> String {
    // Fractional parts of the cube roots of the first 64 primes, and of the square roots of the first 8.
    let primes: Vec<u32> = (2u32..).filter(|&n| (2..n).all(|d| n % d != 0)).take(64).collect();
    let fraction = |root: &dyn Fn(u128) -> bool| {
        // Largest number of 40 bits whose power does not exceed the prime.
        (0..40).rev().fold(0u128, |found, bit| {
            if root(found | 1 << bit) {
                found | 1 << bit
            } else {
                found
            }
        }) as u32
    };
    let cube = |p: u32| fraction(&|x: u128| x * x * x <= u128::from(p) << 96);
    let square = |p: u32| fraction(&|x: u128| x * x <= u128::from(p) << 64);
    let k: Vec<u32> = primes.iter().map(|&p| cube(p)).collect();
    let mut state: Vec<u32> = primes[..8].iter().map(|&p| square(p)).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() < message.len() + 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&(8 * message.len() as u64).to_be_bytes());
    for chunk in padded.chunks(64) {
        let mut w: Vec<u32> = chunk
            .chunks(4)
            .map(|word| u32::from_be_bytes(word.try_into().expect("4 bytes")))
            .collect();
        for i in 16..64 {
            let (a, b) = (w[i - 15], w[i - 2]);
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = state.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let first = v[7]
                .wrapping_add(s1)
                .wrapping_add(choice)
                .wrapping_add(k[i])
                .wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(s0).wrapping_add(majority);
        }
        state
            .iter_mut()
            .zip(v)
            .for_each(|(own, add)| *own = own.wrapping_add(add));
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

#[test]
fn digests_are_those_of_the_standard() {
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(b"abc"), expected);
}

#[test]
fn no_packet_departs_before_its_arrival() {
    let light = [0, 100, 200, 300].map(|time| vec![time, 0, 0]).to_vec();
    let config = unlimited(light, vec![0, 10, 20]);
    // The second packet arrives 0.6 ms after the first one, which counts as 0 ms in the recording.
    let times = [Time(7), Time(7 + 6 * MS / 10)];
    assert_eq!(
        exact_departures(config, &times.map(|time| (time, 100))),
        times.map(Some)
    );
}

#[test]
fn beginning_of_recordings_is_skipped() {
    let light = vec![vec![0, 99, 0], vec![2100, 7, 0, 1], vec![2200, 7, 0], vec![2300, 7, 0]];
    let config = CellReplayConfig {
        skip_ps: 2000 * MS,
        ..unlimited(light, vec![100, 2010, 2020])
    };
    // Two packets have opportunities of the train, and the third one waits for the saturated link.
    assert_eq!(departures(config, &[(0, 1400), (0, 1400), (0, 1400)]), [7, 8, 10]);
}
