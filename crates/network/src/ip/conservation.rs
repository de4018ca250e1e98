//! Conservation of packets and bytes, checked at the end of a run.
//!
//! 1. Each port conserves packets and bytes: in + duplicated = out + lost + held (`PacketReport::conserves`).
//! 2. Each router counts at its ports exactly what arrives over its wires. What has arrived over a wire is the sending
//!    port's in + duplicated, minus what was lost at the port, what is held there, what is in flight, and what was lost
//!    at the end of the wire because of bit errors or missing routes.

use super::port::any_port::Port;
use super::port::cell::Cells;
use super::port::egress_queue::EgressQueue;
use super::port::line::{End, Line};
use super::wire::Wire;
use super::Ip;
use crate::report::packets::{PacketReport, TimeVaryingReport};
use crate::report::{check, InvariantError, QueueReport, TokenCredit};
use longpipe_events::{Rate, Time};

/// Counters of a port, and what is needed to check them.
struct PortAccount {
    report: PacketReport,
    /// Whether the port's internal accounts agree, such as the queue length and the sum of the lengths by flow.
    accounts_agree: bool,
    /// Rate of the port's link.
    rate: Rate,
}

/// Returns a port's counters. `in_flight` counts the packets and the bytes that the port has sent but that have not
/// arrived.
fn account_of(port: &mut Port, line: &mut Line, cells: &mut Cells, in_flight: (u64, u64), now: Time) -> PortAccount {
    let (report, accounts_agree, rate) = match port {
        Port::Interface(interface) => {
            interface.count_repeated(line);
            let report = interface.report(in_flight, now);
            (report, true, interface.rate)
        }
        Port::Router(router) => {
            let report = router.fifo.report(line, now);
            (report, router.accounts_agree(line, now), router.fifo.rate)
        }
        Port::ConstantRate(port) => (port.report(line, now, in_flight), true, port.queue().rate()),
        Port::VariableRate(port) => (port.report(now, in_flight), true, port.queue().rate()),
        Port::Delayed(delayed) => {
            let mut account = account_of(&mut delayed.port, line, cells, in_flight, now);
            let within_capacity = account.report.conserves(account.rate, now);
            account.report.motion = Some(TimeVaryingReport::of_delay(within_capacity));
            return account;
        }
        &mut Port::Access(place) => (cells.report(place, now, in_flight), true, cells.max_rate(place)),
        Port::TimeVarying(time_varying) => (
            time_varying.report(now, in_flight),
            time_varying.accounts_agree(),
            time_varying.rate(),
        ),
    };
    PortAccount {
        report,
        accounts_agree,
        rate,
    }
}

/// Returns the packets and bytes on each wire that wait for their arrival events.
fn in_flight(ip: &Ip) -> Vec<(u64, u64)> {
    let mut in_flight = vec![(0, 0); ip.wires.len()];
    let on_wires = ip
        .wires
        .iter()
        .flat_map(|wire| wire.waiting.packets.iter().map(|packet| &packet.next));
    for next in on_wires.chain(ip.lanes.iter()) {
        let (packets, bytes) = &mut in_flight[ip.routes.link(&next.packet).index()];
        *packets += 1;
        *bytes += u64::from(next.packet.bytes());
    }
    in_flight
}

/// Returns the egress queue of a wire's port, if it has one.
fn egress_queue<'a>(wire: &'a Wire, cells: &'a Cells) -> Option<&'a EgressQueue> {
    match &wire.port {
        Port::ConstantRate(port) => Some(port.queue()),
        Port::VariableRate(port) => Some(port.queue()),
        Port::Access(place) => Some(cells.queue(*place)),
        Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::TimeVarying(_) => None,
    }
}

/// Returns the reports of all queues into which disciplines divide ports. `packet_reports` must have been called, because
/// it advances the ports to the end of the run.
pub(super) fn queue_reports(ip: &Ip, now: Time) -> Vec<QueueReport> {
    let queues = ip.wires.iter().enumerate().filter_map(|(index, wire)| {
        let queue = egress_queue(wire, &ip.cells)?;
        Some(QueueReport::of_port(index, queue.subqueues(), now))
    });
    queues.flatten().collect()
}

/// Returns the credits of each link's token buckets. `packet_reports` must have been called, because it advances the ports
/// to the end of the run.
pub(super) fn token_credits(ip: &Ip, now: Time) -> Vec<Vec<TokenCredit>> {
    let credits = |wire: &Wire| egress_queue(wire, &ip.cells).map_or_else(Vec::new, |queue| queue.token_credits(now));
    ip.wires.iter().map(credits).collect()
}

/// Returns the reports of all links that carry IP packets, or the first violated conservation law.
pub(super) fn packet_reports(ip: &mut Ip, now: Time) -> Result<Vec<PacketReport>, InvariantError> {
    let mut reports = Vec::with_capacity(ip.wires.len());
    let nodes = ip
        .topology
        .ends
        .iter()
        .map(|end| end.node as usize + 1)
        .max()
        .unwrap_or(0);
    // Packets and bytes, by router: those that arrived over its wires, and those that its ports counted.
    let mut arrived = vec![(0, 0); nodes];
    let mut counted = arrived.clone();
    let in_flight = in_flight(ip);
    for (index, wire) in ip.wires.iter_mut().enumerate() {
        let end = wire.end();
        let Wire {
            line, port, verdict, ..
        } = wire;
        // Packets and bytes that are on the wire, or bound for it, but will be lost in an outage.
        let (doomed_packets, doomed_bytes) = match port {
            Port::TimeVarying(time_varying) => time_varying.lost_later(now),
            Port::VariableRate(port) => {
                port.settle(line, now);
                port.lost_later(now)
            }
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::ConstantRate(_) | Port::Access(_) => (0, 0),
        };
        let (arriving_packets, arriving_bytes) = in_flight[index];
        let in_flight = (arriving_packets + doomed_packets, arriving_bytes + doomed_bytes);
        let account = account_of(port, line, &mut ip.cells, in_flight, now);
        let mut report = account.report;
        check(report.conserves(account.rate, now) && account.accounts_agree, || {
            format!("port {index}: {report:?}")
        })?;
        if let Some(verdict) = verdict {
            report = report.with(verdict.errors.as_deref(), verdict.no_route);
        }
        let sum = |total: &mut (u64, u64), packets, bytes| *total = (total.0 + packets, total.1 + bytes);
        if end != End::Host {
            let node = ip.topology.ends[index].node as usize;
            // A FIFO forwards a packet on admission, so an admitted packet counts as on the wire. A packet in an egress
            // queue does not.
            let (held_packets, held_bytes) = match port {
                Port::ConstantRate(port) => port.queue().backlog(),
                Port::VariableRate(port) => port.not_on_wire(),
                // A packet leaves a port with medium access when its transmission ends.
                Port::Access(_) if report.host => (report.packets_held - in_flight.0, report.bytes_held - in_flight.1),
                Port::Access(_) => (report.packets_held, report.bytes_held),
                Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::TimeVarying(_) => (0, 0),
            };
            let (packets_lost_at_end, bytes_lost_at_end) = report.lost_at_end();
            sum(
                &mut arrived[node],
                report.packets_in + report.packets_duplicated
                    - report.packets_lost()
                    - held_packets
                    - in_flight.0
                    - packets_lost_at_end,
                report.bytes_in + report.bytes_duplicated
                    - report.bytes_lost
                    - held_bytes
                    - in_flight.1
                    - bytes_lost_at_end,
            );
        }
        if !report.host {
            sum(
                &mut counted[ip.topology.origins[index] as usize],
                report.packets_in,
                report.bytes_in,
            );
        }
        reports.push(report);
    }
    check(ip.cells.conserve(now), || "requests and grants of a cell".to_owned())?;
    check(arrived == counted, || {
        format!("routers: {arrived:?} arrived, {counted:?} were counted")
    })?;
    Ok(reports)
}
