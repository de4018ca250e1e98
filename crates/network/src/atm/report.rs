//! Counters of links that carry cells, at the end of a run.
//!
//! Checks that each port and each class conserves cells (in = out + lost + held), and that the queue lengths by VC sum to
//! the queue length of their class.

use super::link::{FedWire, Feed};
use super::port::CellQueue;
use super::vbr::on_off::{Meter, OnOff};
use super::Atm;
use crate::report::cells::QueueCounters;
use crate::report::state_hash::StateHash;
use crate::report::{check, ClassReport, InvariantError, MediumReport, PortReport, SourceReport};
use crate::schedulers::class::Class;
use longpipe_events::{Span, Time};

/// Returns the counters of each link, each class, each guaranteed VC and each VBR source, and adds them to the hash of the
/// final state.
pub(super) fn reports(atm: &mut Atm, now: Time, hash: &mut StateHash) -> Result<MediumReport, InvariantError> {
    let mut medium = MediumReport::default();
    for (index, link) in atm.links.iter_mut().enumerate() {
        let classes = class_reports(index, link, atm.topology.vcs_of_link[index], atm.transit[index], now);
        for report in &classes {
            let counters = &report.counters;
            let conserved = counters.cells_in == counters.cells_out + counters.lost() + report.held;
            let vcs = atm.topology.vcs_of_link[index][report.class as usize] as usize;
            let held_by_vc = held_by_vc(&mut link.feed, report.class, vcs, now);
            check(conserved && held_by_vc.iter().sum::<u64>() == report.held, || {
                format!("port {index}: {held_by_vc:?} cells by VC, {report:?}")
            })?;
            held_by_vc.into_iter().for_each(|held| hash.word(held));
            hash.class(report);
        }
        let mut report = port_report(link, &classes, &atm.meters, now);
        report.frames_corrupted = atm.errors.corrupted_by(index);
        let conserved = report.cells_in == report.cells_out + report.lost() + report.held;
        let utilization = link.feed.cell_queue().and_then(|queue| queue.utilization(now));
        let is_possible = utilization.map_or(report.utilization <= 1.0, |utilization| utilization.is_possible);
        check(conserved && is_possible, || format!("port {index}: {report:?}"))?;
        hash.port(&report);
        medium.ports.push(report);
        medium.classes.extend(classes);
    }
    medium.guaranteed = atm.conformance.reports();
    for (index, row) in medium.guaranteed.iter().enumerate() {
        check(
            row.cells_delivered <= row.cells_in && row.cells_ineligible <= row.cells_in,
            || format!("guaranteed VC {index}: {row:?}"),
        )?;
        hash.guaranteed(row);
    }
    medium.sources = atm.meters.iter().map(|meter| source_report(meter, now)).collect();
    for (index, source) in medium.sources.iter().enumerate() {
        check(source.delivered + source.lost <= source.sent, || {
            format!("source {index}: {source:?}")
        })?;
        hash.source(source);
    }
    Ok(medium)
}

/// Returns the counters of a port's queues: one per class of its circuits (`vcs` counts them by class). Interfaces of hosts
/// and VBR sources have none. A port without a queue (`transit`) has no queue lengths.
fn class_reports(index: usize, link: &mut FedWire, vcs: [u32; 2], transit: bool, now: Time) -> Vec<ClassReport> {
    let report = |class, mut counters: QueueCounters, held| {
        if transit {
            (counters.peak_queue, counters.cell_time) = (0, 0);
        }
        // VBR cells belong to no frames, so only UBR counts frames.
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
    // A port whose circuits are all VBR has a single queue, of class VBR.
    let sole_class = if vcs[Class::Ubr as usize] > 0 || vcs[Class::Vbr as usize] == 0 {
        Class::Ubr
    } else {
        Class::Vbr
    };
    let (counters, held, vbr_queue) = match &mut link.feed {
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
    let Some(queue) = vbr_queue else {
        return vec![report(sole_class, counters, held)];
    };
    vec![
        report(Class::Ubr, counters, held),
        report(Class::Vbr, queue.counters_at(now), queue.held()),
    ]
}

/// Returns the number of queued cells of each VC of a class at a port.
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
    // Reports of interfaces and VBR sources, which have no buffer that could overflow.
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
                utilization: port.utilization(now).map_or(0.0, |utilization| utilization.fraction),
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
                utilization: (feed.cell_queue().and_then(|queue| queue.utilization(now)))
                    .map_or(cells_out as f64 / slots, |utilization| utilization.fraction),
                frames_corrupted: 0,
            }
        }
    }
}

/// Returns the counters of a VBR source; its mean delay is NaN if no cell was delivered.
fn source_report(meter: &Meter, now: Time) -> SourceReport {
    SourceReport {
        sent: meter.count(now, OnOff::sent),
        delivered: meter.delivered,
        lost: meter.lost,
        mean_delay: meter.total_delay as f64 / 1e12 / meter.delivered as f64,
        delays: (meter.delivered > 0).then_some((Span(meter.min_delay), Span(meter.max_delay))),
    }
}
