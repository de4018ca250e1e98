//! Measures the packets per second that a capture writes, and the time that captures add to a run.

#[path = "../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use common::{dumbbell, policy, tcp, LAN};
use longpipe_events::{Span, Time};
use longpipe_network::observe::capture::{CaptureConfig, Captures, Place};
use longpipe_network::observe::probe::{Event, Probe};
use longpipe_network::scenario::Scenario;
use longpipe_network::{Flow, Simulation};
use longpipe_tcp::config::RecoveryKind;
use longpipe_tcp::DataSegment;
use std::time::Instant;

/// Number of packets that are written to a capture without a simulation.
const PACKETS: u64 = 1_000_000;
/// Time between these packets.
const GAP: Span = Span::micros(1);
/// Payload of a packet [byte].
const PAYLOAD: u32 = 512;
/// The simulated dumbbell.
const SOURCES: usize = 5;
const BUFFER_CELLS: u64 = 3000;
const SECONDS: u64 = 10;
const RECEIVER_WINDOW: u64 = 65_536;

/// Returns a probe that writes a temporary file for each place.
fn captures(scenario: &Scenario, places: &[Place]) -> Captures {
    let configs: Vec<CaptureConfig> = places
        .iter()
        .enumerate()
        .map(|(number, &place)| CaptureConfig {
            place,
            path: std::env::temp_dir().join(format!("longpipe-bench-{number}.pcapng")),
        })
        .collect();
    Captures::new(scenario, &configs).expect("a writable directory for temporary files")
}

fn main() {
    let tcp = tcp(RecoveryKind::Sack, RECEIVER_WINDOW);
    let scenario = dumbbell(SOURCES, LAN, BUFFER_CELLS, policy("epd"), SECONDS, &tcp);
    let source = Place::Host(scenario.links[scenario.flows[0].route[0]].from);
    let mut capture = captures(&scenario, &[source]);
    let begin = Instant::now();
    for number in 0..PACKETS {
        let segment = DataSegment {
            sequence: u64::from(PAYLOAD) * number,
            length: PAYLOAD,
            ..DataSegment::default()
        };
        let sent = Time(number * GAP.0);
        capture.observe(Event::Sent(sent, Flow(0), number as u32, &segment));
    }
    let written = capture.finish()[0].packets;
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
            "{SECONDS} s of {SOURCES} sources on a LAN with {places:?}: {packets} packets, {:.2} s",
            begin.elapsed().as_secs_f64()
        );
    }
    let begin = Instant::now();
    Simulation::new(&scenario, 1).expect("a valid scenario").run();
    println!("the same without a probe: {:.2} s", begin.elapsed().as_secs_f64());
}
