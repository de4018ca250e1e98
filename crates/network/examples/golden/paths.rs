//! Dumbbells like those of the papers, and parking lots.

use crate::common::packets::ip;
use crate::common::random::router_policy;
use crate::common::{add_vbr, dumbbell, parking_lot, policy, tcp, web, with_flows_that_never_start, LAN, SECOND, WAN};
use crate::Book;
use longpipe_network::scenario::web::WebConfig;
use longpipe_network::scenario::{BufferUnit, Framing, Scenario, SchedulerConfig, StartConfig, Ties, TrafficConfig};
use longpipe_tcp::config::{RecoveryKind, TcpConfig, TimerConfig};

const RECOVERIES: [(&str, RecoveryKind); 5] = [
    ("vanilla", RecoveryKind::Vanilla),
    ("tahoe", RecoveryKind::Tahoe),
    ("reno", RecoveryKind::Reno),
    ("newreno", RecoveryKind::Newreno),
    ("sack", RecoveryKind::Sack),
];

/// One-way delay [ps] of a link to or from the switch of a geostationary satellite.
const GEO: u64 = 275 * SECOND / 3000;

/// Returns the scenario after dividing the rates of its links by `by`.
pub fn slower(mut scenario: Scenario, by: u64) -> Scenario {
    for link in &mut scenario.links {
        link.rate_bps /= by;
    }
    scenario
}

/// Returns the scenario with IP packets, for policies that routers support.
fn packets(scenario: Scenario, unit: BufferUnit, limit: u64) -> Scenario {
    let mut scenario = ip(scenario, unit, limit);
    for link in &mut scenario.links {
        link.policy = router_policy(link.policy.clone());
    }
    scenario
}

fn lasting(mut scenario: Scenario, milliseconds: u64) -> Scenario {
    scenario.duration_ps = milliseconds * SECOND / 1000;
    scenario
}

fn staggered(mut scenario: Scenario, interval_ps: u64) -> Scenario {
    for (flow, at) in scenario.flows.iter_mut().zip(0..) {
        flow.start = StartConfig::Fixed {
            at_ps: at * interval_ps,
        };
    }
    scenario
}

/// Adds frr-96, lan and wan, and buf-97: policies, recovery algorithms and numbers of sources.
fn papers(book: &mut Book) {
    let reno = |window| tcp(RecoveryKind::Reno, window);
    for sources in [1, 2, 5, 15] {
        for name in ["tail-drop", "epd", "selective-drop", "fba"] {
            let lan = dumbbell(sources, LAN, 1000, policy(name), 1, &reno(65_535));
            book.add(&format!("lan-{sources}/reno/{name}"), &lasting(lan, 60));
            let wan = dumbbell(sources, WAN, 1000, policy(name), 1, &reno(600_000));
            let wan = staggered(slower(lasting(wan, 1500), 12), SECOND / 500);
            book.add(&format!("wan-{sources}/reno/{name}"), &wan);
        }
    }
    for (recovery_name, recovery) in RECOVERIES {
        for name in ["tail-drop", "partial-packet-discard", "epd", "selective-drop"] {
            let wan = dumbbell(5, WAN, 2000, policy(name), 1, &tcp(recovery, 600_000));
            let milliseconds = if name == "epd" { 420 } else { 280 };
            book.add(&format!("wan-5/{recovery_name}/{name}"), &lasting(wan, milliseconds));
        }
        let mut geo = dumbbell(5, GEO, 3000, policy("selective-drop"), 1, &tcp(recovery, 4_000_000));
        for flow in &mut geo.flows {
            flow.tcp.mss_bytes = 9180;
        }
        book.add(&format!("geo-5/{recovery_name}"), &slower(lasting(geo, 6000), 10));
        let mss = TcpConfig {
            mss_bytes: 1024,
            ..tcp(recovery, 2_500_000)
        };
        let geo = dumbbell(3, GEO, 1000, policy("tail-drop"), 1, &mss);
        let geo = packets(slower(lasting(geo, 8000), 20), BufferUnit::Packets, 40);
        book.add(&format!("geo-3/{recovery_name}/packets"), &geo);
        for (sources, delay, of, window) in [(2, LAN, "lan", 65_535), (15, WAN, "wan", 600_000)] {
            let drop = dumbbell(sources, delay, 1000, policy("tail-drop"), 1, &tcp(recovery, window));
            let drop = packets(slower(lasting(drop, 2000), 10), BufferUnit::Packets, 50);
            book.add(
                &format!("{of}-{sources}/{recovery_name}/packets"),
                &staggered(drop, LAN / 3),
            );
        }
    }
}

/// Adds large frames, other timers, VBR and web traffic, with the papers' delays.
fn beyond(book: &mut Book) {
    let sack = tcp(RecoveryKind::Sack, 600_000);
    let fine = TcpConfig {
        timer: TimerConfig::Fine {
            granularity_ps: SECOND / 1000,
            min_rto_ps: SECOND / 5,
            max_rto_ps: 60 * SECOND,
            initial_rto_ps: SECOND,
            timestamps: true,
        },
        ..sack.clone()
    };
    for (name, config) in [("coarse", &sack), ("timestamps", &fine)] {
        let large = TcpConfig {
            mss_bytes: 9180,
            ..config.clone()
        };
        let wan = dumbbell(5, WAN, 1000, policy("epd"), 1, &large);
        book.add(&format!("wan-5/9180/{name}"), &lasting(wan.clone(), 200));
        let packets = packets(wan, BufferUnit::Bytes, 60_000);
        book.add(&format!("wan-5/9180/{name}/bytes"), &lasting(packets, 600));
    }
    let share_ppb = 500_000_000;
    for (name, scheduler) in [
        ("priority", SchedulerConfig::Priority {}),
        ("guaranteed-rate", SchedulerConfig::GuaranteedRate { share_ppb }),
    ] {
        for period in [3, 40] {
            let wan = slower(dumbbell(5, WAN, 1000, policy("selective-drop"), 1, &sack), 12);
            let wan = add_vbr(wan, scheduler.clone(), period * SECOND / 1000);
            book.add(&format!("wan-5/vbr-{period}-ms/{name}"), &lasting(wan, 500));
        }
    }
    for (name, delay, milliseconds) in [("wan", WAN, 3000), ("geo", GEO, 6000)] {
        let mut pages = slower(dumbbell(6, delay, 400, policy("epd"), 1, &sack), 20);
        for flow in &mut pages.flows {
            flow.traffic = TrafficConfig::Web(WebConfig {
                class_shares_ppb: vec![200_000_000, 280_000_000, 520_000_000],
                ..web()
            });
        }
        book.add(&format!("{name}-6/web"), &lasting(pages.clone(), milliseconds));
        let packets = packets(pages, BufferUnit::Packets, 20);
        book.add(&format!("{name}-6/web/packets"), &lasting(packets, milliseconds));
    }
    let mut idle = slower(dumbbell(1, WAN, 1000, policy("tail-drop"), 1, &sack), 10);
    idle.links.iter_mut().for_each(|link| link.buffer = None);
    book.add("wan-1/transit", &lasting(idle.clone(), 2000));
    idle.framing = Framing::Ip;
    book.add("wan-1/transit/packets", &lasting(idle, 2000));
}

fn lots(book: &mut Book) {
    for (name, recovery) in RECOVERIES {
        let config = tcp(recovery, 65_535);
        for (ties_name, ties) in [
            ("port-order", Ties::PortOrder),
            ("rotating", Ties::Rotating),
            ("random", Ties::Random),
        ] {
            let kind = ["tail-drop", "fba", "epd"][ties as usize];
            let mut lot = slower(parking_lot(1, 300, policy(kind), &config), 10);
            lot.ties = ties;
            book.add(&format!("parking-lot/{name}/{ties_name}"), &lasting(lot.clone(), 500));
            if ties != Ties::Rotating {
                lot.links
                    .iter_mut()
                    .for_each(|link| link.policy = policy(["selective-drop", "", "fba"][ties as usize]));
                let lot = packets(lot, BufferUnit::Bytes, 12_000);
                book.add(&format!("parking-lot/{name}/{ties_name}/bytes"), &lasting(lot, 1000));
            }
        }
        let wan = slower(dumbbell(3, WAN, 200, policy("epd"), 1, &config), 10);
        let crossed = with_flows_that_never_start(&wan, policy("epd"));
        book.add(&format!("shared-wires/{name}"), &lasting(crossed.clone(), 500));
        let crossed = packets(crossed, BufferUnit::Packets, 12);
        book.add(&format!("shared-wires/{name}/packets"), &lasting(crossed, 1000));
    }
}

pub fn add_all(book: &mut Book) {
    papers(book);
    beyond(book);
    lots(book);
}
