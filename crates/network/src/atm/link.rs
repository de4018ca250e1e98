//! A directed link: a wire and whatever feeds it.

use crate::atm::interface::Nic;
use crate::atm::port::moving::Moving;
use crate::atm::port::sweep::Account;
use crate::atm::port::trains::TrainPort;
use crate::atm::port::transit::Transit;
use crate::atm::port::Port;
use crate::packets::ring::Ring;
use crate::packets::Circuit;
use crate::packets::{OnWire, Options};
use crate::scenario::ends::LinkEnd;
use longpipe_events::Time;

/// A wire with its feed and its far end.
#[derive(Clone, Debug)]
pub struct FedWire {
    /// Where it ends.
    pub end: LinkEnd,
    /// What feeds it.
    pub feed: Feed,
    /// The host at its end gets frames ahead of time up to this instant.
    pub quiet_until: Time,
    /// Frames that will have arrived whole at the host where the wire ends.
    pub deliveries: Deliveries,
}

/// What puts cells on a wire.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A host's interface.
    Nic(Nic),
    /// A switch's port, cell by cell.
    Port(Port),
    /// Either, of a link that moves.
    Moving(Box<Moving>),
    /// A switch's port that takes frames as trains of cells.
    Trains(Box<TrainPort>),
    /// A switch's port behind one of those, or of the next.
    Transit(Transit),
    /// A switch's port that sweeps, and at last what it has counted.
    Swept(Box<Account>),
    /// The VBR source of this number, whose cells the port at the link's end looks after.
    Vbr(usize),
}

/// Frames that wait for the event of their arrival at a host, in order.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    packets: Ring<OnWire>,
    /// Options of those that have any, in the same order.
    options: Ring<Options>,
}

impl Deliveries {
    /// Adds a frame's packet; `options` are its own if it has any.
    pub fn push(&mut self, next: OnWire, options: &Options) {
        self.packets.push(next);
        if next.packet.has_options() {
            self.options.push(*options);
        }
    }

    /// Takes the first one, and its options if it has any.
    pub fn pop(&mut self, options: &mut Options) -> Option<OnWire> {
        let next = self.packets.pop()?;
        if next.packet.has_options() {
            *options = self.options.pop().unwrap_or_default();
        }
        Some(next)
    }

    /// The first one.
    pub fn first(&self) -> Option<&OnWire> {
        self.packets.first()
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.packets.len()
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl FedWire {
    /// When the wire wants to be looked at next, and the VC of what arrives then.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, Circuit)> {
        match &self.feed {
            Feed::Nic(nic) => nic.head(),
            Feed::Port(_) if self.end.host => self.deliveries.first().map(|next| (next.arrival, next.packet.vc())),
            Feed::Moving(port) if port.host || !self.end.host => port.head(),
            Feed::Moving(_) | Feed::Trains(_) | Feed::Transit(_) | Feed::Swept(_) if self.end.host => {
                self.deliveries.first().map(|next| (next.arrival, next.packet.vc()))
            }
            Feed::Port(port) => port.head(),
            Feed::Moving(_) | Feed::Trains(_) | Feed::Transit(_) | Feed::Swept(_) | Feed::Vbr(_) => None,
        }
    }
}
