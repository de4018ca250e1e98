//! Checks that external packets have the same outcomes as the packets that end points send at the same times in an
//! ordinary run.

use crate::common::any_graph::any_scenario;
use crate::common::any_graph::rerouting::any_rerouted;
use crate::common::any_graph::time_varying::any_time_varying;
use crate::common::random::cases;
use crate::common::witness::{Name, Witness};
use crate::common::witnessed;
use longpipe_events::Time;
use longpipe_network::queues::cake::CakeAckFilter;
use longpipe_network::scenario::{AckFilterConfig, Engine, Framing, LossConfig, PolicyConfig, Scenario};
use longpipe_network::{Circuit, DropCause, ExternalPacket, Fate, Link, Outcome, Simulation, REQUEST};
use longpipe_tcp::config::RecoveryKind;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Replaces every flow of a scenario by an external flow.
fn external(scenario: &Scenario) -> Scenario {
    let mut external = scenario.clone();
    for flow in &mut external.flows {
        (flow.foreign, flow.onward, flow.relayed, flow.stop) = (true, None, false, None);
    }
    external
}

/// Returns the outcomes of external packets, which are collected `looks` times between two consecutive packets.
fn outcomes(scenario: &Scenario, seed: u64, sent: &[(Time, Name, ExternalPacket)], looks: u64) -> Vec<Outcome> {
    let mut simulation = Simulation::new(scenario, seed).expect("a valid scenario");
    let (mut all, mut now) = (vec![], 0);
    for &(at, (vc, _), packet) in sent {
        for look in 1..=looks {
            let horizon = simulation.horizon();
            simulation.advance_to(Time(now + (at.0 - now) * look / looks));
            assert!(simulation.next_due() > Time(now + (at.0 - now) * look / looks));
            let early = |outcome: &Outcome| matches!(outcome.fate, Fate::Delivered { .. }) && outcome.time < horizon;
            assert!(!simulation.outcomes().iter().any(early));
            all.append(simulation.outcomes());
        }
        simulation.enter(at, Circuit(vc), packet);
        now = at.0;
    }
    simulation.advance_to(Time(scenario.duration_ps));
    all.append(simulation.outcomes());
    simulation.stop();
    simulation.report().expect("what entered is accounted for");
    all
}

fn alike(mut scenario: Scenario, seed: u64) -> Result<(), TestCaseError> {
    scenario.engine = Engine::Reference;
    scenario.duration_ps = scenario.duration_ps.min(crate::common::SECOND);
    // ACK filters do not recognize the ACKs of external packets.
    for link in &mut scenario.links {
        match &mut link.policy {
            PolicyConfig::AckFilter(AckFilterConfig {}) => link.policy = PolicyConfig::TAIL_DROP,
            PolicyConfig::Cake(cake) => cake.ack_filter = CakeAckFilter::Off,
            _ => {}
        }
    }
    // A host's jitter is drawn in each run and would change the send times, so the end points' send times are used
    // instead.
    let Witness { sent, got } = witnessed(&scenario, seed);
    // Packets that carry a full segment must be valid in both directions.
    prop_assume!(Simulation::new(&external(&scenario), seed).is_ok());
    let found = outcomes(&external(&scenario), seed, &sent, 0);
    let names: BTreeMap<u64, Name> = sent.iter().map(|&(_, name, packet)| (packet.id, name)).collect();
    let delivered: Vec<(Time, Name, bool)> = found
        .iter()
        .filter_map(|outcome| match outcome.fate {
            Fate::Delivered { marked } => Some((outcome.time, names[&outcome.id], marked)),
            Fate::Lost { .. } => None,
        })
        .collect();
    let data = |name: Name| name.0.is_multiple_of(2) == (name.1 & REQUEST == 0);
    let known = delivered
        .into_iter()
        .map(|(time, name, marked)| (time, name, marked && data(name)));
    prop_assert_eq!(known.collect::<Vec<_>>(), got);
    prop_assert_eq!(&found, &outcomes(&external(&scenario), seed, &sent, 3));
    // A packet has at most one outcome.
    let mut fates: Vec<u64> = found.iter().map(|outcome| outcome.id).collect();
    fates.sort_unstable();
    prop_assert!(fates.windows(2).all(|pair| pair[0] != pair[1]));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(100) })]

    #[test]
    fn over_any_graph_of_routers(scenario in any_scenario(Framing::Ip), seed in any::<u64>()) {
        alike(scenario, seed)?;
    }

    #[test]
    fn over_any_graph_of_switches(scenario in any_scenario(Framing::Aal5), seed in any::<u64>()) {
        alike(scenario, seed)?;
    }

    #[test]
    fn over_time_varying_links(scenario in any_time_varying(Framing::Ip), seed in any::<u64>()) {
        alike(scenario, seed)?;
    }

    #[test]
    fn over_changing_routes(scenario in any_rerouted(), seed in any::<u64>()) {
        alike(scenario, seed)?;
    }

    #[test]
    fn over_time_varying_cell_links(scenario in any_time_varying(Framing::Aal5), seed in any::<u64>()) {
        alike(scenario, seed)?;
    }
}

/// Checks the outcomes of three packets; an injected loss at the first link removes the second one.
#[test]
fn losses_are_reported_with_link_and_cause() {
    for (framing, expected) in [
        (
            Framing::Ip,
            Fate::Lost {
                link: Some(Link(0)),
                cause: DropCause::InjectedLoss,
            },
        ),
        (
            Framing::Aal5,
            Fate::Lost {
                link: None,
                cause: DropCause::PartialFrame,
            },
        ),
    ] {
        let tcp = crate::common::tcp(RecoveryKind::Reno, 65_535);
        let mut scenario = crate::common::dumbbell(1, 1_000_000, 1000, crate::common::policy("tail-drop"), 1, &tcp);
        scenario.engine = Engine::Reference;
        scenario.framing = framing;
        if framing == Framing::Ip {
            scenario.links.iter_mut().for_each(|link| link.buffer = None);
        }
        let first = scenario.flows[0].route[0];
        scenario.links[first].loss = LossConfig::Packets { indices: vec![1] };
        if framing == Framing::Ip {
            assert_eq!(first, 2);
        }
        let scenario = external(&scenario);
        let packet = |id: u64| ExternalPacket {
            id,
            bytes: 100,
            capable: false,
            scalable: false,
            marked: false,
        };
        let sent: Vec<_> = (0..3)
            .map(|id| (Time(id * 1_000_000_000), (0, 0), packet(id)))
            .collect();
        let found = outcomes(&scenario, 1, &sent, 1);
        let expected = match expected {
            Fate::Lost { link: Some(_), cause } => Fate::Lost {
                link: Some(Link::new(first)),
                cause,
            },
            other => other,
        };
        let fates: Vec<(u64, Fate)> = found.iter().map(|outcome| (outcome.id, outcome.fate)).collect();
        let whole = Fate::Delivered { marked: false };
        assert_eq!(fates, [(0, whole), (1, expected), (2, whole)]);
    }
}

/// While one packet is in flight, the horizon is constant and equals the packet's delivery time; if there are no
/// packets, there is no due time.
#[test]
fn the_horizon_of_a_packet_in_flight_is_its_delivery_time() {
    let tcp = crate::common::tcp(RecoveryKind::Reno, 65_535);
    let mut scenario = crate::common::dumbbell(1, 1_000_000, 1000, crate::common::policy("tail-drop"), 1, &tcp);
    scenario.engine = Engine::Reference;
    scenario.framing = Framing::Ip;
    scenario.links.iter_mut().for_each(|link| link.buffer = None);
    let scenario = external(&scenario);
    let mut simulation = Simulation::new(&scenario, 1).expect("a valid scenario");
    assert_eq!(simulation.horizon(), Time(u64::MAX));
    let packet = ExternalPacket {
        id: 0,
        bytes: 1000,
        capable: false,
        scalable: false,
        marked: false,
    };
    simulation.enter(Time::ZERO, Circuit(0), packet);
    let mut looks = vec![];
    while simulation.outcomes().is_empty() {
        looks.push(simulation.horizon());
        let next = simulation.next_due();
        simulation.advance_to(next);
    }
    let delivered = simulation.outcomes()[0].time;
    let flight: u64 = scenario.flows[0]
        .route
        .iter()
        .map(|&link| scenario.links[link].delay_ps)
        .sum();
    assert_eq!(looks.first(), Some(&Time(flight)));
    assert!(looks.is_sorted());
    assert_eq!(looks.last(), Some(&delivered));
    assert_eq!(simulation.horizon(), Time(u64::MAX));
}
