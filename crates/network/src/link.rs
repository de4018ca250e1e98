//! A directed link: a wire and whatever feeds it.

use crate::aal5::Cell;
use crate::nic::Nic;
use crate::port::Port;
use longpipe_events::Time;

/// A link fed by a host's interface or by a switch's port.
#[derive(Clone, Debug)]
pub enum Link {
    /// From a host.
    Nic(Nic),
    /// From a switch.
    Port(Port),
}

impl Link {
    /// When the next cell arrives downstream, and its VC.
    #[inline]
    pub fn head(&self) -> Option<(Time, u32)> {
        match self {
            Link::Nic(nic) => nic.head(),
            Link::Port(port) => port.head(),
        }
    }

    /// Takes the head cell off the wire at `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Cell> {
        match self {
            Link::Nic(nic) => Some(nic.pop()),
            Link::Port(port) => port.pop(now),
        }
    }
}
