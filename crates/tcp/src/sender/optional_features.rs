//! Sender features that few connections use: the handshake, the ssthresh estimate from the first ACKs, the window
//! restart after an idle period, and ECN. A sender that uses none of them holds one null pointer instead of this state.

use crate::config::TcpConfig;
use crate::sender::ecn::Marks;
use crate::sender::handshake::Handshake;
use crate::sender::hoe::HoeEstimator;
use longpipe_events::Time;

/// State of the optional features; None for each feature that is off.
#[derive(Clone, Debug)]
pub struct OptionalFeatures {
    hoe: Option<HoeEstimator>,
    /// Restart window after an idle period [byte], and the time at which the latest segment left; None if idle periods
    /// do not affect the window.
    idle_restart: Option<(f64, Time)>,
    /// ECN state.
    pub marks: Option<Marks>,
    /// State of the handshake; None once the connection is established.
    pub handshake: Option<Handshake>,
}

impl OptionalFeatures {
    /// Returns None if the configuration uses none of the optional features.
    pub fn new(config: &TcpConfig, initial_window: f64) -> Option<Box<OptionalFeatures>> {
        (config.estimate_ssthresh || config.idle_restart || config.handshake || !config.ecn.is_off()).then(|| {
            Box::new(OptionalFeatures {
                hoe: config.estimate_ssthresh.then_some(HoeEstimator::First { sent: None }),
                idle_restart: config.idle_restart.then_some((initial_window, Time::ZERO)),
                marks: Marks::new(config.ecn),
                handshake: config.handshake.then(|| Handshake::new(config.syn_bytes())),
            })
        })
    }

    /// Returns whether a sender with RACK may process in-order ACKs by a shortcut.
    #[inline]
    pub fn permit_in_order(&self) -> bool {
        self.hoe.is_none() && self.handshake.is_none()
    }

    /// Returns whether ECN whose marks ACKs report by ECE alone is the only feature in use.
    pub fn are_ecn_flags(&self) -> bool {
        let alone = self.permit_in_order() && self.idle_restart.is_none();
        alone && self.marks.as_ref().is_some_and(Marks::are_flags)
    }

    /// Returns whether the next new segment carries CWR.
    #[inline]
    pub fn sends_cwr(&self) -> bool {
        self.marks.as_ref().is_some_and(Marks::sends_cwr)
    }

    /// Returns whether no feature is in use any longer.
    pub fn is_nothing(&self) -> bool {
        self.permit_in_order() && self.marks.is_none() && self.idle_restart.is_none()
    }

    /// Processes an ACK. Once the first ACKs have arrived, returns the estimated bandwidth-delay product [segment].
    #[cold]
    pub fn on_ack(&mut self, now: Time) -> Option<u64> {
        self.hoe.as_mut().and_then(|hoe| hoe.on_ack(now))
    }

    /// Records the departure of a segment, for senders without handshake and ssthresh estimation.
    #[inline]
    pub fn on_sent_if_restart_only(&mut self, now: Time) {
        if let Some((_, latest)) = &mut self.idle_restart {
            *latest = now;
        }
    }

    /// Records the departure of a segment, for all other senders.
    #[cold]
    pub fn on_sent(&mut self, now: Time) {
        self.on_sent_if_restart_only(now);
        if let Some(hoe) = &mut self.hoe {
            hoe.on_sent(now);
        }
    }

    /// Returns the restart window [byte] after an idle period and the time at which the latest segment left.
    pub fn idle_restart(&self) -> Option<(f64, Time)> {
        self.idle_restart
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::Sender;
    use crate::{config, AckSegment};
    use longpipe_events::Span;

    const MSS: u64 = 512;

    /// Returns the number of segments that are sent at once when 100 segments are written at a time `idle` after the
    /// ACK of the first 64 segments.
    fn burst_after(idle: Span, idle_restart: bool) -> usize {
        let config = TcpConfig {
            idle_restart,
            initial_window_segments: 4,
            ..config::tests::config()
        };
        let mut sender = Sender::new(&config, Span(0));
        sender.write_up_to(64 * MSS);
        let mut now = Time(0);
        while !sender.is_done() {
            while sender.poll_transmit(now).is_some() {}
            now += Span::seconds(1);
            let acknowledgement = sender.flight().nxt;
            sender.on_ack(
                now,
                &AckSegment {
                    acknowledgement,
                    ..AckSegment::default()
                },
            );
        }
        now += idle;
        sender.write_up_to(164 * MSS);
        std::iter::from_fn(|| sender.poll_transmit(now)).count()
    }

    #[test]
    fn rfc_5681_section_4_1_an_idle_connection_restarts_from_the_initial_window() {
        let (short, long) = (Span(1), Span::seconds(100));
        let kept = burst_after(short, true);
        assert!(kept > 4, "{kept}");
        assert_eq!(burst_after(long, true), 4);
        assert_eq!(burst_after(long, false), kept);
        assert_eq!(burst_after(short, false), kept);
    }
}
