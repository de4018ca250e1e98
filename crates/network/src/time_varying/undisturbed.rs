//! Shortcut for links on which nothing drops or holds an admitted packet, and no packet overtakes another: the rate
//! follows steps, and there are neither outages nor jitter nor aggregation. The rate and the delay may vary.

use super::steps::work;
use super::{finish, Exact, Service, TimeVaryingLink, Transmitter};
use longpipe_events::Time;

impl TimeVaryingLink {
    /// Returns whether `transmit_undisturbed` applies to all packets.
    pub fn is_undisturbed(&self) -> bool {
        matches!(self.line, Transmitter::Steps { .. })
            && self.outages.is_none()
            && self.jitter.is_none()
            && self.aggregation.is_none()
            && self.order.is_kept()
    }

    /// Transmits the packet that arrives at `arrival`, after all earlier packets, if `is_undisturbed` holds. Returns the
    /// times of its transmission and its arrival time; they equal those of `admit` and `pass`.
    #[inline(always)]
    pub fn transmit_undisturbed(&mut self, arrival: Time, bytes: u16) -> Option<(Service, Time)> {
        let Transmitter::Steps { steps, free } = &mut self.line else {
            return None;
        };
        if arrival.0 > free.whole {
            *free = Exact {
                whole: arrival.0,
                part: 0,
            };
        }
        let (begins, work) = (Time(free.whole), work(u64::from(bytes)));
        *free = match steps.finish_within_step(*free, work as u64) {
            Some(end) => end,
            None => finish(steps, None, *free, work),
        };
        let service = Service {
            begins,
            ends: Time(free.whole),
        };
        let delivered = service.ends.0 + self.delay.of(begins.0, service.ends.0);
        Some((service, Time(self.order.arrive_in_order(delivered))))
    }
}
