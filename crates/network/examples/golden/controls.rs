//! Linux's congestion controllers, each on a path that holds a hundred segments, with rare random losses and a queue
//! that fills.

use crate::common::packets::ip;
use crate::common::{dumbbell, policy, tcp, SECOND};
use crate::paths::slower;
use crate::Book;
use longpipe_network::scenario::{BufferUnit, LossConfig, Scenario, StartConfig};
use longpipe_tcp::config::{
    AckConfig, CongestionConfig, RackConfig, RecoveryConfig, RecoveryKind, TcpConfig, TimerConfig,
};
use longpipe_tcp::congestion::{
    Bbr3Config, BicConfig, CopaConfig, HighspeedConfig, HighspeedRules, HtcpConfig, HyblaConfig, IllinoisConfig,
    LedbatConfig, LinuxRenoConfig, ScalableConfig, ScalableRules, VegasConfig, VegasRules, VenoConfig, WestwoodConfig,
};

const MS: u64 = SECOND / 1000;

fn controls() -> Vec<(&'static str, CongestionConfig)> {
    let copa = |competitive| {
        CongestionConfig::Copa(CopaConfig {
            delta: 0.5,
            competitive,
        })
    };
    let highspeed = |rules| CongestionConfig::Highspeed(HighspeedConfig { rules });
    vec![
        ("bbr3", CongestionConfig::Bbr3(Bbr3Config {})),
        ("bic", CongestionConfig::Bic(BicConfig {})),
        ("copa", copa(false)),
        ("copa-competitive", copa(true)),
        ("highspeed", highspeed(HighspeedRules::Rfc3649)),
        ("highspeed-linux", highspeed(HighspeedRules::Linux)),
        ("htcp", CongestionConfig::Htcp(HtcpConfig {})),
        ("hybla", CongestionConfig::Hybla(HyblaConfig { reference_ps: 25 * MS })),
        ("illinois", CongestionConfig::Illinois(IllinoisConfig {})),
        (
            "ledbat",
            CongestionConfig::Ledbat(LedbatConfig {
                target_ps: 25 * MS,
                gain: 1.0,
                allowed_increase: 1.0,
                base_history: 10,
                current_filter: 4,
            }),
        ),
        ("linux-reno", CongestionConfig::LinuxReno(LinuxRenoConfig::default())),
        (
            "scalable",
            CongestionConfig::Scalable(ScalableConfig {
                increase: 0.01,
                decrease: 0.125,
                low_window_segments: 16,
                rules: ScalableRules::Kelly2003,
            }),
        ),
        (
            "scalable-linux",
            CongestionConfig::Scalable(ScalableConfig {
                increase: 0.01,
                decrease: 0.125,
                low_window_segments: 16,
                rules: ScalableRules::Linux,
            }),
        ),
        (
            "vegas-linux",
            CongestionConfig::Vegas(VegasConfig {
                alpha: 2.0,
                beta: 4.0,
                gamma: 1.0,
                rules: VegasRules::Linux,
            }),
        ),
        ("veno", CongestionConfig::Veno(VenoConfig { backlog: 3.0 })),
        ("westwood", CongestionConfig::Westwood(WestwoodConfig {})),
    ]
}

pub fn add_all(book: &mut Book) {
    for (name, congestion) in controls() {
        for (medium, packets) in [("cells", false), ("packets", true)] {
            book.add(&format!("control/{name}/{medium}"), &alone(&congestion, packets, 0));
        }
    }
    let congestion = CongestionConfig::LinuxReno(LinuxRenoConfig::default());
    book.add("control/writes/cells", &alone(&congestion, false, 20 * MS));
    book.add("control/writes/packets", &alone(&congestion, true, 20 * MS));
}

/// Returns one connection over a 10 Mbit/s path with an RTT of 60 ms, and another connection of the same kind that
/// starts one second later. `write_every_ps` is the interval of the application's writes; 0 if it is unknown.
pub fn alone(congestion: &CongestionConfig, packets: bool, write_every_ps: u64) -> Scenario {
    let config = TcpConfig {
        recovery: RecoveryConfig::Rack(RackConfig {
            blocks: 3,
            probe: true,
            undo: true,
            dsack: true,
            frto: true,
            successive: true,
        }),
        congestion: congestion.clone(),
        initial_window_segments: 10,
        idle_restart: true,
        timer: TimerConfig::Fine {
            granularity_ps: MS,
            min_rto_ps: SECOND / 5,
            max_rto_ps: 120 * SECOND,
            initial_rto_ps: SECOND,
            timestamps: true,
        },
        ack: AckConfig::Linux {
            timeout_ps: 40 * MS,
            quick: 16,
            least_round_trip: true,
            sack_delay_ps: 0,
            write_every_ps,
            growing_window: false,
        },
        ..tcp(RecoveryKind::Sack, 262_144)
    };
    let mut scenario = slower(dumbbell(2, 10 * MS, 800, policy("tail-drop"), 4, &config), 16);
    for (flow, at) in scenario.flows.iter_mut().zip(0..) {
        flow.start = StartConfig::Fixed { at_ps: at * SECOND };
    }
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].loss = LossConfig::Bernoulli { probability: 0.0005 };
    if packets {
        ip(scenario, BufferUnit::Packets, 66)
    } else {
        scenario
    }
}
