//! The ACKs that had arrived when segments were sent. A segment echoes the timestamp of the latest ACK that the sender
//! had received (RFC 7323 section 3.2), from which the receiver measures the RTT. Packets contain no echo, so the
//! receiver looks up the position of this ACK among its ACKs.

use crate::congestion::flight::Flight;
use crate::receiver::autotuning::AckOrder;
use longpipe_events::{Ring, Time};

/// A transmission that followed an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transmission {
    sent: Time,
    /// First byte of the segment.
    sequence: u64,
    echoed: AckOrder,
}

/// The transmissions whose segments may still be in transit.
#[derive(Clone, Debug, Default)]
pub(super) struct Echoes {
    transmissions: Ring<Transmission>,
    /// ACK that is echoed by the latest segment.
    latest: AckOrder,
    /// ACK that is echoed by the segment that arrived last.
    arrived: AckOrder,
}

impl Echoes {
    /// Records a transmission.
    #[inline]
    pub fn on_sent(&mut self, sent: Time, sequence: u64, flight: &Flight) {
        let echoed = AckOrder::new(flight.una, flight.duplicates);
        // A timeout resets the number of duplicates.
        if echoed > self.latest {
            self.latest = echoed;
            let transmission = Transmission { sent, sequence, echoed };
            self.transmissions.push(transmission);
        }
    }

    /// Removes and returns the oldest transmission.
    pub fn take_first(&mut self) -> Option<Transmission> {
        self.transmissions.pop()
    }

    /// Adds a transmission, which followed all others.
    pub fn add(&mut self, transmission: Transmission) {
        self.transmissions.push(transmission);
    }

    /// Returns the ACK that a segment echoes, which was sent at `sent` and begins at byte `sequence`. Segments are looked
    /// up in the order in which they arrive; for one that was overtaken, the ACK may be too late.
    #[inline]
    pub fn echoed(&mut self, sent: Time, sequence: u64) -> AckOrder {
        // Of segments sent at one time, the receiver may process the first one before the sender sends the others.
        let precedes = |transmission: &Transmission| {
            (transmission.sent < sent) | ((transmission.sent == sent) & (transmission.sequence <= sequence))
        };
        if let Some(last) = self.transmissions.pop_while(precedes) {
            self.arrived = last.echoed;
        }
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::flight::Limits;

    #[test]
    fn a_segment_echoes_the_latest_ack_before_its_transmission() {
        let (mut echoes, mut flight) = (Echoes::default(), Flight::new(Limits::new(1.0, 1.0), 1000, 100));
        let sent = [
            (10, 0, 0),
            (20, 100, 0),
            (20, 100, 0),
            (20, 200, 0),
            (30, 200, 1),
            (30, 200, 0),
            (40, 300, 0),
        ];
        for ((time, una, duplicates), sequence) in sent.into_iter().zip((100..).step_by(100)) {
            (flight.una, flight.duplicates) = (una, duplicates);
            echoes.on_sent(Time(time), sequence, &flight);
        }
        let found: Vec<_> = sent
            .into_iter()
            .zip((100..).step_by(100))
            .map(|((time, ..), sequence)| echoes.echoed(Time(time), sequence))
            .collect();
        let expected = [(0, 0), (100, 0), (100, 0), (200, 0), (200, 1), (200, 1), (300, 0)];
        assert_eq!(
            found,
            expected.map(|(number, duplicates)| AckOrder::new(number, duplicates))
        );
        assert!(echoes.transmissions.is_empty());
    }
}
