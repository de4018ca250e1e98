//! Tests timeouts, undone reductions and the reordering window against the arithmetic of Linux 6.1 (tcp_input.c,
//! tcp_recovery.c).

use super::*;
use crate::congestion::flight::Flight;
use crate::congestion::flight::Limits;
use crate::congestion::{Congestion, CongestionConfig, LinuxRenoConfig};
use crate::journal::Journal;

const MSS: u64 = 1000;

/// Loss recovery of a sender that halves its window and sends one segment per millisecond.
struct TestSender {
    rack: Rack,
    rtx_queue: RetransmissionQueue,
    flight: Flight,
    congestion: Congestion,
    journal: Journal,
    now: Time,
}

impl TestSender {
    /// Sends a window of `cwnd` segments in congestion avoidance with the given `ssthresh`.
    fn new(cwnd: u64, ssthresh: u64) -> TestSender {
        let config = RackConfig {
            blocks: 3,
            probe: false,
            undo: true,
            dsack: true,
            frto: false,
            successive: true,
        };
        let limits = Limits::new((cwnd * MSS) as f64, (ssthresh * MSS) as f64);
        let mut sender = TestSender {
            rack: Rack::new(&config),
            rtx_queue: RetransmissionQueue::new(Wants {
                losses: true,
                ..Wants::RECORDS
            }),
            flight: Flight::new(limits, 1 << 40, MSS as u32),
            congestion: Congestion::new(&CongestionConfig::LinuxReno(LinuxRenoConfig::default())),
            journal: Journal::default(),
            now: Time(Span::seconds(1).0),
        };
        for segment in 0..cwnd {
            sender.send(segment);
        }
        sender
    }

    fn send(&mut self, segment: u64) {
        self.now += Span::millis(1);
        let (sequence, end) = (segment * MSS, (segment + 1) * MSS);
        let retransmitted = sequence < self.flight.max;
        self.flight.max = self.flight.max.max(end);
        self.flight.nxt = self.flight.max;
        self.rtx_queue.on_sent(self.now, sequence, end, self.flight.max);
        self.rack.on_sent(self.now, MSS, retransmitted);
    }

    /// Processes an ACK of all segments below `una`, with SACK blocks.
    fn ack(&mut self, una: u64, blocks: &[(u64, u64)], echo: Option<Time>) -> RecoveryStep {
        self.now += Span::millis(1);
        let blocks = blocks.iter().map(|&(start, end)| (start * MSS, end * MSS));
        let summary = self.rtx_queue.on_ack(self.now, una * MSS, echo, blocks);
        let advanced = una * MSS > self.flight.una;
        self.flight.una = una * MSS;
        let ack = AckSegment {
            acknowledgement: una * MSS,
            echo: echo.into(),
            ..AckSegment::default()
        };
        let mut handle = WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            None,
            &mut self.journal,
            self.now,
        );
        self.rack
            .on_ack(self.now, &summary, &ack, advanced, &mut self.rtx_queue, &mut handle)
    }

    fn timeout(&mut self) {
        self.now += Span::seconds(1);
        let mut handle = WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            None,
            &mut self.journal,
            self.now,
        );
        self.rack
            .on_retransmission_timeout(self.now, &mut self.rtx_queue, &mut handle);
    }

    fn adjust(&mut self, how: WindowAdjustment) {
        WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            None,
            &mut self.journal,
            self.now,
        )
        .adjust(how);
    }

    /// Returns the window and the threshold, in segments.
    fn windows(&self) -> (u64, u64) {
        let segments = |bytes: f64| bytes as u64 / MSS;
        (segments(self.flight.cwnd()), segments(self.flight.ssthresh()))
    }
}

/// tcp_enter_loss: a timeout in state Open halves ssthresh, another timeout of the same segment does not, and a timeout
/// after SND.UNA has advanced does.
#[test]
fn linux_a_series_of_timeouts_reduces_ssthresh_once() {
    let mut sender = TestSender::new(100, 80);
    sender.timeout();
    assert_eq!(sender.windows(), (1, 50));
    sender.send(0);
    sender.timeout();
    sender.send(0);
    sender.timeout();
    assert_eq!(sender.windows(), (1, 50));
    sender.send(0);
    sender.ack(1, &[], None);
    sender.adjust(WindowAdjustment::To((8 * MSS) as f64));
    sender.timeout();
    assert_eq!(sender.windows(), (1, 4));
}

/// tcp_enter_loss: the window was already reduced for losses of the data in flight, so a timeout in state Recovery does
/// not change the threshold. Segments sent within RACK.rtt stay in flight: cwnd becomes their number plus one.
#[test]
fn linux_a_timeout_in_a_recovery_keeps_ssthresh_and_recent_segments() {
    let mut sender = TestSender::new(100, 80);
    let turn = sender.ack(0, &[(1, 10)], None);
    assert!(turn.begins);
    assert_eq!(sender.flight.ssthresh(), (50 * MSS) as f64);
    // RACK.rtt is the RTT of segment 9, 92 ms.
    sender.now += Span::millis(900);
    for segment in 100..103 {
        sender.send(segment);
    }
    sender.now = Time(sender.now.0 - Span::millis(950).0);
    sender.timeout();
    assert_eq!(sender.windows(), (4, 50));
    assert_eq!(sender.rtx_queue.in_flight(sender.flight.max), 3 * MSS);
    assert_eq!(sender.rack.state(), CongestionState::Loss);
}

/// After an undo (tcp_undo_cwnd_reduction), the window is at least prior_cwnd, and the threshold is at least
/// prior_ssthresh, which is three quarters of the window in congestion avoidance (tcp_current_ssthresh): 50 + 25 of 101
/// segments.
#[test]
fn linux_an_undo_restores_three_quarters_of_the_window_as_ssthresh() {
    let spurious = |echo: bool| {
        let mut sender = TestSender::new(101, 20);
        sender.ack(0, &[(1, 10)], None);
        let before = sender.now;
        sender.send(0);
        let echo = if echo { before } else { sender.now };
        sender.ack(101, &[], Some(echo));
        sender.windows()
    };
    assert_eq!(spurious(true), (101, 75));
    assert_eq!(spurious(false), (50, 50));
}

/// tcp_fastretrans_alert: an ECN echo prohibits undoing (`prior_ssthresh = 0`).
#[test]
fn linux_an_ecn_echo_keeps_the_reduction_of_a_recovery_that_is_undone() {
    let mut sender = TestSender::new(101, 20);
    sender.ack(0, &[(1, 10)], None);
    let before = sender.now;
    sender.send(0);
    sender.rack.keep_reduction();
    sender.ack(101, &[], Some(before));
    assert_eq!(sender.windows().1, 50);
}

/// tcp_rack_reo_wnd: the window is min(min_rtt / 4 * steps, srtt), where the number of steps grows up to 255.
#[test]
fn linux_the_reordering_window_grows_to_the_smoothed_rtt() {
    let (min_rtt, srtt) = (Span::millis(100), Some(Span::millis(260)));
    let mut steps = ReorderingWindow::default();
    let windows: Vec<u64> = (0..12)
        .map(|round| {
            let window = steps.of(min_rtt, srtt).0 / Span::millis(1).0;
            steps.grow(round, round + 1);
            window
        })
        .collect();
    assert_eq!(windows, [25, 50, 75, 100, 125, 150, 175, 200, 225, 250, 260, 260]);
    assert_eq!(steps.of(min_rtt, None), Span::millis(325));
}

/// The reordering timer follows tcp_rack_mark_lost: `usecs_to_jiffies(timeout + 2000)`. A timer of n ticks expires n +
/// 1 ticks after the current tick began. At 100 ticks per second, a segment whose wait is 0.3 µs is examined again 20
/// to 30 ms later, after the third duplicate ACK.
#[test]
fn linux_reordering_timer_has_tick_granularity() {
    let mut sender = TestSender::new(10, 20);
    let ms = |ms: u64| Time(Span::millis(ms).0);
    let deadline = |sender: &TestSender, us: u64, wait: u64| {
        sender.rack.reorder_deadline_after(Time(Span::micros(us).0), Span(wait))
    };
    sender.rack.set_hz(100);
    assert_eq!(deadline(&sender, 40_000, 300_000), ms(60));
    assert_eq!(deadline(&sender, 49_000, 300_000), ms(60));
    assert_eq!(deadline(&sender, 49_000, Span::micros(8_001).0), ms(70));
    sender.rack.set_hz(250);
    assert_eq!(deadline(&sender, 49_000, Span::millis(25).0), ms(80));
}
