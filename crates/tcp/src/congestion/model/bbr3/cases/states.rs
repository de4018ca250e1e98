//! Transitions between states.

use super::*;
use crate::congestion::model::bbr3::state::BETA;

/// A 20 Mbit/s path with an RTT of 40 ms, a BDP of a hundred segments and a larger buffer.
fn path() -> Flow {
    Flow::over(20.0, 40, 2000)
}

fn limited() -> Application {
    Application::Writes(20, Span::millis(10))
}

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let mut flow = path();
    assert_eq!(flow.after(State::Startup), State::Drain);
    let bbr = flow.bbr();
    assert!(bbr.full.now && bbr.full.reached);
    assert_eq!(bbr.full.count, 3);
    assert!(
        (bbr.max_bw.get() / flow.rate - 1.0).abs() < 0.02,
        "{}",
        bbr.max_bw.get()
    );
    assert_eq!(flow.dropped, 0);
}

#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let mut flow = Flow::over(100.0, 40, 2000);
    flow.becomes(Application::Writes(40, Span::millis(10)));
    flow.watch(Span::seconds(2), |flow| assert_eq!(flow.state(), State::Startup));
    assert!(!flow.bbr().full.reached);
    flow.lost_in = 10;
    // The few segments in flight drain at once.
    assert!(flow.after(State::Startup).is_probe_bw());
    let bbr = flow.bbr();
    assert_eq!(bbr.rounds.count, bbr.full.drain_round);
    assert!(bbr.full.now && bbr.full.reached && bbr.inflight_longterm.is_finite());
}

#[test]
fn exiting_drain_based_on_inflight() {
    let mut flow = path();
    flow.until_state(State::Drain);
    assert_eq!(flow.state().pacing_gain(), 0.5);
    assert!(flow.sender.flight().outstanding() as f64 > 1.2 * flow.bdp());
    // The sender may enter Cruise at once.
    assert!(flow.after(State::Drain).is_probe_bw());
    let bbr = flow.bbr();
    assert!(bbr.rounds.count <= bbr.full.drain_round + 3);
    // The ACK may have released one more quantum.
    let most = bbr.inflight(bbr.bw, 1.0, flow.sender.flight()) + bbr.quantum;
    assert!(flow.sender.flight().outstanding() as f64 <= most);
}

#[test]
fn exiting_drain_based_on_time() {
    let mut flow = path();
    flow.until_state(State::Drain);
    // The link is slower than the sending rate in Drain.
    flow.set_rate(9.0);
    assert_eq!(flow.after(State::Drain), State::Down);
    let bbr = flow.bbr();
    assert_eq!(bbr.rounds.count, bbr.full.drain_round + 4);
    assert!(flow.sender.flight().outstanding() as f64 > bbr.inflight(bbr.bw, 1.0, flow.sender.flight()));
}

#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let mut flow = path();
    flow.until_state(State::Up);
    let before = flow.bbr().rounds.count;
    assert!(!flow.bbr().full.now);
    assert_eq!(flow.after(State::Up), State::Down);
    assert!(flow.bbr().full.now);
    assert!(flow.bbr().rounds.count >= before + 3);
    assert_eq!((flow.dropped, flow.bbr().probe.too_high), (0, false));
}

#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let mut flow = path();
    flow.until_state(State::Up).becomes(limited());
    flow.watch(Span::millis(120), |_| {});
    assert_eq!(flow.state(), State::Up);
    flow.lost_in = 10;
    assert!(matches!(flow.after(State::Up), State::Down | State::Cruise));
    assert!(flow.bbr().probe.too_high && !flow.bbr().full.now);
    // While the sender is application-limited, its data in flight do not set a bound.
    assert_eq!(flow.bbr().inflight_longterm, f64::INFINITY);
}

#[test]
fn never_exiting_probe_up_or_startup_when_application_limited_with_no_loss() {
    let mut flow = path();
    flow.becomes(Application::Writes(4, Span::millis(10)));
    flow.watch(Span::seconds(60), |flow| {
        assert!(matches!(flow.state(), State::Startup | State::ProbeRtt));
        assert!(!flow.bbr().full.reached);
    });
    let mut flow = path();
    flow.until_state(State::Up)
        .becomes(Application::Writes(4, Span::millis(10)));
    // Run until ProbeRTT is due.
    flow.watch(Span::millis(1500), |flow| assert_eq!(flow.state(), State::Up));
}

#[test]
fn exiting_probe_down_on_inflight() {
    let mut flow = path();
    flow.until_state(State::Up).until_state(State::Down);
    assert_eq!(flow.state().pacing_gain(), 0.9);
    assert_eq!(flow.after(State::Down), State::Cruise);
    let (bbr, flight) = (flow.bbr(), flow.sender.flight());
    let most = bbr
        .with_headroom(flight)
        .min(bbr.inflight(bbr.max_bw.get(), 1.0, flight))
        + bbr.quantum;
    assert!(flight.outstanding() as f64 <= most);
}

#[test]
fn exiting_probe_down_after_max_time() {
    let mut flow = Flow::over(20.0, 100, 2000);
    flow.until_state(State::Drain).set_rate(9.0);
    flow.until_state(State::Down);
    let (began, wait) = (flow.bbr().probe.began, flow.bbr().probe.wait);
    assert_eq!(flow.after(State::Down), State::Refill);
    assert!(flow.now > began + wait);
    assert!(flow.bbr().probe.rounds_since_up < 63);
}

#[test]
fn entering_and_exiting_probe_rtt() {
    let mut flow = path();
    flow.until_state(State::Down).until_state(State::ProbeRtt);
    assert!(flow.now > Time(Span::seconds(5).0));
    assert_eq!(flow.state().cwnd_gain(), 0.5);
    let began = flow.now;
    let mut window = f64::INFINITY;
    while flow.state() == State::ProbeRtt {
        window = flow.cwnd();
        flow.step();
    }
    assert!(window <= 0.51 * flow.bdp(), "{window}");
    assert!(flow.now > began + Span::millis(200));
    assert!(flow.now < began + Span::millis(320));
    assert_eq!(flow.state(), State::Cruise);
    assert!(flow.bbr().full.reached);
    assert!(flow.cwnd() > flow.bdp());
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let mut flow = path();
    flow.until_state(State::Cruise).becomes(Application::Pauses);
    flow.until(|flow| flow.sender.flight().outstanding() == 0);
    flow.now += Span::seconds(6);
    flow.becomes(Application::Greedy);
    flow.step();
    assert!(flow.bbr().idle_restart);
    flow.watch(Span::seconds(4), |flow| assert_ne!(flow.state(), State::ProbeRtt));
    assert!(!flow.bbr().idle_restart);
}

#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    let mut flow = path();
    flow.becomes(Application::Writes(4, Span::millis(10)));
    flow.until_state(State::ProbeRtt);
    assert!(!flow.bbr().full.reached);
    assert_eq!(flow.after(State::ProbeRtt), State::Startup);
    flow.becomes(Application::Greedy);
    assert_eq!(flow.after(State::Startup), State::Drain);
    assert!((flow.bbr().max_bw.get() / flow.rate - 1.0).abs() < 0.02);
}

#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    let mut flow = Flow::over(20.0, 40, 20);
    flow.until(|flow| flow.bbr().inflight_longterm.is_finite());
    flow.until_state(State::Up)
        .until_state(State::Down)
        .until_state(State::Up);
    flow.lost_in = 15;
    let before = flow.bbr().inflight_longterm;
    assert_eq!(flow.after(State::Up), State::Down);
    let bbr = flow.bbr();
    assert!(bbr.probe.too_high && !bbr.full.now);
    assert!(bbr.inflight_longterm >= BETA * bbr.target(flow.sender.flight()).min(before));
    assert!(bbr.inflight_longterm.is_finite());
}

#[test]
fn handling_application_limited_sending_during_probe_refill() {
    let mut flow = path();
    flow.until_state(State::Refill);
    let before = flow.bbr().max_bw.get();
    flow.becomes(Application::Writes(2, Span::millis(5)));
    assert_eq!(flow.after(State::Refill), State::Up);
    assert_eq!(flow.bbr().max_bw.get(), before);
    flow.becomes(Application::Greedy);
    assert_eq!(flow.after(State::Up), State::Down);
    assert!((flow.bbr().max_bw.get() / flow.rate - 1.0).abs() < 0.02);
}
