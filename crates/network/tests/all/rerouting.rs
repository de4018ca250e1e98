//! Route changes, compared with times computed by hand.
//!
//! ```text
//!            ┌ 10 ms ─ s2 ─ 10 ms ┐
//! h0 ─ 1 ms ─ s1                  s4 ─ 1 ms ─ h5
//!            └  2 ms ─ s3 ─  2 ms ┘
//! ```
//! A 1250-byte packet takes 1 ms on each 10 Mbit/s link, so it takes 26 ms via s2 and 10 ms via s3.

use crate::common::{both, tcp, Builder, SECOND};
use longpipe_network::scenario::rerouting::{RerouteInFlight, ReroutingConfig, RouteChange};
use longpipe_network::scenario::{
    ArrivalsConfig, BufferConfig, BufferUnit, Framing, NodeKind, PolicyConfig, Scenario, Ties, TrafficConfig,
};
use longpipe_network::{Report, Simulation};
use longpipe_tcp::config::RecoveryKind;

const MS: u64 = SECOND / 1000;
const PAYLOAD: u32 = 1222;
/// Links of the route via s2, and links of the route via s3; each link is followed by its reverse.
const BY_S2: [usize; 4] = [0, 2, 4, 10];
const BY_S3: [usize; 4] = [0, 6, 8, 10];

fn back(way: &[usize]) -> Vec<usize> {
    way.iter().rev().map(|link| link + 1).collect()
}

fn change(at_ps: u64, way: &[usize]) -> RouteChange {
    let whole = way.last() == Some(&10);
    RouteChange {
        at_ps,
        route: way.to_vec(),
        // Without a route, the return route ends at the first host's router.
        return_route: if whole { back(way) } else { vec![11] },
    }
}

/// Returns a scenario with datagrams that are sent at the given times; the first route is the one via s2.
fn scenario(sent_ms: &[u64], in_flight: RerouteInFlight, changes: Vec<RouteChange>) -> Scenario {
    let mut build = Builder::new(1, 1, PolicyConfig::TAIL_DROP);
    let host = build.node(NodeKind::Host);
    let [s1, s2, s3, s4] = [(); 4].map(|()| build.node(NodeKind::Switch));
    let last = build.node(NodeKind::Host);
    let delays = [
        (host, s1, 1),
        (s1, s2, 10),
        (s2, s4, 10),
        (s1, s3, 2),
        (s3, s4, 2),
        (s4, last, 1),
    ];
    for (a, b, ms) in delays {
        build.link(a, b, 10_000_000, ms * MS);
    }
    build.flow(BY_S2.to_vec(), tcp(RecoveryKind::Reno, 65_536));
    let mut scenario = build.scenario;
    (scenario.framing, scenario.ties) = (Framing::Ip, Ties::PortOrder);
    for link in &mut scenario.links {
        let (unit, limit) = (BufferUnit::Packets, 100);
        link.buffer = link.buffer.map(|_| BufferConfig { unit, limit });
    }
    let sent_ps = sent_ms.iter().map(|ms| (ms * MS, PAYLOAD)).collect();
    scenario.flows[0].traffic = TrafficConfig::Arrivals(ArrivalsConfig { sent_ps });
    scenario.flows[0].rerouting = Some(Box::new(ReroutingConfig { in_flight, changes }));
    scenario
}

/// Returns the number of received packets, the number of lost packets by link, and the minimum and maximum delay [ms]
/// (0 if there are no packets).
fn seen(report: &Report) -> (u64, Vec<(usize, u64)>, [u64; 2]) {
    let flow = &report.datagrams[0];
    let (min, max) = flow.delays.extremes();
    let ms = |seconds: f64| {
        let ms = 1e3 * seconds;
        assert!((ms - ms.round()).abs() < 1e-9, "{ms} ms");
        ms.round() as u64
    };
    let no_route = report
        .packet_ports
        .iter()
        .enumerate()
        .map(|(link, port)| (link, port.no_route));
    let delays = if flow.received > 0 { [ms(min), ms(max)] } else { [0, 0] };
    (flow.received, no_route.filter(|&(_, lost)| lost > 0).collect(), delays)
}

/// Packets sent at 0 and 9 ms leave s1 at 2 and 11 ms, and arrive at s2 at 13 and 22 ms, and at s4 at 24 and 33 ms.
#[test]
fn a_packet_keeps_the_route_valid_at_its_first_router() {
    for (at, delays) in [
        (1999, [10, 10]),
        (2000, [10, 10]),
        (2001, [10, 26]),
        (11_000, [10, 26]),
        (11_001, [26, 26]),
    ] {
        let own = scenario(&[0, 9], RerouteInFlight::Keep, vec![change(at * MS / 1000, &BY_S3)]);
        assert_eq!(seen(&both(&own)), (2, vec![], delays), "{at} us");
    }
}

/// The first packet travels to s2, which is not on the route from 2.001 to 13 ms; it arrives there at 13 ms and is
/// lost. Later the route includes s2 again, and packets are forwarded to s4.
#[test]
fn a_packet_is_dropped_at_a_router_off_its_current_route() {
    for (at, received, no_route) in [
        (2000, 2, vec![]),
        (2001, 1, vec![(2, 1)]),
        (13_000, 0, vec![(2, 2)]),
        (13_001, 1, vec![(2, 1)]),
        (22_001, 2, vec![]),
    ] {
        let report = both(&scenario(
            &[0, 9],
            RerouteInFlight::Drop,
            vec![change(at * MS / 1000, &BY_S3)],
        ));
        let found = seen(&report);
        assert_eq!((found.0, found.1), (received, no_route.clone()), "{at} us");
        let lost: u64 = no_route.iter().map(|&(_, lost)| lost).sum();
        let port = &report.packet_ports[2];
        assert_eq!(
            (port.packets_out, port.bytes_no_route),
            (if at == 2000 { 0 } else { port.packets_in }, 1250 * lost)
        );
    }
}

/// The route changes, and changes back before the packet reaches s2; this has no effect.
#[test]
fn packets_follow_only_the_current_route() {
    let changes = vec![change(3 * MS, &BY_S3), change(12 * MS, &BY_S2)];
    for in_flight in [RerouteInFlight::Keep, RerouteInFlight::Drop] {
        assert_eq!(
            seen(&both(&scenario(&[0], in_flight, changes.clone()))),
            (1, vec![], [26, 26])
        );
    }
}

/// From 5 to 20 ms there is no route from s1 on, and the packets sent at 4, 10 and 17 ms reach s1 within this time (6,
/// 12 and 19 ms).
#[test]
fn packets_without_a_continuing_route_are_lost() {
    let changes = vec![change(5 * MS, &[0]), change(20 * MS, &BY_S3)];
    let sent = [0, 4, 10, 17, 18, 30];
    // The packet sent at 0 ms is at s2 at 13 ms, and the packet sent at 18 ms reaches s1 at 20 ms, when there is a
    // route again.
    let found = seen(&both(&scenario(&sent, RerouteInFlight::Keep, changes.clone())));
    assert_eq!(found, (3, vec![(0, 3)], [10, 26]));
    let found = seen(&both(&scenario(&sent, RerouteInFlight::Drop, changes)));
    assert_eq!(found, (2, vec![(0, 3), (2, 1)], [10, 10]));
}

/// A burst of three packets is waiting at s1 when the route changes at 3.5 ms. The packet that arrives at s1 afterwards
/// travels via s3, and arrives first.
#[test]
fn packets_after_a_route_change_overtake_earlier_ones() {
    let own = scenario(
        &[0, 0, 0],
        RerouteInFlight::Keep,
        vec![change(3500 * MS / 1000, &BY_S3)],
    );
    // The packets reach s1 at 2, 3 and 4 ms; the last one arrives 2 + 10 = 12 ms after it was sent, and the second one
    // 27 ms after it was sent.
    let report = both(&own);
    assert_eq!(seen(&report), (3, vec![], [12, 27]));
    // The first two packets arrive after the third one.
    assert_eq!((report.datagrams[0].reordered, report.flows[0].reordered), (2, 2));
}

fn refused(change_it: impl FnOnce(&mut Scenario)) -> String {
    let mut own = scenario(
        &[0],
        RerouteInFlight::Keep,
        vec![change(MS, &BY_S3), change(2 * MS, &BY_S2)],
    );
    change_it(&mut own);
    let refused = Simulation::new(&own, 1).expect_err("it is refused");
    refused.to_string()
}

fn second(scenario: &mut Scenario) -> &mut RouteChange {
    let own = scenario.flows[0].rerouting.as_mut().expect("routes change");
    &mut own.changes[1]
}

#[test]
fn invalid_route_changes_are_rejected() {
    let late = refused(|own| second(own).at_ps = MS);
    let ascending = "needs ascending times after 0, in ps";
    assert_eq!(
        late,
        format!("flows[0].rerouting.changes: {MS} after {MS}; {ascending}")
    );
    let begins = refused(|own| second(own).route = vec![2, 4, 10]);
    assert_eq!(
        begins,
        "flows[0].rerouting.route: 2; needs to begin with link 0 at all times"
    );
    let twice = refused(|own| second(own).route = vec![0, 2, 3, 6, 8, 10]);
    assert_eq!(
        twice,
        "flows[0].rerouting.route: n1 twice; needs to pass each node once"
    );
    let apart = refused(|own| second(own).route = vec![0, 4, 10]);
    assert!(
        apart.ends_with("needs each link to begin where the previous one ends"),
        "{apart}"
    );
    let cells = refused(|own| {
        own.framing = Framing::Aal5;
        for buffer in own.links.iter_mut().filter_map(|link| link.buffer.as_mut()) {
            buffer.unit = BufferUnit::Cells;
        }
        own.flows[0].traffic = TrafficConfig::GREEDY;
    });
    assert_eq!(
        cells,
        "flows[0].rerouting.changes: of circuits of cells; needs framing ip"
    );
}
