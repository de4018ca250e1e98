//! Paths with ACK aggregation, tiny BDPs, changing rates, or policers.

use super::*;

#[test]
fn achieving_expected_startup_bandwidth_on_a_link_with_aggregation() {
    let mut flow = Flow::over(20.0, 40, 2000);
    flow.ack_gap = Some(Span::millis(30));
    flow.until(|flow| flow.bbr().full.reached);
    let bbr = flow.bbr();
    assert!(bbr.aggregation.extra.get() > 0.0);
    assert!(flow.cwnd() > 2.0 * flow.bdp());
    // In Startup the send rate does not bound the estimate, so ACKs that arrive together after a gap inflate it.
    let found = bbr.max_bw.get() / flow.rate;
    assert!((0.98..1.3).contains(&found), "{found}");
}

#[test]
fn achieving_expected_cruise_bandwidth_on_a_link_with_aggregation() {
    let mut flow = Flow::over(20.0, 40, 2000);
    flow.until_state(State::Cruise).ack_gap = Some(Span::millis(20));
    let before = flow.bbr().aggregation.extra.get();
    let rate = flow.rate;
    let share = flow.share(Span::seconds(1), rate);
    assert!(flow.bbr().aggregation.extra.get() > before);
    assert!(share > 0.95, "{share}");
}

#[test]
fn correctly_managing_sub_packet_bdps() {
    // A 100 kbit/s path with an RTT of 4 ms has a BDP of a twentieth of a segment.
    let mut flow = Flow::over(0.1, 4, 100);
    flow.until_state(State::Cruise);
    let (rate, mut least) = (flow.rate, f64::INFINITY);
    flow.watch(Span::seconds(5), |flow| least = least.min(flow.cwnd()));
    assert_eq!(least, 4.0 * MSS as f64);
    let share = flow.share(Span::seconds(20), rate);
    assert!((0.95..1.01).contains(&share), "{share}");
    let paced = flow.bbr().pacing_rate.expect("it paces");
    assert!((0.85..1.3).contains(&(paced / rate)), "{paced}");
}

#[test]
fn increasing_bandwidth_10x_and_ensuring_full_bandwidth_is_reached() {
    let mut flow = Flow::over(10.0, 40, 15);
    flow.until(|flow| flow.bbr().inflight_longterm.is_finite() && flow.state() == State::Cruise);
    flow.set_rate(100.0);
    flow.room = (1000 * MSS) as f64;
    let (changed, before) = (flow.now, flow.bbr().inflight_longterm);
    let mut slopes = vec![];
    while flow.bbr().max_bw.get() < 0.98 * flow.rate {
        let probe = flow.bbr().probe;
        if flow.state() == State::Up && slopes.last() != Some(&probe.rounds) {
            slopes.push(probe.rounds);
        }
        flow.step();
        assert!(flow.now < changed + Span::seconds(10), "{:?}", flow.bbr());
    }
    // The growth per round doubles: 1, 2, 4 segments.
    assert!(slopes.windows(5).any(|rounds| rounds == [1, 2, 3, 4, 5]), "{slopes:?}");
    assert!(flow.bbr().inflight_longterm > 4.0 * before);
}

#[test]
fn decreasing_bandwidth_10x_and_ensuring_max_bandwidth_adapts_down() {
    let mut flow = Flow::over(100.0, 40, 500);
    flow.until_state(State::Up).until_state(State::Cruise);
    let before = flow.bbr().max_bw.get();
    flow.set_rate(10.0);
    flow.room = (50 * MSS) as f64;
    let changed = flow.now;
    flow.until(|flow| flow.bbr().short.bw < 0.3 * before);
    assert!(flow.now < changed + Span::seconds(2), "{:?}", flow.now);
    flow.until(|flow| flow.bbr().max_bw.get() < 1.05 * flow.rate);
    assert!(flow.now < changed + Span::seconds(15), "{:?}", flow.now);
    let rate = flow.rate;
    let share = flow.share(Span::seconds(10), rate);
    assert!(share > 0.85, "{share}");
}

#[test]
fn handling_token_bucket_policers() {
    let mut flow = Flow::over(100.0, 40, 2000);
    let rate = 10e6 / 8.0;
    flow.policer = Some(Policer {
        rate,
        most: 100_000.0,
        tokens: 100_000.0,
        since: Time::ZERO,
    });
    flow.until_state(State::Down);
    flow.until(|flow| flow.bbr().short.bw.is_finite() && flow.bbr().short.inflight.is_finite());
    flow.watch(Span::seconds(20), |_| {});
    let (sent, dropped) = (flow.sent, flow.dropped);
    let share = flow.share(Span::seconds(20), rate);
    let lost = (flow.dropped - dropped) as f64 / (flow.sent - sent) as f64;
    assert!(share > 0.8, "{share}");
    assert!(lost < 0.05, "{lost}");
}
