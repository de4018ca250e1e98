//! Cells per CPU second of both engines on the LAN configurations of frr-96.

#[path = "../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use common::{dumbbell, policy, tcp, LAN};
use cpu_time::ProcessTime;
use longpipe_network::scenario::{Engine, Scenario};
use longpipe_network::Simulation;
use longpipe_tcp::config::RecoveryKind;

/// Simulated seconds of a run.
const SECONDS: u64 = 10;
/// Payload of a packet of the common TCP configuration [byte].
const MSS: u64 = 512;
const RECEIVER_WINDOW: u64 = 65_536;
/// Port of the first link of the dumbbell, its trunk.
const TRUNK: usize = 0;

/// Work of one or more runs.
#[derive(Clone, Copy, Default)]
struct Work {
    /// Cells that arrived at the trunk.
    cells: u64,
    /// Packets that were delivered.
    packets: u64,
    /// CPU time [s].
    seconds: f64,
}

impl Work {
    /// Runs a scenario.
    fn of(scenario: &Scenario, engine: Engine) -> Work {
        let mut scenario = scenario.clone();
        scenario.engine = engine;
        let mut simulation = Simulation::new(&scenario, 1).expect("a valid scenario");
        let begin = ProcessTime::now();
        simulation.run();
        let seconds = begin.elapsed().as_secs_f64();
        let report = simulation.report().expect("invariants hold");
        Work {
            cells: report.ports[TRUNK].cells_in,
            packets: report.flows.iter().map(|flow| flow.delivered_bytes / MSS).sum(),
            seconds,
        }
    }

    fn add(&mut self, other: Work) {
        self.cells += other.cells;
        self.packets += other.packets;
        self.seconds += other.seconds;
    }

    /// Formats millions of cells and of packets per CPU second.
    fn per_second(&self) -> String {
        let millions = |count: u64| count as f64 / self.seconds / 1e6;
        format!("{:8.1} {:10.2}", millions(self.cells), millions(self.packets))
    }
}

fn main() {
    println!("LAN configurations of frr-96, {SECONDS} simulated seconds each, one core, CPU time\n");
    println!("                                      cell by cell          by trains             ratio");
    println!("sources buffer tcp     policy          Mcells/s Mpackets/s   Mcells/s Mpackets/s");
    let (mut all_reference, mut all_trains) = (Work::default(), Work::default());
    for sources in [5, 15] {
        for buffer in [1000, 3000] {
            for (flavor, recovery) in [("vanilla", RecoveryKind::Vanilla), ("reno", RecoveryKind::Reno)] {
                for name in ["tail-drop", "epd", "selective-drop", "fba"] {
                    let tcp = tcp(recovery, RECEIVER_WINDOW);
                    let scenario = dumbbell(sources, LAN, buffer, policy(name), SECONDS, &tcp);
                    let reference = Work::of(&scenario, Engine::Reference);
                    let trains = Work::of(&scenario, Engine::Trains);
                    assert_eq!(reference.packets, trains.packets, "the engines agree");
                    println!(
                        "{sources:7} {buffer:6} {flavor:7} {name:15} {}   {} {:7.1}",
                        reference.per_second(),
                        trains.per_second(),
                        reference.seconds / trains.seconds
                    );
                    all_reference.add(reference);
                    all_trains.add(trains);
                }
            }
        }
    }
    for (name, all) in [("cell by cell", all_reference), ("by trains", all_trains)] {
        println!(
            "\n{name}: {:.1} million cells into the trunk and {:.2} million packets delivered per CPU second",
            all.cells as f64 / all.seconds / 1e6,
            all.packets as f64 / all.seconds / 1e6
        );
    }
}
