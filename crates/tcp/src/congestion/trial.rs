//! Test support: a congestion controller with a window but without a sender or a network, and ACKs for it.

use crate::congestion::control::{Ack, AckSample, Cause, RecoveryPhase, Usage};
use crate::congestion::flight::Flight;
use crate::congestion::flight::Limits;
use crate::congestion::{Congestion, CongestionConfig};
use longpipe_events::{Span, Time};

/// Payload of a segment [byte].
const MSS: u32 = 1000;

/// Returns an ACK of `acked` bytes in order, for an unpaced sender in Linux's Open state that fills its window.
/// `flight` already reflects the new SND.UNA.
pub fn ack_of(acked: u64, now: Time, rtt: Option<Span>, flight: &Flight) -> Ack {
    let in_flight = flight.outstanding();
    Ack {
        now,
        acked,
        grows: true,
        open: true,
        phase: RecoveryPhase::Open,
        delivered: acked,
        lost: 0,
        marked: 0,
        in_flight_before: in_flight + acked,
        in_flight,
        cwnd: flight.cwnd(),
        window_limited: true,
        usage: Usage::of(true, 0),
        rtt,
        seq_rtt: rtt,
        srtt: rtt,
        least_rtt: rtt,
        delay: None,
        rate: None,
        held: Span(0),
        paced: false,
        reordered: false,
    }
}

/// A congestion controller and its window. Windows are in segments.
#[derive(Debug)]
pub struct Trial {
    control: Congestion,
    flight: Flight,
    now: Time,
    rtt: Option<Span>,
    least_rtt: Option<Span>,
    /// One-way delay that ACKs report.
    pub delay: Option<Span>,
}

impl Trial {
    /// Returns a trial in congestion avoidance.
    pub fn new(config: &CongestionConfig, window: f64) -> Trial {
        Trial::with_threshold(config, window, 0.0)
    }

    /// Returns a trial with the given ssthresh; the trial is in slow start if the window is smaller.
    pub fn with_threshold(config: &CongestionConfig, window: f64, threshold: f64) -> Trial {
        let [window, threshold] = [window, threshold].map(|segments| segments * f64::from(MSS));
        Trial {
            control: Congestion::new(config),
            flight: Flight::new(Limits::new(window, threshold), 1 << 40, MSS),
            now: Time::ZERO,
            rtt: None,
            least_rtt: None,
            delay: None,
        }
    }

    /// Sets the round-trip time: ACKs arrive as for evenly spaced segments and carry RTT samples.
    pub fn over(mut self, rtt: Span) -> Trial {
        self.rtt = Some(rtt);
        self.least_rtt = self.least_rtt.min(self.rtt).or(self.rtt);
        self
    }

    /// Returns the window.
    pub fn window(&self) -> f64 {
        self.flight.cwnd() / self.flight.mss()
    }

    /// Acknowledges one segment while growth is allowed. Returns the window.
    pub fn ack(&mut self) -> f64 {
        let gap = self.rtt.map_or(0.0, |rtt| rtt.0 as f64 / self.window());
        self.ack_after(Span(gap as u64), true)
    }

    /// Acknowledges one segment `gap` after the previous ACK, and returns the window; `used_up` says whether the window
    /// was full.
    pub fn ack_after(&mut self, gap: Span, used_up: bool) -> f64 {
        self.now += gap;
        let in_flight = if used_up { self.flight.window() } else { u64::from(MSS) };
        self.flight.nxt = self.flight.una + in_flight.max(u64::from(MSS));
        self.flight.max = self.flight.nxt;
        self.flight.una += u64::from(MSS);
        let ack = Ack {
            in_flight_before: in_flight + u64::from(MSS),
            in_flight,
            window_limited: used_up,
            usage: Usage::of(used_up, in_flight + u64::from(MSS)),
            least_rtt: self.least_rtt,
            delay: self.delay,
            ..ack_of(u64::from(MSS), self.now, self.rtt, &self.flight)
        };
        let sample = AckSample {
            now: self.now,
            acked: ack.acked,
            delivered: ack.delivered,
            marked: ack.marked,
            rtt: ack.rtt,
            has_sack_blocks: false,
            paced: false,
            delay: None,
            delivered_since_sent: None,
        };
        self.control.on_sample(&sample, &mut self.flight);
        self.control.on_ack(&ack, &mut self.flight);
        self.window()
    }

    /// Acknowledges segments until a given time, and returns the window.
    pub fn until(&mut self, instant: Span) -> f64 {
        while self.now < Time(instant.0) {
            self.ack();
        }
        self.window()
    }

    /// Acknowledges segments until the window reaches `window`, and returns the time.
    pub fn reach(&mut self, window: f64) -> Time {
        while self.window() < window {
            self.ack();
        }
        self.now
    }

    /// Returns ssthresh.
    pub fn threshold(&self) -> f64 {
        self.flight.ssthresh() / self.flight.mss()
    }

    /// Acknowledges each segment of one window, and returns the new window.
    pub fn round_trip(&mut self) -> f64 {
        for _ in 0..self.window() as u64 {
            self.ack();
        }
        self.window()
    }

    /// Requests a reduction, and returns the window and ssthresh.
    pub fn reduce(&mut self, cause: Cause) -> (f64, f64) {
        self.control.on_reduction(cause, self.now, &mut self.flight);
        (self.window(), self.threshold())
    }

    /// Ends a recovery, and returns the window and ssthresh.
    pub fn recover(&mut self) -> (f64, f64) {
        self.control.on_recovered(false, self.now, &mut self.flight);
        (self.window(), self.threshold())
    }

    /// Returns the time average of the window in the periodic steady state if one segment in `period` is lost.
    pub fn mean_window(&mut self, period: u64) -> f64 {
        let mut cycle = || {
            self.reduce(Cause::FastRetransmit);
            (0..period).map(|_| 1.0 / self.ack()).sum::<f64>()
        };
        for _ in 0..100 {
            cycle();
        }
        let cycles = 10;
        (cycles * period) as f64 / (0..cycles).map(|_| cycle()).sum::<f64>()
    }
}
