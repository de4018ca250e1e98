//! Conversion of scenarios over cells to IP packets.

use super::{dumbbell, policy};
use longpipe_network::scenario::{BufferConfig, BufferUnit, Framing, Scenario};
use longpipe_network::Report;
use longpipe_tcp::config::TcpConfig;

/// Returns the number of packets lost for any cause.
pub fn lost(report: &Report) -> u64 {
    let ports = report.packet_ports.iter();
    ports
        .map(|port| port.lost_overflow + port.lost_aqm + port.lost_injected + port.lost_policer + port.lost_access)
        .sum()
}

/// Returns a scenario that has IP packets instead of cells.
pub fn ip(mut scenario: Scenario, unit: BufferUnit, limit: u64) -> Scenario {
    scenario.framing = Framing::Ip;
    for link in &mut scenario.links {
        link.buffer = link.buffer.map(|_| BufferConfig { unit, limit });
    }
    scenario
}

/// Returns a dumbbell of IP links whose trunk port holds `limit` packets.
pub fn packets(sources: usize, delay: u64, limit: u64, name: &str, seconds: u64, tcp: &TcpConfig) -> Scenario {
    let cells = dumbbell(sources, delay, 1000, policy(name), seconds, tcp);
    ip(cells, BufferUnit::Packets, limit)
}
