//! The sending interface of a host: an unlimited FIFO.

use crate::impairments::loss::Loss;
use crate::ip::port::line::{Line, Repeated};
use crate::report::packets::PacketReport;
use longpipe_events::{Rate, Time};

/// The sending interface of a host.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Rate of the link.
    pub rate: Rate,
    loss: Option<Box<Loss>>,
    /// Number of packets accepted.
    pub packets_in: u64,
    /// Bytes of the packets accepted.
    pub bytes_in: u64,
    /// Packets dropped by injected loss.
    pub lost_injected: u64,
    /// Bytes of the lost packets.
    pub bytes_lost: u64,
}

impl Interface {
    /// Creates an idle interface.
    pub fn new(rate: Rate, loss: Option<Box<Loss>>) -> Interface {
        Interface {
            rate,
            loss,
            packets_in: 0,
            bytes_in: 0,
            lost_injected: 0,
            bytes_lost: 0,
        }
    }

    /// Processes a packet that may leave at `ready` or later, if the line's `repeat` does not apply. Returns its
    /// departure time, unless injected loss drops it.
    #[inline(always)]
    pub fn queue(&mut self, line: &mut Line, ready: Time, bytes: u16) -> Option<Time> {
        self.count_repeated(line);
        let size = u64::from(bytes);
        self.packets_in += 1;
        self.bytes_in += size;
        if self.loss.as_mut().is_some_and(|loss| loss.loses(ready)) {
            self.lost_injected += 1;
            self.bytes_lost += size;
            return None;
        }
        line.check_backlog(ready);
        Some(line.send(ready, bytes, self.rate))
    }

    /// Counts the packets that the line transmitted with `repeat`.
    #[inline]
    pub fn count_repeated(&mut self, line: &mut Line) {
        let Repeated { packets, bytes, .. } = line.take_repeated();
        self.packets_in += packets;
        self.bytes_in += packets * bytes;
    }

    /// Returns the report of the interface at `now`. `packets_held` packets, which have `bytes_held` bytes, have not
    /// arrived at the end of the wire, and count as held.
    pub(crate) fn report(&self, (packets_held, bytes_held): (u64, u64), now: Time) -> PacketReport {
        let bytes_out = self.bytes_in - self.bytes_lost - bytes_held;
        PacketReport {
            host: true,
            packets_in: self.packets_in,
            packets_out: self.packets_in - self.lost_injected - packets_held,
            lost_injected: self.lost_injected,
            packets_held,
            bytes_in: self.bytes_in,
            bytes_out,
            bytes_lost: self.bytes_lost,
            bytes_held,
            utilization: self.rate.share_used(bytes_out, now),
            ..PacketReport::default()
        }
    }
}
