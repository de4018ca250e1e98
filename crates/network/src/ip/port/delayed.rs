//! An output port whose wire's delay alone moves, in order: the port itself stands.

use super::line::Line;
use crate::ip::wire::Port;
use crate::motion::delay::Delay;
use crate::scenario::motion::{Instant, MotionConfig, OrderConfig};
use longpipe_events::Time;

/// A port that stands, and its wire.
#[derive(Clone, Debug)]
pub(crate) struct Delayed {
    /// An interface, or a router's.
    pub port: Port,
    delay: Delay,
    /// The next packet arrives no sooner [ps].
    least: u64,
    /// When the last packet has left.
    left: Time,
}

impl Delayed {
    /// The delay of a link, where nothing else of it moves and its packets keep their order.
    pub(crate) fn only(motion: Option<&MotionConfig>) -> Option<Delay> {
        let MotionConfig {
            service: None,
            delay: Some(delay),
            outages: None,
            order: OrderConfig::Fifo,
        } = motion?
        else {
            return None;
        };
        (delay.at == Instant::End).then(|| Delay::new(delay))
    }

    /// A port and its wire.
    pub(crate) fn new(port: Port, delay: Delay) -> Delayed {
        Delayed {
            port,
            delay,
            least: 0,
            left: Time::ZERO,
        }
    }

    /// A packet is ready to be sent, or arrives at the port; unless it is lost, when it arrives downstream.
    #[inline(never)]
    pub fn send(&mut self, line: &mut Line, ready: Time, bytes: u16, asked: (u32, bool)) -> Option<Time> {
        let departure = self.port.queue(line, ready, bytes, asked)?;
        let arrival = (departure.0 + self.delay.read(departure.0)).max(self.least);
        self.least = arrival + 1;
        self.left = departure;
        Some(Time(arrival))
    }

    /// When the last packet has left.
    pub fn left(&self) -> Time {
        self.left
    }
}
