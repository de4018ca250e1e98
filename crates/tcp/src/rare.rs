//! What few senders do: open with a handshake, estimate ssthresh from the first ACKs, close the window after an idle time, or heed marks.

use crate::config::TcpConfig;
use crate::marks::Marks;
use crate::opener::Opener;
use crate::startup::Startup;
use longpipe_events::Time;

/// The state of each.
#[derive(Clone, Debug)]
pub struct Rare {
    startup: Option<Startup>,
    /// Window to restart from after an idle time [byte], and when the latest segment left; none: it stays.
    idle_restart: Option<(f64, Time)>,
    /// What marks have done.
    pub marks: Option<Marks>,
    /// While the connection is not open.
    pub opener: Option<Opener>,
}

impl Rare {
    /// None if the configuration asks for none of them.
    pub fn new(config: &TcpConfig, initial_window: f64) -> Option<Box<Rare>> {
        (config.estimate_ssthresh || config.idle_restart || config.handshake || !config.ecn.is_off()).then(|| {
            Box::new(Rare {
                startup: config.estimate_ssthresh.then_some(Startup::First { sent: None }),
                idle_restart: config.idle_restart.then_some((initial_window, Time::ZERO)),
                marks: Marks::new(config.ecn),
                opener: config.handshake.then(|| Opener::new(config.syn_bytes())),
            })
        })
    }

    /// Whether nothing but an idle time concerns it.
    #[inline]
    pub fn restarts_only(&self) -> bool {
        self.startup.is_none() && self.marks.is_none() && self.opener.is_none()
    }

    /// Whether nothing does.
    pub fn is_nothing(&self) -> bool {
        self.restarts_only() && self.idle_restart.is_none()
    }

    /// An ACK came; the segments that the path holds, where it shows them.
    #[cold]
    pub fn on_ack(&mut self, now: Time) -> Option<u64> {
        self.startup.as_mut().and_then(|startup| startup.on_ack(now))
    }

    /// A segment leaves, where nothing but an idle time concerns it.
    #[inline]
    pub fn leave(&mut self, now: Time) {
        if let Some((_, latest)) = &mut self.idle_restart {
            *latest = now;
        }
    }

    /// The same otherwise.
    #[cold]
    pub fn on_sent(&mut self, now: Time) {
        self.leave(now);
        if let Some(startup) = &mut self.startup {
            startup.on_sent(now);
        }
    }

    /// The window to restart from after an idle time [byte], and when the latest segment left.
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

    /// Segments that leave at once when 100 are written `idle` after the ACK of the first 64.
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
