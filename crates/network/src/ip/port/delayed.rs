//! An output port with a time-varying propagation delay; the rate is constant, and packets keep their order.

use super::any_port::Port;
use super::line::Line;
use crate::scenario::time_varying::{Instant, OrderConfig, TimeVaryingConfig};
use crate::time_varying::delay::Delay;
use longpipe_events::Time;

/// A static port, and its wire with a varying delay.
#[derive(Clone, Debug)]
pub(crate) struct Delayed {
    /// Port of a host or of a router.
    pub port: Port,
    delay: Delay,
    /// Earliest time [ps] of the next arrival, which keeps packets in order: 1 ps after the previous arrival.
    earliest_arrival: u64,
    /// Departure time of the last packet.
    last_departure: Time,
}

impl Delayed {
    /// Returns the delay of a link on which only the delay varies and packets keep their order; None for other links.
    pub(crate) fn delay_only(motion: Option<&TimeVaryingConfig>) -> Option<Delay> {
        let TimeVaryingConfig {
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

    /// Creates a port and its wire.
    pub(crate) fn new(port: Port, delay: Delay) -> Delayed {
        Delayed {
            port,
            delay,
            earliest_arrival: 0,
            last_departure: Time::ZERO,
        }
    }

    /// Processes a packet that arrives at the port, or is ready at an interface, at `ready`. Returns the packet's
    /// arrival time downstream, unless the packet is lost.
    #[inline(never)]
    pub fn send(&mut self, line: &mut Line, ready: Time, bytes: u16, circuit_and_ecn: (u32, bool)) -> Option<Time> {
        let departure = self.port.queue(line, ready, bytes, circuit_and_ecn)?;
        // Only the end of the transmission determines the delay (`delay_only`), so its start is not needed.
        let delay = self.delay.of(departure.0, departure.0);
        let arrival = (departure.0 + delay).max(self.earliest_arrival);
        self.earliest_arrival = arrival + 1;
        self.last_departure = departure;
        Some(Time(arrival))
    }

    /// Returns the departure time of the last packet.
    pub fn last_departure(&self) -> Time {
        self.last_departure
    }
}
