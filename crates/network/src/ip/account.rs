//! Whether every packet and every byte is accounted for at the end of a run.

use super::port::line::End;
use super::report::PacketReport;
use super::wire::{Port, Wire};
use super::Ip;
use crate::report::{check, InvariantError};
use longpipe_events::Time;

impl Ip {
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
    pub(super) fn packet_reports(&mut self, now: Time) -> Result<Vec<PacketReport>, InvariantError> {
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
            let end = wire.end();
            let Wire { line, port, errors, .. } = wire;
            let (report, accounts_agree, rate) = match port {
                Port::Interface(interface) => {
                    interface.count_repeated(line);
                    let report = PacketReport::of_interface(interface, under_way, now);
                    (report, true, interface.rate)
                }
                Port::Router(router) => {
                    let report = PacketReport::of_router(router, line, now);
                    (report, router.accounts_agree(line, now), router.rate)
                }
                Port::Served(served) => (served.report(now), true, served.rate()),
            };
            check(report.conserves(rate, now) && accounts_agree, || {
                format!("port {index}: {report:?}")
            })?;
            let report = report.with(errors.as_ref().map(|(errors, _)| &**errors));
            let sum = |total: &mut (u64, u64), packets, bytes| *total = (total.0 + packets, total.1 + bytes);
            if end != End::Host {
                let lost = report.lost_overflow + report.lost_refused + report.lost_forced;
                let node = self.topology.ends[index].node as usize;
                // What a FIFO admitted is under way at once.
                let held = match port {
                    Port::Served(_) => (report.packets_held, report.bytes_held),
                    Port::Interface(_) | Port::Router(_) => (0, 0),
                };
                sum(
                    &mut came[node],
                    report.packets_in - lost - held.0 - under_way.0 - report.spoilt,
                    report.bytes_in - report.bytes_lost - held.1 - under_way.1 - report.bytes_spoilt,
                );
            }
            if !report.host {
                sum(
                    &mut counted[self.topology.origins[index] as usize],
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
