//! A host's interface: unlimited, first in first out.

use crate::impairments::loss::Loss;
use crate::ip::port::line::Line;
use longpipe_events::{Rate, Time};

/// The sending interface of a host.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Of its line.
    pub rate: Rate,
    loss: Option<Box<Loss>>,
    /// Packets that entered.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Packets lost by force.
    pub lost_forced: u64,
    /// Their bytes.
    pub bytes_lost: u64,
}

impl Interface {
    /// An idle interface.
    pub fn new(rate: Rate, loss: Option<Box<Loss>>) -> Interface {
        Interface {
            rate,
            loss,
            packets_in: 0,
            bytes_in: 0,
            lost_forced: 0,
            bytes_lost: 0,
        }
    }

    /// Takes a packet that may leave from `ready` on and that the line may not repeat; unless it is lost by force, when
    /// it leaves.
    #[inline]
    pub fn queue(&mut self, line: &mut Line, ready: Time, bytes: u16) -> Option<Time> {
        self.count_repeated(line);
        let size = u64::from(bytes);
        self.packets_in += 1;
        self.bytes_in += size;
        if self.loss.as_mut().is_some_and(|loss| loss.loses(ready)) {
            self.lost_forced += 1;
            self.bytes_lost += size;
            return None;
        }
        line.check_backlog(ready);
        Some(line.send(ready, bytes, self.rate))
    }

    /// Takes the packets that the line repeated into the counters.
    #[inline]
    pub fn count_repeated(&mut self, line: &mut Line) {
        let (packets, bytes, _) = line.take_repeated();
        self.packets_in += packets;
        self.bytes_in += packets * bytes;
    }
}
