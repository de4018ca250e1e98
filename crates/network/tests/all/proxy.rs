//! Split connections, compared with closed forms, with separate runs, and with the counters of the proxy's buffer.

use crate::common::proxies::{self, end_points, Pipe, MSS};
use crate::common::{run, Builder, SECOND};
use longpipe_network::report::Report;
use longpipe_network::scenario::web::{CycleFrom, PoissonCut, WebConfig};
use longpipe_network::scenario::{
    AdaptiveVideoConfig, ArrivalTimesConfig, BitrateRule, BurstsConfig, Engine, FlowArrivalsConfig, ForwardingConfig,
    LossConfig, NodeKind, PolicyConfig, Scenario, StartConfig, StopConfig, StreamConfig, Times, TrafficConfig,
};
use longpipe_network::Simulation;
use longpipe_tcp::config::{RecoveryKind, TcpConfig};

/// Length of a segment's headers and length of an ACK [byte].
const HEADERS: u64 = 40;
const MS: u64 = SECOND / 1000;

fn tcp() -> TcpConfig {
    end_points(RecoveryKind::Newreno)
}

fn split(pipes: [Pipe; 2], traffic: TrafficConfig, buffer_bytes: u64) -> Scenario {
    proxies::split(pipes, &tcp(), traffic, buffer_bytes)
}

/// Returns a scenario with only the proxy's flow, which starts at the given time.
fn alone(split: &Scenario, at_ps: u64) -> Scenario {
    let mut scenario = split.clone();
    scenario.flows.truncate(1);
    scenario.flows[0].relayed = false;
    scenario.flows[0].start = StartConfig::Fixed { at_ps };
    scenario
}

/// Runs both engines and asserts equal results.
fn both(scenario: &Scenario) -> Report {
    let mut scenario = scenario.clone();
    let [plain, fast] = [Engine::Reference, Engine::Trains].map(|engine| {
        scenario.engine = engine;
        run(&scenario, 1)
    });
    assert_eq!(plain.state_hash, fast.state_hash);
    assert_eq!((&plain.flows, &plain.proxies), (&fast.flows, &fast.proxies));
    fast
}

/// Returns the transmission time of a packet [ps].
fn on_line(rate_bps: u64, bytes: u64) -> u64 {
    8 * bytes * SECOND / rate_bps
}

const AMPLE: u64 = 1 << 30;

/// Checks that in slow start from one segment, 2ᵏ − 1 segments take k rounds. The last round leaves the transmitter
/// without a gap, and each round takes one RTT of the proxy's connection.
#[test]
fn split_file_takes_proxy_delay_plus_second_connection_rounds() {
    let pipes @ [(fast, near), (slow, far)] = [(1_000_000_000, MS), (100_000_000, 250 * MS)];
    for rounds in [1, 2, 5, 9u32] {
        let segments = (1 << rounds) - 1;
        let size_bytes = segments * MSS;
        let report = both(&split(pipes, TrafficConfig::transfer(size_bytes), AMPLE));
        let (there, back) = (on_line(slow, MSS + HEADERS), on_line(slow, HEADERS));
        let first = on_line(fast, MSS + HEADERS) + near;
        let round = there + far + back + far;
        let last_round = segments.div_ceil(2);
        let expected = first + u64::from(rounds - 1) * round + last_round * there + far;
        assert_eq!(
            report.flows[0].completion.map(|at| at.0),
            Some(expected),
            "{rounds} rounds"
        );
        // The connection from the first host was complete long before.
        assert!(report.flows[1].completion < report.flows[0].completion);
    }
}

/// Checks that with an unlimited buffer, the first connection behaves as if it were alone, and the second as if its
/// application started with the first arrival.
#[test]
fn with_an_unlimited_buffer_the_connections_equal_separate_runs() {
    let pipes @ [(fast, near), _] = [(100_000_000, 5 * MS), (10_000_000, 100 * MS)];
    let mut scenario = split(pipes, TrafficConfig::GREEDY, AMPLE);
    // The satellite link loses packets.
    scenario.links[2].loss = LossConfig::Packets {
        indices: vec![50, 51, 700, 2000],
    };
    let report = both(&scenario);
    let begins = on_line(fast, MSS + HEADERS) + near;
    let second = both(&alone(&scenario, begins));
    let (found, expected) = (&report.flows[0], &second.flows[0]);
    assert!(expected.sender.retransmitted_segments > 0);
    assert_eq!(
        (found.delivered_bytes, found.sender),
        (expected.delivered_bytes, expected.sender)
    );
    let mut first = scenario.clone();
    first.flows.remove(0);
    first.flows[0].onward = None;
    let first = both(&first);
    assert_eq!(report.flows[1], first.flows[0]);
}

/// Checks that the first connection is as fast as the buffer empties, loses no data, and never puts more data into the
/// buffer than it holds.
#[test]
fn a_full_buffer_slows_the_sender_down() {
    for room in [2 * MSS, 7 * MSS + 300, 100 * MSS] {
        let pipes = [(100_000_000, MS), (10_000_000, MS)];
        let report = both(&split(pipes, TrafficConfig::GREEDY, room));
        let [last, first] = [0, 1].map(|flow| &report.flows[flow]);
        let proxy = report.proxies[0];
        assert_eq!((proxy.flow, proxy.forwarded_over), (1, 0));
        assert!(
            proxy.peak_bytes <= room && proxy.peak_bytes + 3 * MSS > room,
            "{proxy:?}"
        );
        assert!(first.delivered_bytes - last.delivered_bytes <= room);
        assert_eq!(first.sender.retransmitted_segments, 0);
        if room == 100 * MSS {
            // The second connection's transmitter is never idle after slow start, and the buffer is full except for
            // data in flight.
            let line = 10_000_000 / 8 * 20 * MSS / (MSS + HEADERS);
            assert!(last.delivered_bytes > line * 99 / 100, "{last:?}");
            assert!(proxy.mean_bytes > 0.9 * room as f64, "{proxy:?}");
        }
    }
}

/// Checks that a buffer acts as a window: a distant sender transmits at most one buffer per round trip.
#[test]
fn the_buffer_limits_the_throughput_of_a_distant_sender() {
    let room = 50 * MSS;
    let pipes @ [(slow, far), _] = [(100_000_000, 100 * MS), (1_000_000_000, MS)];
    let report = both(&split(pipes, TrafficConfig::GREEDY, room));
    let round_trip = on_line(slow, MSS + HEADERS) + on_line(slow, HEADERS) + 2 * far;
    let rounds = 20 * SECOND / round_trip;
    let max = (rounds + 1) * room;
    let delivered = report.flows[0].delivered_bytes;
    // Slow start from one segment takes six rounds; the second connection adds its RTT of 2 ms to each round.
    assert!(delivered <= max && delivered > max * 9 / 10, "{delivered} of {max}");
}

/// Loses some of the ACKs that would open the window. The sender then probes the window, and the file arrives.
#[test]
fn a_lost_window_update_is_recovered_by_probes() {
    let pipes = [(100_000_000, MS), (10_000_000, 5 * MS)];
    let size_bytes = 300 * MSS + 17;
    let mut scenario = split(pipes, TrafficConfig::transfer(size_bytes), 2 * MSS);
    scenario.duration_ps = 400 * SECOND;
    // The link from the proxy back to the first host loses ACKs.
    scenario.links[1].loss = LossConfig::Bernoulli { probability: 0.3 };
    let report = both(&scenario);
    assert_eq!(report.flows[0].delivered_bytes, size_bytes);
    assert!(report.flows[0].completion.is_some());
    assert!(report.proxies[0].window_probes > 0, "{:?}", report.proxies[0]);
    assert_eq!(report.proxies[0].held_bytes, 0);
}

/// A path with two consecutive proxies.
#[test]
fn a_connection_may_be_split_more_than_once() {
    let mut scenario = split(
        [(50_000_000, MS), (20_000_000, 200 * MS)],
        TrafficConfig::GREEDY,
        20 * MSS,
    );
    // A fourth host is connected to the third one and is the end of flow 2.
    let mut builder = Builder::new(20, 1, PolicyConfig::TAIL_DROP);
    builder.scenario = scenario.clone();
    let end = builder.node(NodeKind::Host);
    let link = builder.link(2, end, 5_000_000, MS);
    builder.flow(vec![link], tcp());
    scenario = builder.scenario;
    scenario.flows[2].relayed = true;
    scenario.flows[0].onward = Some(ForwardingConfig {
        flow: 2,
        buffer_bytes: 30 * MSS,
    });
    let report = both(&scenario);
    let delivered = [1, 0, 2].map(|flow| report.flows[flow].delivered_bytes);
    assert!(delivered[0] >= delivered[1] && delivered[1] >= delivered[2]);
    assert!(delivered[0] - delivered[1] <= 20 * MSS && delivered[1] - delivered[2] <= 30 * MSS);
    // Unacknowledged data remain in the first buffer, so the throughput is bounded by 20 segments per 400 ms.
    let max = 20 * MSS * 20_000 / 402;
    assert!(
        delivered[2] > max * 8 / 10 && delivered[2] <= max,
        "{delivered:?}, {max}"
    );
}

/// Returns web traffic of one request, of 128 B, for a file of `10^class` segments.
fn one_file(class: usize) -> TrafficConfig {
    let mut class_shares_ppb = vec![0; class + 2];
    class_shares_ppb[class + 1] = 1_000_000_000;
    TrafficConfig::Web(WebConfig {
        cycle_ps: 100_000 * SECOND,
        cycle_from: CycleFrom::FirstRequest,
        request_bytes: 128,
        spacing_from_ps: 0,
        spacing_to_ps: 0,
        requests_mean: 1e-9,
        requests_most: 1,
        size_mean: 1e-9,
        cut: PoissonCut::Clamping,
        class_shares_ppb,
        kilobyte_bytes: MSS,
    })
}

/// Returns the number of rounds in which slow start from one segment sends a number of segments, and the number in the
/// last round.
fn rounds(mut segments: u64) -> (u64, u64) {
    let mut round = 1;
    while segments > 1 << (round - 1) {
        segments -= 1 << (round - 1);
        round += 1;
    }
    (round, segments)
}

/// Checks the times of a page on an idle network. The request passes both connections. If the second one is long, the file
/// takes the delay to the proxy and the rounds of that connection; if the first one is, the file takes its rounds, and
/// the last segment passes the second connection, whose window has already opened.
#[test]
fn split_page_takes_request_plus_rounds_of_longer_connection() {
    let (fast, near, slow, far) = (1_000_000_000, MS, 100_000_000, 250 * MS);
    for class in [0, 1, 2] {
        let request = on_line(fast, 128 + HEADERS) + near + on_line(slow, 128 + HEADERS) + far;
        let short = on_line(fast, MSS + HEADERS) + near;
        let (there, back) = (on_line(slow, MSS + HEADERS), on_line(slow, HEADERS));
        let segments = 10u64.pow(class);
        let (round, last) = rounds(segments);
        let long = (round - 1) * (there + far + back + far) + last * there + far;
        for pipes in [[(fast, near), (slow, far)], [(slow, far), (fast, near)]] {
            // The server sends the ACK of the request before the file.
            let ack = on_line(pipes[0].0, HEADERS);
            let report = both(&split(pipes, one_file(class as usize), AMPLE));
            let [web] = &report.web[..] else {
                panic!("{:?}", report.web)
            };
            let file = web.files[0];
            assert_eq!((web.flow, web.files.len(), file.bytes), (0, 1, segments * MSS));
            assert_eq!(file.answered.map(|at| at.0), Some(request), "{pipes:?}");
            assert_eq!(
                file.completed.map(|at| at.0),
                Some(request + ack + short + long),
                "{segments} segments, {pipes:?}"
            );
            let delivered = [0, 1].map(|flow| report.flows[flow].delivered_bytes);
            assert_eq!(delivered, [segments * MSS; 2]);
        }
    }
}

/// Checks that an arriving flow takes as long as a file, and that both connections of a slot are free again when the
/// receiver has acknowledged everything.
#[test]
fn arriving_flows_are_split_and_reuse_the_slots_of_both_connections() {
    let pipes @ [(fast, near), (slow, far)] = [(1_000_000_000, MS), (100_000_000, 250 * MS)];
    let (there, back) = (on_line(slow, MSS + HEADERS), on_line(slow, HEADERS));
    let takes = |segments| {
        let (round, last) = rounds(segments);
        let rounds = (round - 1) * (there + far + back + far);
        on_line(fast, MSS + HEADERS) + near + rounds + last * there + far
    };
    let sizes = [15u64, 1, 31];
    let traffic = TrafficConfig::FlowArrivals(FlowArrivalsConfig {
        arrivals: ArrivalTimesConfig::List {
            flows_ps: sizes.map(|segments| (0, segments * MSS)).to_vec(),
        },
        most_active: 1,
        most_flows: None,
    });
    let report = both(&split(pipes, traffic, AMPLE));
    let [arrived] = &report.arrived[..] else {
        panic!("{:?}", report.arrived)
    };
    assert_eq!((arrived.flow, arrived.waited, arrived.peak), (0, 2, 1));
    let mut start = 0;
    for (flow, segments) in arrived.flows.iter().zip(sizes) {
        let completed = start + takes(segments);
        assert_eq!(flow.completed.get().map(|at| at.0), Some(completed));
        // The ACK of the last segment reaches the proxy.
        start = completed + back + far;
    }
    let all = sizes.iter().sum::<u64>() * MSS;
    assert_eq!([0, 1].map(|flow| report.flows[flow].delivered_bytes), [all; 2]);
    assert_eq!(report.proxies.len(), 1);
    assert_eq!((report.proxies[0].flow, report.proxies[0].held_bytes), (1, 0));
    assert!(report.proxies[0].peak_bytes <= 31 * MSS);
}

/// Checks that every byte that an application writes until it stops passes both connections, through a buffer that is
/// often full, and that the writes do not depend on the proxy.
#[test]
fn data_written_over_time_pass_the_proxy_completely() {
    let pipes = [(100_000_000, 20 * MS), (4_000_000, 60 * MS)];
    let traffic = TrafficConfig::Stream(StreamConfig {
        rate_bps: 10_000_000,
        write_bytes: Some(700),
        bursts: Some(BurstsConfig {
            on_ps: SECOND,
            off_ps: SECOND,
            times: Times::Exponential {},
        }),
    });
    let mut scenario = split(pipes, traffic, 5 * MSS);
    for flow in &mut scenario.flows {
        flow.stop = Some(StopConfig::At { at_ps: 15 * SECOND });
    }
    let report = both(&scenario);
    let [last, first] = [0, 1].map(|flow| &report.flows[flow]);
    assert_eq!(last.delivered_bytes, first.delivered_bytes);
    assert_eq!(
        first.sender.sent_bytes - first.sender.retransmitted_bytes,
        last.delivered_bytes
    );
    assert!(last.completion > first.completion && first.completion.is_some());
    assert!(report.proxies[0].peak_bytes == 5 * MSS && report.proxies[0].held_bytes == 0);
    let mut whole = scenario.clone();
    whole.flows[0].relayed = false;
    whole.flows.truncate(1);
    assert_eq!(both(&whole).streams, report.streams);
}

/// Checks that a player over a split connection receives what the server sends, and that its requests pass the proxy.
#[test]
fn a_player_receives_its_chunks_through_the_proxy() {
    let traffic = TrafficConfig::AdaptiveVideo(AdaptiveVideoConfig {
        chunk_ps: SECOND,
        ladder_bps: vec![800_000],
        request_bytes: 200,
        buffer_ps: 4 * SECOND,
        rule: BitrateRule::Throughput { chunks: 3, safety: 0.9 },
    });
    let pipes = [(100_000_000, MS), (10_000_000, 250 * MS)];
    let report = both(&split(pipes, traffic, AMPLE));
    let [video] = &report.videos[..] else {
        panic!("{:?}", report.videos)
    };
    assert_eq!((video.flow, video.playback.stalls), (0, 0));
    let received = video.chunks.iter().filter(|chunk| chunk.completed.is_some()).count() as u64;
    // One chunk is played per second, and at most four are in the buffer.
    let played = video.playback.played.0;
    assert!(played > 10 * SECOND && (played..=played + 4 * SECOND).contains(&(received * SECOND)));
    assert!(report.flows[0].delivered_bytes >= received * 100_000);
}

#[test]
fn flows_that_cannot_be_split_are_rejected() {
    let good = split([(50_000_000, MS), (20_000_000, MS)], TrafficConfig::GREEDY, 20 * MSS);
    let refused = |change: fn(&mut Scenario), expected: &str| {
        let mut scenario = good.clone();
        change(&mut scenario);
        let error = Simulation::new(&scenario, 1).err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|error| error.contains(expected)),
            "{error:?}"
        );
    };
    refused(
        |scenario| scenario.flows[1].onward.as_mut().unwrap().buffer_bytes = 1999,
        "flows[1].onward.buffer: 1999; needs two full segments (2000 bytes)",
    );
    refused(
        |scenario| scenario.flows[0].relayed = false,
        "flows[1].onward.flow: 0; needs",
    );
    refused(|scenario| scenario.flows[1].onward = None, "flows[0].relayed: 0 flows");
    refused(
        |scenario| scenario.flows[0].traffic = TrafficConfig::transfer(1),
        "flows[1].onward: 0; needs two flows of equal traffic over TCP",
    );
    refused(
        |scenario| scenario.flows[1].onward.as_mut().unwrap().flow = 7,
        "flows[0].relayed: 0 flows",
    );
}
