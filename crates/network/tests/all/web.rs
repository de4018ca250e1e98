//! Web traffic: requests and files over one connection.

use crate::common::{dumbbell, policy, tcp, web, Builder, LAN, SECOND, WAN};
use longpipe_network::report::files::File;
use longpipe_network::scenario::web::{CycleFrom, WebConfig};
use longpipe_network::scenario::{LossConfig, Scenario, StartConfig, TrafficConfig};
use longpipe_network::{Report, Simulation};
use longpipe_tcp::config::{AckConfig, RecoveryKind};
use proptest::prelude::*;

fn with_web(mut scenario: Scenario, web: &WebConfig) -> Scenario {
    for flow in &mut scenario.flows {
        flow.traffic = TrafficConfig::Web(web.clone());
        flow.start = StartConfig::Random {
            from_ps: 0,
            over_ps: SECOND / 10,
        };
    }
    scenario
}

fn run(scenario: &Scenario, seed: u64) -> Report {
    let mut simulation = Simulation::new(scenario, seed).expect("a valid scenario");
    simulation.run();
    simulation.report().expect("cells, bytes and files are accounted for")
}

/// Returns the requested files, flow by flow.
fn requested(report: &Report) -> Vec<(u32, u64, u64)> {
    let files = report.web.iter().flat_map(|web| &web.files);
    files.map(|file| (file.class, file.bytes, file.requested.0)).collect()
}

fn lan(buffer: u64, recovery: RecoveryKind, name: &str) -> Scenario {
    with_web(
        dumbbell(8, LAN, buffer, policy(name), 4, &tcp(recovery, 65_536)),
        &web(),
    )
}

#[test]
fn requests_do_not_depend_on_the_network() {
    let base = requested(&run(&lan(1000, RecoveryKind::Reno, "epd"), 1));
    assert!(base.len() > 100);
    for scenario in [
        lan(40, RecoveryKind::Sack, "selective-drop"),
        with_web(
            dumbbell(
                8,
                WAN,
                300,
                policy("tail-drop"),
                4,
                &tcp(RecoveryKind::Vanilla, 600_000),
            ),
            &web(),
        ),
    ] {
        assert_eq!(requested(&run(&scenario, 1)), base);
    }
    assert_ne!(requested(&run(&lan(1000, RecoveryKind::Reno, "epd"), 2)), base);
    let more = with_web(
        dumbbell(9, LAN, 1000, policy("epd"), 4, &tcp(RecoveryKind::Reno, 65_536)),
        &web(),
    );
    assert_eq!(requested(&run(&more, 1))[..base.len()], base);
}

#[test]
fn equal_seeds_give_identical_results() {
    let scenario = lan(100, RecoveryKind::Newreno, "epd");
    assert_eq!(run(&scenario, 3), run(&scenario, 3));
    assert_ne!(run(&scenario, 3).state_hash, run(&scenario, 4).state_hash);
}

/// Checks one client on an idle path: the response time of each file is the sum of the times of the request, of slow
/// start and of the reverse path. Propagation is exact, and serialization within a cell per link.
#[test]
fn on_an_idle_network_files_take_the_rounds_of_slow_start() {
    let (window, mss) = (600_000, 512);
    let slow = WebConfig {
        cycle_ps: 4 * SECOND,
        spacing_from_ps: SECOND,
        spacing_to_ps: SECOND,
        requests_most: 3,
        ..web()
    };
    let mut scenario = dumbbell(
        1,
        WAN,
        10_000,
        policy("tail-drop"),
        40,
        &tcp(RecoveryKind::Reno, window),
    );
    // The window of an idle connection is reset, so each file starts with the same window.
    scenario.flows[0].tcp.idle_restart = true;
    let report = run(&with_web(scenario, &slow), 1);
    let cell = 424.0 / 155_520_000.0;
    // Cells do not queue at switches. A packet takes the time of its cells, the time of one more cell per switch, and
    // up to one slot per link for alignment.
    let one_way = |cells: f64| 3.0 * WAN as f64 / 1e12 + (cells + 2.0) * cell;
    let slots = 3.0 * cell;
    let files: Vec<&File> = report.web[0]
        .files
        .iter()
        .filter(|file| file.completed.is_some())
        .collect();
    assert!(files.len() > 20);
    for file in files {
        let [requested, answered, completed] =
            [Some(file.requested), file.answered, file.completed].map(|time| time.unwrap_or_default().as_seconds());
        let request = answered - requested;
        assert!((one_way(4.0)..one_way(4.0) + slots).contains(&request), "{request}");
        // The rounds have 1, 2, 4, ... segments, because each ACK releases two segments. The segments of the last round
        // follow each other without gaps.
        let segments = file.bytes.div_ceil(mss);
        let rounds = f64::from(segments.ilog2());
        let last = (file.bytes - (segments - 1) * mss + 56).div_ceil(48) as f64;
        let round = one_way(12.0) + one_way(2.0);
        let in_last_round = segments + 1 - (1 << segments.ilog2());
        let min = rounds * round + one_way(last);
        let max = rounds * (round + 2.0 * slots) + one_way(12.0) + (2 * in_last_round) as f64 * 12.0 * cell + slots;
        let waited = completed - answered;
        assert!(
            (min..max).contains(&waited),
            "{segments} segments: {waited}, not {min} to {max}"
        );
    }
}

/// Returns the results of a client whose first packet, which is a request, is lost.
fn first_request_lost(web: &WebConfig) -> (longpipe_network::report::WebReport, Vec<f64>) {
    let mut build = Builder::new(20, 1000, policy("tail-drop"));
    build.flow_over_a_switch(155_520_000, tcp(RecoveryKind::Reno, 65_536));
    build.scenario.links[3].loss = LossConfig::Packets { indices: vec![0] };
    let report = run(&with_web(build.scenario, web), 1).web.remove(0);
    let waits = report
        .files
        .iter()
        .filter_map(|file| Some((file.answered?.0 - file.requested.0) as f64 / 1e12));
    let waits = waits.collect();
    assert_eq!(report.requests.retransmitted_segments, 1);
    assert!(report.files.iter().rev().skip(5).all(|file| file.completed.is_some()));
    (report, waits)
}

#[test]
fn a_single_lost_request_is_retransmitted_after_a_timeout() {
    let rare = WebConfig {
        requests_most: 1,
        cycle_ps: 5 * SECOND,
        ..web()
    };
    let (report, waits) = first_request_lost(&rare);
    assert_eq!((report.requests.timeouts, report.requests.fast_retransmits), (1, 0));
    // The timeout lasts 30 ticks of 100 ms; part of the first tick had already passed.
    assert!((2.9..3.001).contains(&waits[0]), "{waits:?}");
    assert!(waits[1..].iter().all(|&wait| wait < 0.001));
}

#[test]
fn a_lost_request_before_others_is_fast_retransmitted_and_answered_first() {
    let (report, waits) = first_request_lost(&web());
    assert_eq!((report.requests.timeouts, report.requests.fast_retransmits), (0, 1));
    // The three requests that follow cause the duplicate ACKs, and all four requests are answered together.
    let requested = |file: usize| report.files[file].requested.as_seconds();
    assert!((waits[0] - (requested(3) - requested(0))).abs() < 0.001, "{waits:?}");
    let answered: Vec<_> = report.files[..4].iter().map(|file| file.answered).collect();
    assert!(answered.iter().all(|&time| time == answered[0]));
    assert!(report
        .files
        .windows(2)
        .all(|pair| pair[1].answered.is_none() || pair[0].answered <= pair[1].answered));
}

#[test]
fn scheduled_bytes_equal_the_answered_files() {
    let report = run(&lan(60, RecoveryKind::Sack, "epd"), 5);
    for (web, flow) in report.web.iter().zip(&report.flows) {
        let answered = web.files.iter().filter(|file| file.answered.is_some());
        assert_eq!(web.scheduled_bytes, answered.map(|file| file.bytes).sum::<u64>());
        assert!(flow.highest_sequence_bytes <= web.scheduled_bytes);
        assert!(flow.completion.is_none());
    }
}

#[test]
fn parameters_that_cannot_be_drawn_are_rejected() {
    let refused = |change: fn(&mut WebConfig)| {
        let mut config = web();
        change(&mut config);
        let scenario = with_web(lan(1000, RecoveryKind::Reno, "epd"), &config);
        Simulation::new(&scenario, 1).err().map(|error| error.to_string())
    };
    for (change, start) in [
        (
            (|web| web.cycle_ps = 5) as fn(&mut WebConfig),
            "flows[0].traffic.cycle: 5; needs",
        ),
        (|web| web.request_bytes = 0, "flows[0].traffic.request: 0; needs"),
        (|web| web.spacing_from_ps = SECOND, "flows[0].traffic.spacing_to: "),
        (|web| web.size_mean = f64::NAN, "flows[0].traffic.size_mean: NaN; needs"),
        (|web| web.requests_most = 0, "flows[0].traffic.requests_most: 0; needs"),
        (
            |web| web.class_shares_ppb = vec![1],
            "flows[0].traffic.class_shares: 1; needs",
        ),
        (
            |web| web.class_shares_ppb = vec![u64::MAX, 1_000_000_001],
            "flows[0].traffic.class_shares: 18446744073709551615; needs",
        ),
        (|web| web.kilobyte_bytes = 1, "flows[0].traffic.kilobyte: 1; needs"),
    ] {
        let message = refused(change).unwrap_or_default();
        assert!(message.starts_with(start), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Checks that with losses in both directions every request, file and byte is accounted for and in order.
    #[test]
    fn requests_and_files_are_accounted_for(
        seed in 0u64..1000,
        sources in 1usize..4,
        buffer in 14u64..200,
        name in prop::sample::select(vec!["tail-drop", "epd", "selective-drop"]),
        recovery in prop::sample::select(vec![
            RecoveryKind::Vanilla, RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::Newreno, RecoveryKind::Sack,
        ]),
        silly_window_avoidance in any::<bool>(),
        idle_restart in any::<bool>(),
        delayed in any::<bool>(),
        probability in 0.0..0.2,
        request_bytes in prop::sample::select(vec![1u32, 128, 511, 600, 3000]),
        cycle_from in prop::sample::select(vec![CycleFrom::FirstRequest, CycleFrom::LastRequest]),
        delay in prop::sample::select(vec![LAN, WAN]),
    ) {
        let mut config = tcp(recovery, 65_536);
        config.silly_window_avoidance = silly_window_avoidance;
        config.idle_restart = idle_restart;
        if delayed {
            config.ack = AckConfig::Delayed { segments: 2, timeout_ps: SECOND / 5, quick: 0 };
        }
        let mut scenario = dumbbell(sources, delay, buffer, policy(name), 6, &config);
        for link in [0, 1] {
            scenario.links[link].loss = LossConfig::Bernoulli { probability };
        }
        let web = WebConfig { request_bytes, cycle_from, ..web() };
        let report = run(&with_web(scenario, &web), seed);
        for web in &report.web {
            prop_assert!(web.files.len() > 5);
            prop_assert!(web.requests.sent_bytes > 0);
        }
    }
}
