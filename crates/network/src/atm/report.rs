//! Counters of links that carry cells, at the end of a run, with checked invariants.

use super::link::{FedWire, Feed};
use super::port::CellQueue;
use super::vbr::on_off::{Meter, OnOff};
use super::Atm;
use crate::report::cells::QueueCounters;
use crate::report::state_hash::StateHash;
use crate::report::{check, ClassReport, InvariantError, MediumReport, PortReport, SourceReport};
use crate::schedulers::class::Class;
use longpipe_events::{Span, Time};

/// Returns the counters of each link, each class and each VBR source.
pub(super) fn reports(atm: &mut Atm, now: Time, hash: &mut StateHash) -> Result<MediumReport, InvariantError> {
    let mut carried = MediumReport::default();
    for (index, link) in atm.links.iter_mut().enumerate() {
        let found = class_reports(index, link, atm.topology.vcs_of_link[index], atm.transit[index], now);
        for report in &found {
            let counters = &report.counters;
            let conserved = counters.cells_in == counters.cells_out + counters.lost() + report.held;
            let vcs = atm.topology.vcs_of_link[index][report.class as usize] as usize;
            let by_vc = held_by_vc(&mut link.feed, report.class, vcs, now);
            check(conserved && by_vc.iter().sum::<u64>() == report.held, || {
                format!("port {index}: {by_vc:?} cells by VC, {report:?}")
            })?;
            by_vc.into_iter().for_each(|held| hash.word(held));
            hash.class(report);
        }
        let mut report = port_report(link, &found, &atm.meters, now);
        report.frames_corrupted = atm.errors.corrupted_by(index);
        let conserved = report.cells_in == report.cells_out + report.lost() + report.held;
        let used = link.feed.cell_queue().and_then(|queue| queue.used(now));
        let possible = used.map_or(report.utilization <= 1.0, |used| used.1);
        check(conserved && possible, || format!("port {index}: {report:?}"))?;
        hash.port(&report);
        carried.ports.push(report);
        carried.classes.extend(found);
    }
    carried.guaranteed = atm.conformance.reports();
    for (index, row) in carried.guaranteed.iter().enumerate() {
        check(
            row.cells_delivered <= row.cells_in && row.cells_ineligible <= row.cells_in,
            || format!("guaranteed VC {index}: {row:?}"),
        )?;
        hash.guaranteed(row);
    }
    carried.sources = atm.meters.iter().map(|meter| source_report(meter, now)).collect();
    for (index, source) in carried.sources.iter().enumerate() {
        check(source.delivered + source.lost <= source.sent, || {
            format!("source {index}: {source:?}")
        })?;
        hash.source(source);
    }
    Ok(carried)
}

fn class_reports(index: usize, link: &mut FedWire, vcs: [u32; 2], transit: bool, now: Time) -> Vec<ClassReport> {
    let report = |class, mut counters: QueueCounters, held| {
        if transit {
            (counters.peak_queue, counters.cell_time) = (0, 0);
        }
        if class == Class::Vbr {
            counters.frames_in = 0;
        }
        ClassReport {
            port: index,
            class,
            counters,
            held,
            mean_queue: (!transit).then(|| counters.cell_time as f64 / 1e12 / Span(now.0).as_seconds()),
        }
    };
    let own = if vcs[Class::Ubr as usize] > 0 || vcs[Class::Vbr as usize] == 0 {
        Class::Ubr
    } else {
        Class::Vbr
    };
    let (counters, held, vbr) = match &mut link.feed {
        Feed::Trains(port) => (port.counters_at(now), port.held_at_end(now), port.vbr_mut()),
        Feed::Transit(port) => {
            let counters = QueueCounters {
                cells_in: port.cells_in,
                cells_out: port.cells_out,
                frames_in: port.frames_in,
                ..QueueCounters::default()
            };
            (counters, port.held.iter().sum(), None)
        }
        Feed::TimeVarying(port) if port.host => return Vec::new(),
        feed => match feed.cell_queue() {
            Some(queue) => (queue.counters_at(now), queue.held(), queue.vbr_mut()),
            None => return Vec::new(),
        },
    };
    let Some(queue) = vbr else {
        return vec![report(own, counters, held)];
    };
    let beside = report(Class::Vbr, queue.counters_at(now), queue.held());
    vec![report(Class::Ubr, counters, held), beside]
}

fn held_by_vc(feed: &mut Feed, class: Class, vcs: usize, now: Time) -> Vec<u64> {
    if let Some(queue) = feed.vbr_mut().filter(|_| class == Class::Vbr) {
        return (0..vcs).map(|vc| queue.vc_held(vc)).collect();
    }
    match feed {
        Feed::Trains(port) => port.held_by_vc(now),
        Feed::Transit(port) => port.held.clone(),
        feed => feed
            .cell_queue()
            .map_or_else(Vec::new, |queue| (0..vcs).map(|vc| queue.vc_held(vc)).collect()),
    }
}

/// Returns the counters of a port, summed over all classes; the maximum and mean queue length are those of UBR if the
/// port has UBR circuits.
fn port_report(link: &mut FedWire, classes: &[ClassReport], meters: &[Meter], now: Time) -> PortReport {
    let slots = now.0 as f64 / link.end.cell as f64;
    let host = |cells_in, cells_out, lost_injected, held, frames_in| PortReport {
        host: true,
        cells_in,
        cells_out,
        lost_overflow: 0,
        lost_aqm: 0,
        lost_discarded: 0,
        lost_injected,
        lost_outage: 0,
        lost_on_wire: 0,
        held,
        frames_in,
        frames_damaged: 0,
        peak_queue: 0,
        mean_queue: None,
        utilization: cells_out as f64 / slots,
        frames_corrupted: 0,
    };
    match &mut link.feed {
        Feed::Nic(nic) => host(
            nic.cells_in,
            nic.cells_out(),
            nic.lost_injected,
            nic.cells_held(),
            nic.frames_in,
        ),
        Feed::Vbr(index) => {
            let meter = &meters[*index];
            let (accepted, arrived) = (meter.count(now, OnOff::ready), meter.count(now, OnOff::arrival));
            host(accepted, arrived, 0, accepted - arrived, 0)
        }
        Feed::TimeVarying(port) if port.host => {
            let counters = port.counters_at(now);
            let held = counters.cells_in - counters.lost() - counters.cells_out;
            PortReport {
                lost_outage: counters.lost_outage,
                lost_on_wire: counters.lost_on_wire,
                utilization: port.used(now).map_or(0.0, |used| used.0),
                ..host(
                    counters.cells_in,
                    counters.cells_out,
                    counters.lost_injected,
                    held,
                    counters.frames_in,
                )
            }
        }
        feed => {
            let sum = |count: fn(&QueueCounters) -> u64| classes.iter().map(|class| count(&class.counters)).sum();
            let cells_out: u64 = sum(|counters| counters.cells_out);
            PortReport {
                host: false,
                cells_in: sum(|counters| counters.cells_in),
                cells_out,
                lost_overflow: sum(|counters| counters.lost_overflow),
                lost_aqm: sum(|counters| counters.lost_aqm),
                lost_discarded: sum(|counters| counters.lost_discarded),
                lost_injected: sum(|counters| counters.lost_injected),
                lost_outage: sum(|counters| counters.lost_outage),
                lost_on_wire: sum(|counters| counters.lost_on_wire),
                held: classes.iter().map(|class| class.held).sum(),
                frames_in: classes[0].counters.frames_in,
                frames_damaged: classes[0].counters.frames_damaged,
                peak_queue: classes[0].counters.peak_queue,
                mean_queue: classes[0].mean_queue,
                utilization: (feed.cell_queue().and_then(|queue| queue.used(now)))
                    .map_or(cells_out as f64 / slots, |used| used.0),
                frames_corrupted: 0,
            }
        }
    }
}

fn source_report(meter: &Meter, now: Time) -> SourceReport {
    SourceReport {
        sent: meter.count(now, OnOff::sent),
        delivered: meter.delivered,
        lost: meter.lost,
        mean_delay: meter.total_delay as f64 / 1e12 / meter.delivered as f64,
        delays: (meter.delivered > 0).then_some((Span(meter.min_delay), Span(meter.max_delay))),
    }
}
