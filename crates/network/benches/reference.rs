//! Cells per CPU second of the reference engine on the LAN configurations of frr-96.

#[path = "../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use common::{dumbbell, policy, tcp, LAN};
use cpu_time::ProcessTime;
use longpipe_network::Simulation;
use longpipe_tcp::config::RecoveryKind;

fn main() {
    println!("reference engine, LAN configurations of frr-96, 10 simulated seconds each, one core, CPU time\n");
    println!("sources buffer tcp      policy          Mcells/s Mpackets/s Mevents/s");
    let (mut all_cells, mut all_packets, mut all_seconds) = (0, 0, 0.0);
    for sources in [5, 15] {
        for buffer in [1000, 3000] {
            for (flavor, recovery) in [("vanilla", RecoveryKind::Vanilla), ("reno", RecoveryKind::Reno)] {
                for name in ["tail-drop", "epd", "selective-drop", "fba"] {
                    let scenario = dumbbell(sources, LAN, buffer, policy(name), 10, &tcp(recovery, 65_536));
                    let mut simulation = Simulation::new(&scenario, 1, ()).expect("a valid scenario");
                    let begin = ProcessTime::now();
                    simulation.run();
                    let seconds = begin.elapsed().as_secs_f64();
                    let report = simulation.report().expect("invariants hold");
                    let cells = report.ports[0].cells_in;
                    let packets: u64 = report.flows.iter().map(|flow| flow.delivered_bytes / 512).sum();
                    let per = |count: u64| count as f64 / seconds / 1e6;
                    println!(
                        "{sources:7} {buffer:6} {flavor:8} {name:15} {:8.1} {:10.2} {:9.1}",
                        per(cells),
                        per(packets),
                        per(report.events)
                    );
                    all_cells += cells;
                    all_packets += packets;
                    all_seconds += seconds;
                }
            }
        }
    }
    println!(
        "\nall together: {:.1} million cells into the trunk and {:.2} million packets delivered per CPU second",
        all_cells as f64 / all_seconds / 1e6,
        all_packets as f64 / all_seconds / 1e6
    );
}
