//! A host's interface: unlimited, first in first out.

use super::line::Line;
use crate::loss::Loss;
use longpipe_events::Time;

/// The sending interface of a host.
#[derive(Clone, Debug)]
pub struct Interface {
    line: Line,
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
    pub fn new(line: Line, loss: Option<Box<Loss>>) -> Interface {
        Interface {
            line,
            loss,
            packets_in: 0,
            bytes_in: 0,
            lost_forced: 0,
            bytes_lost: 0,
        }
    }

    /// Takes a packet that may leave from `ready` on; unless it is lost by force, when it arrives downstream.
    #[inline(always)]
    pub fn on_packet(&mut self, ready: Time, bytes: u32) -> Option<Time> {
        self.packets_in += 1;
        self.bytes_in += u64::from(bytes);
        if self.loss.as_mut().is_some_and(|loss| loss.loses(ready)) {
            self.lost_forced += 1;
            self.bytes_lost += u64::from(bytes);
            return None;
        }
        Some(self.line.send(ready, bytes) + self.line.delay())
    }

    /// The transmitter.
    #[inline(always)]
    pub fn line(&self) -> &Line {
        &self.line
    }
}
