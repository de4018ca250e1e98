//! A directed link: a wire and whatever feeds it.

use crate::nic::Nic;
use crate::port::trains::TrainPort;
use crate::port::transit::Transit;
use crate::port::Port;
use crate::ring::Ring;
use crate::topology::LinkEnd;
use longpipe_events::Time;

/// A wire with its feed and its far end.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it ends.
    pub end: LinkEnd,
    /// What feeds it.
    pub feed: Feed,
    /// The host at its end gets frames ahead of time up to this instant.
    pub quiet_until: Time,
    /// Frames that will have arrived whole at the host where the wire ends.
    pub deliveries: Ring<Delivery>,
}

/// What puts cells on a wire.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A host's interface.
    Nic(Nic),
    /// A switch's port, cell by cell.
    Port(Port),
    /// A switch's port that takes frames as trains of cells.
    Trains(Box<TrainPort>),
    /// A switch's port behind one of those.
    Transit(Transit),
    /// Whatever a `Wire` of IP packets has in its place.
    Packets,
    /// The VBR source of this number, whose cells the port at the link's end looks after.
    Vbr(usize),
}

/// A frame's arrival at a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// When its last cell arrives.
    pub time: Time,
    /// Its virtual circuit.
    pub vc: u32,
    /// Its number within the circuit.
    pub frame: u32,
}

impl Link {
    /// When the wire wants to be looked at next, and the VC of what arrives then.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, u32)> {
        match &self.feed {
            Feed::Nic(nic) => nic.head(),
            Feed::Port(_) if self.end.host => self.deliveries.first().map(|delivery| (delivery.time, delivery.vc)),
            Feed::Trains(_) | Feed::Transit(_) if self.end.host => {
                self.deliveries.first().map(|delivery| (delivery.time, delivery.vc))
            }
            Feed::Port(port) => port.head(),
            Feed::Trains(_) | Feed::Transit(_) | Feed::Packets | Feed::Vbr(_) => None,
        }
    }
}
