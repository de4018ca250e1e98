//! Packets per second written by captures, and their cost for a run.

#[path = "../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use common::{dumbbell, policy, tcp, LAN};
use longpipe_events::Time;
use longpipe_network::observe::capture::{CaptureConfig, Captures, Place};
use longpipe_network::observe::probe::{Event, Probe};
use longpipe_network::scenario::Scenario;
use longpipe_network::{Flow, Simulation};
use longpipe_tcp::config::RecoveryKind;
use longpipe_tcp::DataSegment;
use std::time::Instant;

const PACKETS: u64 = 1_000_000;

fn captures(scenario: &Scenario, places: &[Place]) -> Captures {
    let wanted: Vec<CaptureConfig> = places
        .iter()
        .enumerate()
        .map(|(number, &place)| CaptureConfig {
            place,
            path: std::env::temp_dir().join(format!("longpipe-bench-{number}.pcapng")),
        })
        .collect();
    Captures::new(scenario, &wanted).expect("a writable directory for temporary files")
}

fn main() {
    let scenario = dumbbell(5, LAN, 3000, policy("epd"), 10, &tcp(RecoveryKind::Sack, 65_536));
    let source = Place::Host(scenario.links[scenario.flows[0].route[0]].from);
    let mut file = captures(&scenario, &[source]);
    let begin = Instant::now();
    for number in 0..PACKETS {
        let segment = DataSegment {
            sequence: 512 * number,
            length: 512,
            ..DataSegment::default()
        };
        file.observe(Event::Sent(Time(number * 1_000_000), Flow(0), number as u32, &segment));
    }
    let written = file.finish()[0].packets;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{written} packets handed to a capture alone: {:.2} million per second",
        written as f64 / seconds / 1e6
    );

    let trunk = scenario
        .links
        .iter()
        .position(|link| link.buffer.is_some())
        .expect("a trunk");
    for places in [&[][..], &[source], &[Place::Link(trunk)]] {
        let begin = Instant::now();
        let mut simulation =
            Simulation::with_probe(&scenario, 1, captures(&scenario, places)).expect("a valid scenario");
        simulation.run();
        let packets: u64 = simulation
            .into_probe()
            .finish()
            .iter()
            .map(|report| report.packets)
            .sum();
        println!(
            "10 s of five sources on a LAN with {places:?}: {packets} packets, {:.2} s",
            begin.elapsed().as_secs_f64()
        );
    }
    let begin = Instant::now();
    Simulation::new(&scenario, 1).expect("a valid scenario").run();
    println!("the same without a probe: {:.2} s", begin.elapsed().as_secs_f64());
}
