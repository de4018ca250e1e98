//! Compares time-varying ports with a reference that computes slots segment by segment and queues individual cells.

use super::*;
use crate::atm::port::per_vc::{CellFate, PerVcPort};
use crate::policies::Policy;
use crate::scenario::time_varying::{
    HoldOrDrop, InFlight, InService, OrderConfig, OutagesConfig, ServiceConfig, TimeVaryingConfig,
};
use crate::scenario::{LinkConfig, LossConfig, PolicyConfig, SchedulerConfig};
use crate::schedulers::ServiceUnit;
use proptest::prelude::*;

/// Bits of a cell times picoseconds per second.
const CELL: u128 = 424 * 1_000_000_000_000;

fn link(steps: &[[u64; 2]], outages: Option<OutagesConfig>, delay_ps: u64) -> LinkConfig {
    let motion = TimeVaryingConfig {
        service: Some(ServiceConfig::Steps {
            steps: steps.to_vec(),
            cycle_ps: None,
        }),
        delay: None,
        outages,
        order: OrderConfig::Fifo,
    };
    LinkConfig {
        from: 0,
        to: 1,
        rate_bps: steps[0][1],
        delay_ps,
        buffer: None,
        policy: PolicyConfig::TAIL_DROP,
        scheduler: SchedulerConfig::Fifo {},
        loss: LossConfig::None {},
        conditioners: vec![],
        access: None,
        motion: Some(Box::new(motion)),
    }
}

fn port(link: &LinkConfig, phase: u64, limit: u64) -> TimeVaryingCellPort {
    let motion = TimeVaryingLink::of_cells(link, Time(phase)).expect("a motion");
    let admission = Admission::new(Some(limit), Policy::TAIL_DROP, None, 1);
    TimeVaryingCellPort::new(false, motion, admission, Time(1 << 50))
}

/// A slot: its start [ps], its end [ps], and whether an outage cut it short.
type Slot = (u64, u64, bool);

/// Computes all slots that start by `until`, over consecutive segments of constant rate.
fn slots(steps: &[[u64; 2]], outages: Option<&OutagesConfig>, phase: u64, until: u64) -> Vec<Slot> {
    let intervals = outages.map_or(&[][..], |outages| &outages.intervals_ps);
    let policy = outages.map_or(InService::Hold, |outages| outages.in_service);
    let mut edges: Vec<u64> = steps.iter().map(|step| step[0]).collect();
    edges.extend(intervals.iter().flatten());
    edges.push(phase);
    edges.push(1 << 62);
    edges.sort_unstable();
    edges.dedup();
    let mut found = vec![];
    // Start [ps] of the current slot, and the number of bits already sent in it; None between slots.
    let mut open: Option<(u64, u128)> = None;
    for pair in edges.windows(2).filter(|pair| pair[0] >= phase) {
        let (from, to) = (pair[0], pair[1]);
        let out = intervals.iter().any(|one| one[0] <= from && from < one[1]);
        let begins_out = intervals.iter().any(|one| one[0] == from);
        if begins_out && policy == InService::Drop {
            if let Some((began, _)) = open.take().filter(|open| open.1 > 0 || open.0 < from) {
                found.push((began, from, true));
            }
        }
        let step = steps.iter().rev().find(|step| step[0] <= from).expect("a first step");
        let rate = u128::from(if out && policy == InService::Hold { 0 } else { step[1] });
        // Processed part of this segment, in fractions of a picosecond.
        let mut sent = 0u128;
        let all = rate * u128::from(to - from);
        loop {
            if open.is_none() {
                // No slot starts during an outage; at a rate of 0, a slot does not advance.
                if out || found.len() > 100_000 {
                    break;
                }
                open = Some((from + sent.checked_div(rate).unwrap_or(0) as u64, 0));
            }
            let Some((began, done)) = open else { break };
            if began > until {
                return found;
            }
            if all - sent < CELL - done {
                open = Some((began, done + all - sent));
                break;
            }
            sent += CELL - done;
            found.push((began, from + (sent / rate) as u64, false));
            open = None;
            if sent == all {
                break;
            }
        }
    }
    found
}

/// Reference simulation: the departure and arrival time of each cell, or None if the cell is lost.
fn reference(link: &LinkConfig, (phase, limit): (u64, u64), arrivals: &[u64]) -> Vec<Option<(u64, Option<u64>)>> {
    let motion = link.motion.as_deref().expect("a motion");
    let Some(ServiceConfig::Steps { steps, .. }) = &motion.service else {
        unreachable!("all of these have steps")
    };
    let outages = motion.outages.as_ref();
    let intervals = outages.map_or(&[][..], |outages| &outages.intervals_ps);
    let drops = |policy: fn(&OutagesConfig) -> bool| outages.is_some_and(policy);
    let mut slots = slots(steps, outages, phase, 1 << 50).into_iter().peekable();
    let mut ways = vec![None; arrivals.len()];
    let (mut queue, mut serving): (Vec<usize>, Option<(usize, Slot)>) = (vec![], None);
    let mut min = 0;
    let mut instants: Vec<(u64, u8, usize)> = vec![];
    instants.extend(intervals.iter().map(|one| (one[0], 0, 0)));
    instants.extend(arrivals.iter().enumerate().map(|(cell, &at)| (at, 1, cell)));
    instants.push((1 << 49, 2, 0));
    instants.sort_unstable();
    for (now, kind, cell) in instants {
        // Skips slots that start before the arrival; a cell may use a slot that starts exactly at its arrival.
        loop {
            if let Some((_, slot)) = serving.filter(|(_, slot)| slot.1 <= now) {
                let _ = slot;
                serving = None;
            }
            if serving.is_some() {
                break;
            }
            let Some(&slot) = slots.peek().filter(|slot| slot.0 < now) else {
                break;
            };
            slots.next();
            let first = queue.first().copied().filter(|&first| arrivals[first] <= slot.0);
            let Some(first) = first else { continue };
            queue.remove(0);
            serving = Some((first, slot));
            let (_, ends, cut) = slot;
            if !cut {
                let arrival = ends + link.delay_ps;
                let lost = drops(|outages| outages.in_flight == InFlight::Drop)
                    && intervals.iter().any(|one| ends <= one[0] && one[0] < arrival);
                let arrival = (!lost).then(|| arrival.max(min));
                min = arrival.map_or(min, |arrival| arrival + 1);
                ways[first] = Some((ends, arrival));
            }
        }
        match kind {
            0 if drops(|outages| outages.waiting == HoldOrDrop::Drop) => queue.retain(|&one| arrivals[one] >= now),
            1 => {
                let out = intervals.iter().any(|one| one[0] <= now && now < one[1]);
                let refused = out && drops(|outages| outages.arriving == HoldOrDrop::Drop);
                let held = queue.len() as u64 + u64::from(serving.is_some());
                if !refused && held < limit {
                    queue.push(cell);
                }
            }
            _ => {}
        }
    }
    ways
}

fn ways(port: &mut TimeVaryingCellPort, arrivals: &[u64]) -> Vec<Option<(u64, Option<u64>)>> {
    let way = |&at: &u64| {
        let way = port.on_cell(Time(at), Cell::default(), 0, |_| {})?;
        Some((way.departure.0, way.arrival.map(|arrival| arrival.0)))
    };
    arrivals.iter().map(way).collect()
}

/// Returns the departure and arrival times of the cells of one VC at a port with a queue per VC.
fn ways_of_vc(port: &mut PerVcPort, arrivals: &[u64]) -> Vec<Option<(u64, Option<u64>)>> {
    let mut ways = vec![None; arrivals.len()];
    let mut collect = |port: &mut PerVcPort, until: u64| {
        while let Some(at) = port.next_departure().filter(|at| at.0 <= until) {
            while let Some(left) = port.depart(at) {
                if let CellFate::Leaves { departure, passage } = left.fate {
                    let arrival = match passage {
                        Passage::Arrives(arrival) => Some(arrival.0),
                        Passage::Lost(_) => None,
                    };
                    ways[left.cell.frame as usize] = Some((departure.0, arrival));
                }
            }
        }
    };
    for (frame, &at) in (0..).zip(arrivals) {
        collect(port, at);
        port.on_cell(
            Time(at),
            Cell {
                frame,
                ..Cell::default()
            },
            0,
            |_| {},
        );
    }
    collect(port, 1 << 48);
    ways
}

fn any_outages() -> impl Strategy<Value = Option<OutagesConfig>> {
    let each = prop::collection::vec((1u64..60_000_000, 1u64..40_000_000), 1..5);
    let drawn = (each, any::<[bool; 3]>(), 0usize..3).prop_map(|(gaps, drops, in_service)| {
        let mut at = 0;
        let interval = |(gap, long)| {
            at += gap + long;
            [at - long, at]
        };
        let policy = |drop: bool| if drop { HoldOrDrop::Drop } else { HoldOrDrop::Hold };
        OutagesConfig {
            intervals_ps: gaps.into_iter().map(interval).collect(),
            arriving: policy(drops[0]),
            waiting: policy(drops[1]),
            in_service: [InService::Hold, InService::Drop, InService::Deliver][in_service],
            in_flight: if drops[2] { InFlight::Drop } else { InFlight::Deliver },
        }
    });
    prop_oneof![1 => Just(None), 4 => drawn.prop_map(Some)]
}

proptest! {
    #[test]
    fn cells_leave_in_the_slots_of_a_piecewise_constant_rate(
        rates in prop::collection::vec((1u64..50_000_000, prop_oneof![1 => Just(0), 4 => 1_000_000u64..400_000_000]), 1..6),
        first in 1_000_000u64..400_000_000,
        outages in any_outages(),
        (phase, limit, delay) in (0u64..10_000_000, 1u64..12, 0u64..30_000_000),
        gaps in prop::collection::vec(prop_oneof![2 => 0u64..3, 4 => 1_000_000u64..6_000_000, 1 => 0u64..60_000_000], 1..60),
    ) {
        let (mut steps, mut at) = (vec![[0, first]], 0);
        for (gap, rate) in rates {
            at += gap;
            steps.push([at, rate]);
        }
        steps.push([at + 50_000_000, 7_777_777]);
        let mut now = 0;
        let arrivals: Vec<u64> = gaps.into_iter().map(|gap| { now += gap; now }).collect();
        let link = link(&steps, outages, delay);
        let mut port = port(&link, phase, limit);
        let expected = reference(&link, (phase, limit), &arrivals);
        prop_assert_eq!(ways(&mut port, &arrivals), expected.clone());
        let counters = port.counters_at(Time(1 << 48));
        let arrived = expected.iter().filter(|way| matches!(way, Some((_, Some(_))))).count() as u64;
        prop_assert_eq!((counters.cells_in, counters.cells_out), (arrivals.len() as u64, arrived));
        prop_assert_eq!(counters.cells_in, counters.cells_out + counters.lost());
        prop_assert_eq!((port.held(), port.vc_held(0)), (0, 0));
        let motion = TimeVaryingLink::of_cells(&link, Time(phase)).expect("a motion");
        let admission = Admission::new(Some(limit), Policy::TAIL_DROP, None, 1);
        let mut port = PerVcPort::time_varying(motion, admission, ServiceUnit::Cells, &[1]);
        prop_assert_eq!(ways_of_vc(&mut port, &arrivals), expected);
        prop_assert_eq!(format!("{:?}", port.counters_at(Time(1 << 48))), format!("{counters:?}"));
        prop_assert_eq!((port.held(), port.vc_held(0)), (0, 0));
    }
}

/// Checks that 424 bits take 10 µs at 42.4 Mbit/s, and 20 µs at half that rate.
#[test]
fn bits_sent_before_a_rate_change_count_for_the_cell_in_service() {
    const US: u64 = 1_000_000;
    let link = link(
        &[
            [0, 42_400_000],
            [15 * US, 21_200_000],
            [55 * US, 0],
            [60 * US, 42_400_000],
        ],
        None,
        0,
    );
    let mut port = port(&link, 0, 100);
    // The second cell is half sent when the rate changes; the fourth is half sent when the rate falls to 0 for 5 us.
    let left: Vec<u64> = ways(&mut port, &[0; 5])
        .into_iter()
        .flatten()
        .map(|way| way.0 / US)
        .collect();
    assert_eq!(left, [10, 25, 45, 65, 75]);
}

/// Checks that slots continue while the queue is empty: a cell that arrives during an empty slot waits for the next
/// slot.
#[test]
fn a_cell_waits_for_the_next_slot() {
    const US: u64 = 1_000_000;
    let mut port = port(&link(&[[0, 42_400_000], [15 * US, 21_200_000]], None, 0), 3 * US, 100);
    let left = ways(&mut port, &[0, 14 * US, 1000 * US]);
    // Slots begin at 3, 13, 13 + 2 + 2·8 = 31, 51 ... 991, 1011 us.
    let left: Vec<u64> = left.into_iter().flatten().map(|way| way.0 / US).collect();
    assert_eq!(left, [13, 51, 1031]);
}
