//! Spurious recoveries.

use super::*;

#[test]
fn handling_spurious_fast_recovery() {
    let mut flow = Flow::over(20.0, 40, 2000);
    flow.until_state(State::Up);
    let (bound, short) = (flow.bbr().inflight_longterm, flow.bbr().short);
    // The delay exceeds the reordering window of RTT/4, so these segments are declared lost.
    flow.late = (3, Span::millis(25));
    flow.watch(Span::millis(8), |_| {});
    flow.late = (0, Span(0));
    flow.until(|flow| flow.bbr().phase == RecoveryPhase::Recovery);
    assert_eq!(flow.after(State::Up), State::Down);
    let bbr = flow.bbr();
    assert_eq!(bbr.undo.state, Some(State::Up));
    assert!(bbr.inflight_longterm.is_finite());
    flow.until(|flow| flow.bbr().phase == RecoveryPhase::Open);
    assert_eq!(flow.state(), State::Refill);
    let bbr = flow.bbr();
    assert_eq!(bbr.inflight_longterm, bound);
    assert_eq!((bbr.short.bw, bbr.short.inflight), (short.bw, short.inflight));
    assert_eq!(bbr.undo.state, None);
    flow.until(|flow| flow.state() == State::Up);
    assert_eq!(flow.dropped, 0);
}

#[test]
fn handling_spurious_rto_recovery() {
    let mut flow = Flow::over(20.0, 40, 2000);
    flow.until_state(State::Cruise);
    let (bound, window) = (flow.bbr().inflight_longterm, flow.cwnd());
    // This delays all packets in flight by half a second.
    let due = std::mem::take(&mut flow.due);
    flow.due = due
        .into_iter()
        .map(|((at, count), due)| ((at + Span::millis(500), count), due))
        .collect();
    flow.free_at = flow.now + Span::millis(500);
    flow.until(|flow| flow.bbr().phase == RecoveryPhase::Loss);
    assert!(flow.bbr().prior_cwnd >= window);
    flow.until(|flow| flow.bbr().phase == RecoveryPhase::Open);
    assert!(flow.cwnd() > 0.7 * window, "{} of {window}", flow.cwnd());
    let bbr = flow.bbr();
    assert_eq!(bbr.inflight_longterm, bound);
    assert_eq!(bbr.short.inflight, f64::INFINITY);
    assert!(bbr.state.is_probe_bw() || bbr.state == State::ProbeRtt);
    assert_eq!(flow.dropped, 0);
}
