//! Starts of connections: SEARCH, which ends slow start, and saved parameters (Careful Resume).

use crate::controls::alone;
use crate::Book;
use longpipe_network::scenario::{Scenario, TrafficConfig};
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::{
    CarefulResumeConfig, CubicConfig, CubicRules, HystartConfig, LinuxRenoConfig, PipeSize,
};

const MS: u64 = crate::common::SECOND / 1000;

pub fn add_all(book: &mut Book) {
    let hystart = HystartConfig::Search;
    let reno = CongestionConfig::LinuxReno(LinuxRenoConfig { hystart });
    for (name, congestion) in [("cubic", cubic(hystart)), ("linux-reno", reno)] {
        for (medium, packets) in [("cells", false), ("packets", true)] {
            book.add(
                &format!("starts/search/{name}/{medium}"),
                &alone(&congestion, packets, 0),
            );
        }
    }
    let saved = |cwnd_bytes, rtt_ps, pipe_size| CarefulResumeConfig::Saved {
        cwnd_bytes,
        rtt_ps,
        max_jump_bytes: None,
        beta: 0.5,
        pipe_size,
    };
    let previous = CarefulResumeConfig::Previous {
        lifetime_ps: 10_000 * MS,
        max_jump_bytes: None,
        beta: 0.5,
        pipe_size: PipeSize::SentSince,
    };
    for (name, resume) in [
        ("saved", saved(60_000, 60 * MS, PipeSize::SentSince)),
        ("too-much", saved(250_000, 60 * MS, PipeSize::SentSince)),
        ("too-much-all", saved(250_000, 60 * MS, PipeSize::AllAcknowledged)),
        ("other-path", saved(60_000, 10 * MS, PipeSize::SentSince)),
        ("previous", previous),
    ] {
        book.add(&format!("starts/careful-resume/{name}"), &resumed(resume));
    }
}

/// Returns CUBIC with Linux's rules and the given criterion for leaving slow start early.
pub fn cubic(hystart: HystartConfig) -> CongestionConfig {
    CongestionConfig::Cubic(CubicConfig {
        scaling: 0.4,
        beta: 0.7,
        fast_convergence: true,
        reno_friendly: true,
        hystart,
        rules: CubicRules::Linux,
    })
}

/// Returns two transfers between the same hosts, one second apart.
fn resumed(resume: CarefulResumeConfig) -> Scenario {
    let mut scenario = alone(&cubic(HystartConfig::None), true, 0);
    let (route, return_route) = (scenario.flows[0].route.clone(), scenario.flows[0].return_route.clone());
    for flow in &mut scenario.flows {
        (flow.route, flow.return_route) = (route.clone(), return_route.clone());
        flow.tcp.careful_resume = resume;
        flow.traffic = TrafficConfig::transfer(600_000);
    }
    scenario
}
