//! Data center TCP: the window is reduced in proportion to the share of marked data (RFC 8257 section 3.3), with the
//! arithmetic of tcp_dctcp.c.

use crate::congestion::control::Cause;
use crate::congestion::linux::{AckedSegments, CaState, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::{Facts, MarkFeedback, Parameters};
use longpipe_json::FromJson;
use serde::Serialize;

/// Reduces cwnd by the share of marked data (RFC 8257); needs tcp.ecn = 'dctcp' or 'accurate'.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "DCTCP")]
#[described(fact(
    "after_loss",
    "half of the window, as any sender does after a loss (RFC 8257 section 3.5)"
))]
#[described(fact(
    "after_mark",
    "1 - alpha/2 of the window, alpha being the share of marked data (RFC 8257 section 3.3)"
))]
pub struct DctcpConfig {
    /// Weight g of the latest window's share of marks; RFC 8257 section 4.2.
    #[field(range = "(0, 1]", default = 0.0625)]
    pub gain: f64,
    /// Initial estimate alpha of the share of marks; RFC 8257 section 3.3.
    #[field(range = "[0, 1]", default = 1.0)]
    pub initial_alpha: f64,
}

impl Parameters for DctcpConfig {
    const FACTS: Facts = Facts {
        needs_marks: MarkFeedback::Share,
        ..Facts::DEFAULT
    };
}

/// State of a sender that uses `tcp_dctcp`.
pub type Dctcp = Linux<DctcpModule>;

/// The share of marked data, smoothed over windows.
#[derive(Clone, Debug)]
pub struct DctcpModule {
    gain: f64,
    /// Estimated share of marked data, in units of 1/1024.
    alpha: u32,
    /// First byte after the current observation window.
    window_end: u64,
    /// Numbers of segments and of marked segments delivered in this observation window.
    delivered: u32,
    marked: u32,
    /// Whether the latest ACK reports marks, so that a reduction is due or in progress.
    echoes: bool,
}

/// Fixed-point value of alpha = 1.
const ONE: u32 = 1024;

impl Module for DctcpModule {
    type Config = DctcpConfig;

    fn new(config: &DctcpConfig) -> DctcpModule {
        DctcpModule {
            gain: config.gain,
            alpha: (config.initial_alpha * f64::from(ONE)).round() as u32,
            window_end: 0,
            delivered: 0,
            marked: 0,
            echoes: false,
        }
    }

    fn init(&mut self, socket: &mut Socket) {
        self.window_end = socket.snd_nxt;
    }

    fn on_acked(&mut self, acked: &AckedSegments, socket: &mut Socket) {
        self.echoes = acked.marked > 0;
        // The kernel counts the data of an ACK before it checks for the end of the observation window (6.1.192).
        self.delivered += acked.delivered;
        self.marked += acked.marked;
        if socket.snd_una >= self.window_end {
            self.update_alpha();
            (self.window_end, self.delivered, self.marked) = (socket.snd_nxt, 0, 0);
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        // After a timeout, marks neither reduce the window nor stop its growth.
        if !self.echoes || socket.ca_state == CaState::Loss {
            socket.grow_as_reno(acked);
        }
    }

    fn ssthresh(&mut self, cause: Cause, socket: &Socket) -> u32 {
        match cause {
            Cause::Mark { .. } => {
                let cut = u64::from(socket.snd_cwnd) * u64::from(self.alpha) / u64::from(2 * ONE);
                (socket.snd_cwnd - cut as u32).max(2)
            }
            Cause::FastRetransmit | Cause::Timeout => socket.halved(),
        }
    }

    /// Also halves the window for a loss during a reduction caused by marks.
    fn set_state(&mut self, state: CaState, socket: &mut Socket) {
        if state == CaState::Recovery && socket.ca_state != CaState::Recovery {
            socket.snd_ssthresh = socket.halved();
        }
    }
}

impl DctcpModule {
    /// Computes alpha = (1 - g) alpha + g F in units of 1/1024. If g alpha rounds to 0, alpha becomes 0.
    fn update_alpha(&mut self) {
        let forgotten = (f64::from(self.alpha) * self.gain) as u32;
        self.alpha -= if forgotten == 0 { self.alpha } else { forgotten };
        if self.marked > 0 {
            let marked = f64::from(self.marked) * f64::from(ONE) * self.gain;
            self.alpha = (self.alpha + (marked / f64::from(self.delivered.max(1))) as u32).min(ONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;

    fn config(initial_alpha: f64) -> CongestionConfig {
        CongestionConfig::Dctcp(DctcpConfig {
            gain: 1.0 / 16.0,
            initial_alpha,
        })
    }

    #[test]
    fn a_mark_reduces_the_window_by_half_of_alpha_and_a_loss_by_half() {
        let mark = Cause::Mark { abe: false };
        assert_eq!(Trial::new(&config(1.0), 100.0).reduce(mark), (50.0, 50.0));
        assert_eq!(Trial::new(&config(0.2), 100.0).reduce(mark), (90.0, 90.0));
        assert_eq!(
            Trial::new(&config(0.2), 100.0).reduce(Cause::FastRetransmit),
            (50.0, 50.0)
        );
    }

    /// tcp_ack of Linux 6.1.192 counts the data that an ACK acknowledges before in_ack_event ends the observation
    /// window. The last of ten segments is marked, so alpha is 1024 - 64 + 64/10.
    #[test]
    fn linux_the_last_ack_of_an_observation_window_counts_in_it() {
        let (mut module, mut socket) = (
            DctcpModule::new(&DctcpConfig {
                gain: 1.0 / 16.0,
                initial_alpha: 1.0,
            }),
            Socket::new(),
        );
        socket.snd_nxt = 10;
        module.init(&mut socket);
        for segment in 1..=10 {
            socket.snd_una = segment;
            let acked = AckedSegments {
                acked: 1,
                delivered: 1,
                marked: u32::from(segment == 10),
                ..AckedSegments::default()
            };
            module.on_acked(&acked, &mut socket);
        }
        assert_eq!((module.alpha, module.delivered), (966, 0));
    }

    #[test]
    fn alpha_falls_by_a_sixteenth_in_each_window_without_marks() {
        let mut trial = Trial::new(&config(1.0), 100.0);
        for _ in 0..16 {
            trial.round_trip();
        }
        let before = trial.window();
        let (after, _) = trial.reduce(Cause::Mark { abe: false });
        let alpha = 2.0 * (1.0 - after / before);
        assert!((alpha - (15.0f64 / 16.0).powi(16)).abs() < 0.05, "{alpha}");
    }
}
