//! Datagrams over cells, and RED for frames, compared with closed forms.

use crate::common::{both, dumbbell, tcp, SECOND};
use longpipe_network::scenario::{
    BufferConfig, BufferUnit, CbrConfig, PoissonConfig, PolicyConfig, QueueUnit, RedConfig, RedGap, Scenario,
    TrafficConfig,
};
use longpipe_tcp::config::RecoveryKind;

const ACCESS_BPS: u64 = 1_000_000_000;
const TRUNK_BPS: u64 = 10_000_000;
const DELAY: u64 = SECOND / 100;
/// Payload of 1250-byte IP packets. Each takes 27 cells: 1266 bytes with LLC/SNAP and AAL5 trailer, 48 bytes per cell.
const PAYLOAD: u32 = 1_222;
const CELLS: u64 = 27;
/// Transmission times [s] of a cell and of a frame on the trunk, and of a cell on the other links.
const CELL: f64 = 424.0 / TRUNK_BPS as f64;
const FRAME: f64 = CELLS as f64 * CELL;
const ACCESS_CELL: f64 = 424.0 / ACCESS_BPS as f64;
/// Capacity of the trunk in frames, given as a rate of IP packets [bit/s].
const FULL_BPS: f64 = 10_000.0 / FRAME;

/// Returns flows over a 10 Mbit/s trunk between 1 Gbit/s links. Each link has a delay of 10 ms, and the trunk's
/// port is unlimited.
fn over_a_trunk(traffic: &[TrafficConfig], seconds: u64) -> Scenario {
    let tcp = tcp(RecoveryKind::Reno, 65_536);
    let policy = PolicyConfig::TAIL_DROP;
    let mut scenario = dumbbell(traffic.len(), DELAY, 1000, policy, seconds, &tcp);
    let trunk = scenario.flows[0].route[1];
    for (index, link) in scenario.links.iter_mut().enumerate() {
        link.rate_bps = if index == trunk { TRUNK_BPS } else { ACCESS_BPS };
        link.buffer = None;
    }
    for (flow, own) in scenario.flows.iter_mut().zip(traffic) {
        flow.traffic = own.clone();
    }
    scenario
}

fn cbr(load: f64) -> TrafficConfig {
    TrafficConfig::Cbr(CbrConfig {
        rate_bps: (load * FULL_BPS) as u64,
        payload_bytes: PAYLOAD,
    })
}

/// Checks the delay of a frame, which consists of three propagation delays, the frame's time on the trunk, the time of
/// two cells on other links, and up to a slot at each of two ports.
#[test]
fn evenly_spaced_frames_on_an_idle_path_have_the_path_delay() {
    let report = both(&over_a_trunk(&[cbr(0.1)], 5));
    let flow = &report.datagrams[0];
    let minimum = 3.0 * 0.01 + FRAME + 2.0 * ACCESS_CELL;
    let (shortest, longest) = flow.delays.extremes();
    assert!(
        shortest >= minimum - 1e-9 && longest <= minimum + CELL + ACCESS_CELL + 1e-9,
        "{shortest} {longest}"
    );
    // The interval between frames is 11.448 ms, so the two frames sent in the last 31.2 ms are in flight.
    assert_eq!((flow.lost, flow.sent - flow.received), (0, 2));
    assert_eq!(flow.received_bytes, flow.received * u64::from(PAYLOAD));
}

/// Checks a D/D/1 queue at twice the trunk's rate: a frame leaves every 27 slots, and the queue grows by half of the
/// arrivals.
#[test]
fn an_overload_of_evenly_spaced_frames_leaves_at_the_trunk_rate() {
    let report = both(&over_a_trunk(&[cbr(2.0)], 2));
    let flow = &report.datagrams[0];
    let first = 0.03 + 2.0 * ACCESS_CELL;
    let arrived = ((2.0 - first) / FRAME) as u64;
    assert!(flow.received.abs_diff(arrived) <= 1, "{} {arrived}", flow.received);
    let maximum = flow.delays.extremes().1 - first - FRAME - flow.received as f64 * FRAME / 2.0;
    assert!(maximum.abs() < FRAME, "{maximum}");
}

/// Checks the Pollaczek-Khinchine formula for constant service time S and load r: the mean waiting time is r S/(2 (1 -
/// r)), plus half a slot.
#[test]
fn poisson_frames_wait_as_in_an_m_d_1_queue() {
    let poisson = TrafficConfig::Poisson(PoissonConfig {
        rate_bps: (0.5 * FULL_BPS) as u64,
        payload_bytes: PAYLOAD,
    });
    let report = both(&over_a_trunk(&[poisson], 300));
    let wait = report.datagrams[0].delays.mean() - 0.03 - FRAME - 2.0 * ACCESS_CELL;
    let expected = 0.5 * FRAME / (2.0 * 0.5) + CELL / 2.0;
    assert!((wait / expected - 1.0).abs() < 0.04, "{wait} s, M/D/1 has {expected} s");
}

const MIN: f64 = 400.0;
const MAX: f64 = 1200.0;
const MAX_P: f64 = 0.1;

/// Returns RED for whole frames.
pub fn red(per_vc: bool) -> PolicyConfig {
    PolicyConfig::Red(RedConfig {
        min: MIN,
        max: MAX,
        unit: QueueUnit::Cells,
        weight: 0.02,
        max_p: MAX_P,
        gentle: true,
        adaptive: false,
        gap: RedGap::Uniform,
        mean_packet_bytes: 1_250,
        ecn: false,
        per_vc,
    })
}

/// Returns the drop fraction for an average queue length. Gaps that are uniformly distributed over 1 to 1/p have a mean
/// of (1/p + 1)/2, so the fraction is 2 p/(1 + p).
fn share_refused(mean: f64) -> f64 {
    let p = MAX_P * (mean - MIN).max(0.0) / (MAX - MIN);
    2.0 * p / (1.0 + p)
}

/// Returns the queue length at which the loads minus the dropped fraction equal the trunk's capacity. If RED is used
/// per VC, this is the queue length of the VC.
fn balance(loads: &[f64], per_vc: bool) -> f64 {
    let admitted = |queue: f64| -> f64 {
        let of = |load: &f64| {
            let own = |share: f64| load * (1.0 - share_refused(queue * share));
            if !per_vc {
                return own(1.0);
            }
            // A VC's share of the queue equals its share of the trunk.
            (0..200).fold(0.5, |share, _| 0.5 * (share + own(share)))
        };
        loads.iter().map(of).sum()
    };
    let (mut low, mut high) = (MIN, 4.0 * MAX);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if admitted(middle) > 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the fraction of each flow's frames that RED drops, and the trunk's mean queue length [cell].
fn overload(loads: &[f64], per_vc: bool) -> (Vec<f64>, f64) {
    let traffic: Vec<TrafficConfig> = loads.iter().map(|&load| cbr(load)).collect();
    let mut scenario = over_a_trunk(&traffic, 200);
    let trunk = scenario.flows[0].route[1];
    scenario.links[trunk].policy = red(per_vc);
    scenario.links[trunk].buffer = Some(BufferConfig {
        unit: BufferUnit::Cells,
        limit: 5_000,
    });
    let report = both(&scenario);
    let port = &report.ports[trunk];
    assert_eq!((port.lost_overflow, port.lost_discarded), (0, 0));
    assert_eq!(port.lost_aqm % CELLS, 0);
    let lost = |flow: &longpipe_network::report::flows::DatagramReport| flow.lost as f64 / flow.sent as f64;
    let mean = port.mean_queue.unwrap_or(f64::NAN);
    (report.datagrams.iter().map(lost).collect(), mean)
}

#[test]
fn red_for_frames_settles_where_it_drops_the_overload() {
    let (refused, queue) = overload(&[0.77, 0.33], false);
    let expected = balance(&[0.77, 0.33], false);
    // RED drops 1/11 of all frames, an equal share of both flows.
    for share in refused {
        assert!((share * 11.0 - 1.0).abs() < 0.06, "{share}");
    }
    assert!(
        (queue / expected - 1.0).abs() < 0.05,
        "{queue} cells, {expected} expected"
    );
}

#[test]
fn red_per_vc_drops_frames_by_the_queue_of_their_vc() {
    let loads = [0.85, 0.25];
    let (refused, queue) = overload(&loads, true);
    let expected = balance(&loads, true);
    assert!(
        (queue / expected - 1.0).abs() < 0.05,
        "{queue} cells, {expected} expected"
    );
    // The smaller flow stays below the lower threshold, so the larger flow bears the whole overload.
    assert!(expected * 0.25 < MIN && refused[1] < 0.002, "{expected} {refused:?}");
    assert!((refused[0] * 0.85 / 0.1 - 1.0).abs() < 0.05, "{refused:?}");
}
