//! A congestion control alone with its window, for tests.

use super::control::{Ack, Cause};
use super::limits::Limits;
use super::{Congestion, CongestionConfig};
use crate::flight::Flight;
use longpipe_events::Time;

/// Payload of a segment [byte].
const MSS: u32 = 1000;

/// A window that a control moves, and no network; windows are in segments.
#[derive(Debug)]
pub struct Trial {
    control: Congestion,
    flight: Flight,
}

impl Trial {
    /// Past slow start.
    pub fn new(config: &CongestionConfig, window: f64) -> Trial {
        Trial::with_threshold(config, window, 0.0)
    }

    /// In slow start, if the window is below the threshold.
    pub fn with_threshold(config: &CongestionConfig, window: f64, threshold: f64) -> Trial {
        let [window, threshold] = [window, threshold].map(|segments| segments * f64::from(MSS));
        Trial {
            control: Congestion::new(config),
            flight: Flight::new(Limits::new(window, threshold), 1 << 40, MSS),
        }
    }

    /// The window.
    pub fn window(&self) -> f64 {
        self.flight.cwnd() / self.flight.mss()
    }

    /// The window after an ACK of a segment that lets it grow.
    pub fn ack(&mut self) -> f64 {
        let in_flight = self.flight.window();
        let ack = Ack {
            now: Time::ZERO,
            acked: u64::from(MSS),
            grows: true,
            delivered: u64::from(MSS),
            lost: 0,
            marked: 0,
            in_flight,
            cwnd: self.flight.cwnd(),
            window_limited: true,
            rtt: None,
            srtt: None,
            least_rtt: None,
            rate: None,
        };
        self.control.on_ack(&ack, &mut self.flight);
        self.window()
    }

    /// The window after an ACK of each segment in it.
    pub fn round_trip(&mut self) -> f64 {
        for _ in 0..self.window() as u64 {
            self.ack();
        }
        self.window()
    }

    /// Window and threshold after a reduction.
    pub fn reduce(&mut self, cause: Cause) -> (f64, f64) {
        self.control.on_reduction(cause, Time::ZERO, &mut self.flight);
        (self.window(), self.flight.ssthresh() / self.flight.mss())
    }

    /// The mean window by time where one segment in `period` is lost, once that is all the same.
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
