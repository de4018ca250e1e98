//! What a run of IP packets leaves behind, port by port.

use super::interface::Interface;
use super::line::{share_used, Line};
use super::router::Router;
use super::wire::{End, Port, Wire};
use crate::probe::Probe;
use crate::report::{check, InvariantError};
use crate::simulation::Simulation;
use longpipe_events::Time;

/// One link's output port: results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketReport {
    /// Whether a host owns it.
    pub host: bool,
    /// Packets that arrived.
    pub packets_in: u64,
    /// Packets that left a router, or arrived at the end of a host's link.
    pub packets_out: u64,
    /// Packets that found too little room.
    pub lost_overflow: u64,
    /// Packets that the policy refused.
    pub lost_refused: u64,
    /// Packets lost by force.
    pub lost_forced: u64,
    /// Packets held at the end.
    pub packets_held: u64,
    /// Bytes of the packets that arrived.
    pub bytes_in: u64,
    /// Bytes of the packets that left.
    pub bytes_out: u64,
    /// Bytes of the packets lost, in any way.
    pub bytes_lost: u64,
    /// Bytes held at the end.
    pub bytes_held: u64,
    /// Most packets ever held; 0 for hosts, whose queues are not measured.
    pub peak_packets: u64,
    /// Most bytes ever held, likewise.
    pub peak_bytes: u64,
    /// Packets held, averaged over time; none for hosts.
    pub mean_packets: Option<f64>,
    /// Fraction of the line's bits that were sent.
    pub utilization: f64,
}

impl PacketReport {
    /// Of a host's interface, whose packets are on the wire until they arrive.
    pub(crate) fn of_interface(
        interface: &Interface,
        (packets_held, bytes_held): (u64, u64),
        now: Time,
    ) -> PacketReport {
        let bytes_out = interface.bytes_in - interface.bytes_lost - bytes_held;
        PacketReport {
            host: true,
            packets_in: interface.packets_in,
            packets_out: interface.packets_in - interface.lost_forced - packets_held,
            lost_forced: interface.lost_forced,
            packets_held,
            bytes_in: interface.bytes_in,
            bytes_out,
            bytes_lost: interface.bytes_lost,
            bytes_held,
            utilization: share_used(interface.rate, bytes_out, now),
            ..PacketReport::default()
        }
    }

    /// Of a router's port.
    pub(crate) fn of_router(router: &mut Router, line: &mut Line, now: Time) -> PacketReport {
        let counters = router.counters_at(line, now);
        let (packets_held, bytes_held) = router.held(line, now);
        let bytes_out = counters.bytes_admitted - bytes_held;
        PacketReport {
            packets_in: counters.packets_admitted
                + counters.lost_overflow
                + counters.lost_refused
                + counters.lost_forced,
            packets_out: counters.packets_out,
            lost_overflow: counters.lost_overflow,
            lost_refused: counters.lost_refused,
            lost_forced: counters.lost_forced,
            packets_held,
            bytes_in: counters.bytes_admitted + counters.bytes_lost,
            bytes_out,
            bytes_lost: counters.bytes_lost,
            bytes_held,
            peak_packets: counters.peak_packets,
            peak_bytes: counters.peak_bytes,
            mean_packets: Some(counters.packet_time as f64 / now.0 as f64),
            utilization: share_used(router.rate, bytes_out, now),
            ..PacketReport::default()
        }
    }

    /// Whether packets and bytes are accounted for.
    pub(crate) fn conserves(&self) -> bool {
        let lost = self.lost_overflow + self.lost_refused + self.lost_forced;
        self.packets_in == self.packets_out + lost + self.packets_held
            && self.bytes_in == self.bytes_out + self.bytes_lost + self.bytes_held
            && self.utilization <= 1.0
    }

    /// Everything that a final state's hash takes in.
    pub(crate) fn words(&self) -> [u64; 13] {
        [
            self.packets_in,
            self.packets_out,
            self.lost_overflow,
            self.lost_refused,
            self.lost_forced,
            self.packets_held,
            self.bytes_in,
            self.bytes_out,
            self.bytes_lost,
            self.bytes_held,
            self.peak_packets,
            self.peak_bytes,
            self.mean_packets.map_or(0, f64::to_bits),
        ]
    }
}

impl<P: Probe> Simulation<P> {
    /// Packets and bytes on each wire that wait for the event of their arrival.
    fn under_way(&self) -> Vec<(u64, u64)> {
        let mut under_way = vec![(0, 0); self.wires.len()];
        let on_wires = self.wires.iter().flat_map(|wire| wire.packets.iter());
        for next in on_wires.chain(self.lanes.iter()) {
            let (packets, bytes) = &mut under_way[self.routes.link(&next.packet) as usize];
            *packets += 1;
            *bytes += u64::from(next.packet.bytes());
        }
        under_way
    }

    /// The reports of all links that carry IP packets.
    pub(crate) fn packet_reports(&mut self) -> Result<Vec<PacketReport>, InvariantError> {
        let now = self.now;
        let mut reports = Vec::with_capacity(self.wires.len());
        let nodes = self
            .topology
            .ends
            .iter()
            .map(|end| end.node as usize + 1)
            .max()
            .unwrap_or(0);
        // Packets and bytes that came to each router over its wires, and that its ports counted.
        let mut came = vec![(0, 0); nodes];
        let mut counted = came.clone();
        let under_way = self.under_way();
        for (index, wire) in self.wires.iter_mut().enumerate() {
            let under_way = under_way[index];
            let Wire { line, port, .. } = wire;
            let (report, accounts_agree) = match port {
                Port::Interface(interface) => {
                    interface.count_repeated(line);
                    (PacketReport::of_interface(interface, under_way, now), true)
                }
                Port::Router(router) => {
                    let report = PacketReport::of_router(router, line, now);
                    (report, router.accounts_agree(line, now))
                }
            };
            check(report.conserves() && accounts_agree, || {
                format!("port {index}: {report:?}")
            })?;
            let sum = |total: &mut (u64, u64), packets, bytes| *total = (total.0 + packets, total.1 + bytes);
            if line.end != End::Host {
                let lost = report.lost_overflow + report.lost_refused + report.lost_forced;
                let packets = report.packets_in - lost - under_way.0;
                let node = self.topology.ends[index].node as usize;
                sum(
                    &mut came[node],
                    packets,
                    report.bytes_in - report.bytes_lost - under_way.1,
                );
            }
            if !report.host {
                sum(
                    &mut counted[self.origins[index] as usize],
                    report.packets_in,
                    report.bytes_in,
                );
            }
            reports.push(report);
        }
        check(came == counted, || {
            format!("routers: {came:?} came, {counted:?} were counted")
        })?;
        Ok(reports)
    }
}
