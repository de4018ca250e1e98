//! Comparison with mahimahi's schedules, packet by packet.

use super::*;
use crate::ip::port::line::{End, Repeats};
use crate::scenario::time_varying::{OrderConfig, ServiceConfig, TimeVaryingConfig};
use crate::scenario::BufferUnit;
use crate::scenario::{BufferConfig, LossConfig, PolicyConfig, SchedulerConfig};
use longpipe_events::{Span, Stream};
use std::collections::VecDeque;

const MS: u64 = 1_000_000_000;
/// Bytes per delivery opportunity of mahimahi.
const EACH: u64 = 1504;

/// Returns a router's port with transmission opportunities at the given times in milliseconds.
fn port(schedule: &[u64], limit: u64, unit: BufferUnit) -> (TimeVaryingPort, Line) {
    let motion = TimeVaryingConfig {
        service: Some(ServiceConfig::Opportunities {
            instants_ps: schedule.iter().map(|at| at * MS).collect(),
            bytes: EACH,
            header_bytes: 0,
        }),
        delay: None,
        outages: None,
        order: OrderConfig::Fifo,
    };
    let link = LinkConfig {
        from: 0,
        to: 1,
        rate_bps: 12_000_000,
        delay_ps: 0,
        buffer: Some(BufferConfig { unit, limit }),
        policy: PolicyConfig::TAIL_DROP,
        scheduler: SchedulerConfig::Fifo {},
        loss: LossConfig::None {},
        conditioners: vec![],
        access: None,
        motion: Some(Box::new(motion)),
    };
    let motion = TimeVaryingLink::new(&link, None).expect("a motion");
    let time_varying = TimeVaryingPort::new(motion, Time(1 << 60), (&link, false), None, 1);
    (time_varying, Line::new(Span(0), End::Host, Repeats::Never))
}

/// Returns the departure time [ms] of each packet; None if the packet is dropped.
fn departures(port: (TimeVaryingPort, Line), arrivals: &[(u64, u16)]) -> Vec<Option<u64>> {
    let (mut time_varying, mut line) = port;
    let mut send = |&(at, bytes): &(u64, u16)| {
        let arrival = time_varying.send(&mut line, Time(at * MS), bytes, 0)?;
        Some((arrival - line.delay()).0 / MS)
    };
    arrivals.iter().map(&mut send).collect()
}

fn numbers(text: &str) -> Vec<Vec<Option<u64>>> {
    let number = |cell: &str| cell.parse().ok();
    text.lines().map(|line| line.split(',').map(number).collect()).collect()
}

#[test]
fn departures_and_drops_equal_those_of_mahimahi() {
    macro_rules! data {
        ($name:literal) => {
            include_str!(concat!("../../../../tests/data/trace_links/", $name))
        };
    }
    let cases = [
        (data!("steady.trace"), data!("steady.csv"), 50, BufferUnit::Packets),
        (data!("bursty.trace"), data!("bursty.csv"), 100, BufferUnit::Packets),
        (
            data!("from_zero.trace"),
            data!("from_zero.csv"),
            60_000,
            BufferUnit::Bytes,
        ),
    ];
    for (schedule, outcomes, limit, unit) in cases {
        let schedule: Vec<u64> = numbers(schedule).iter().filter_map(|row| row[0]).collect();
        let rows = &numbers(outcomes)[1..];
        let arrivals: Vec<(u64, u16)> = rows
            .iter()
            .map(|row| (row[0].expect("an instant"), row[1].expect("a length") as u16))
            .collect();
        let expected: Vec<Option<u64>> = rows.iter().map(|row| row[2]).collect();
        assert_eq!(arrivals.len(), 4000);
        assert_eq!(departures(port(&schedule, limit, unit), &arrivals), expected);
    }
}

/// Reference implementation of `departures` that simulates each millisecond: first transmission opportunities, then
/// arrivals.
fn reference(schedule: &[u64], limit: u64, arrivals: &[(u64, u16)]) -> Vec<Option<u64>> {
    let mut fates = vec![None; arrivals.len()];
    let (mut queue, mut next, mut transit, mut cycle) = (VecDeque::new(), 0, None, 0);
    let mut place = 0;
    for now in 0..u64::MAX {
        while cycle + schedule[place] == now {
            let mut room = EACH;
            while room > 0 {
                let Some((number, left)) = transit.take().or_else(|| queue.pop_front()) else {
                    break;
                };
                if left > room {
                    transit = Some((number, left - room));
                    break;
                }
                room -= left;
                fates[number] = Some(now);
            }
            place += 1;
            if place == schedule.len() {
                (place, cycle) = (0, cycle + schedule[schedule.len() - 1]);
            }
        }
        while arrivals.get(next).is_some_and(|arrival| arrival.0 == now) {
            if (queue.len() as u64) < limit {
                queue.push_back((next, u64::from(arrivals[next].1)));
            }
            next += 1;
        }
        if next == arrivals.len() && queue.is_empty() && transit.is_none() {
            break;
        }
    }
    fates
}

#[test]
fn random_schedules_and_loads_equal_the_reference_by_milliseconds() {
    for case in 0..100 {
        let mut random = Stream::new(case, "test", 0);
        let mut at = random.below(3);
        let gaps = 1 + random.below(6);
        let mut schedule: Vec<u64> = (0..1 + random.below(40))
            .map(|_| {
                at += random.below(gaps);
                at
            })
            .collect();
        *schedule.last_mut().expect("one") += 1;
        let (mut now, gap) = (0, 1 + random.below(6));
        let arrivals: Vec<(u64, u16)> = (0..300)
            .map(|_| {
                now += random.below(gap);
                (now, 20 + random.below(4000) as u16)
            })
            .collect();
        let limit = 1 + random.below(20);
        let found = departures(port(&schedule, limit, BufferUnit::Packets), &arrivals);
        assert_eq!(found, reference(&schedule, limit, &arrivals), "case {case}");
    }
}
