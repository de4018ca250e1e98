//! A directed link: a wire and whatever feeds it.

use crate::aal5::Cell;
use crate::nic::Nic;
use crate::port::Port;
use crate::topology::LinkEnd;
use longpipe_events::Time;

/// A wire with its feed and its far end.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it ends.
    pub end: LinkEnd,
    /// What puts cells on it.
    pub feed: Feed,
}

/// What puts cells on a wire.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A host's interface.
    Nic(Nic),
    /// A switch's port.
    Port(Port),
}

impl Link {
    /// When the wire wants to be looked at next, and the VC of the cell that arrives then.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, u32)> {
        match &self.feed {
            Feed::Nic(nic) => nic.head(),
            Feed::Port(port) => port.head(),
        }
    }

    /// Takes the next cell that has arrived by `now` off the wire, with its time of arrival.
    #[inline(always)]
    pub fn pop(&mut self, now: Time) -> Option<(Time, Cell)> {
        match &mut self.feed {
            Feed::Nic(nic) => nic.pop(now),
            Feed::Port(port) => port.pop(now),
        }
    }
}
