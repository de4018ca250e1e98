//! A directed link: a wire, and the interface or port that feeds it.

use crate::atm::interface::Nic;
use crate::atm::port::classes::VbrQueue;
use crate::atm::port::per_vc::PerVcPort;
use crate::atm::port::time_varying::TimeVaryingCellPort;
use crate::atm::port::trains::TrainPort;
use crate::atm::port::transit::Transit;
use crate::atm::port::{CellPort, CellQueue};
use crate::packets::queued_options::{OtherOptions, Queued};
use crate::packets::Circuit;
use crate::packets::{OnWire, Options};
use crate::scenario::link_ends::LinkEnd;
use longpipe_events::{Ring, Time};

/// A wire, the interface or port that feeds it, and its downstream end.
#[derive(Clone, Debug)]
pub struct FedWire {
    /// Downstream end.
    pub end: LinkEnd,
    /// Feed of the wire.
    pub feed: Feed,
    /// Time up to which the host at the end of the link may receive frames early.
    pub earliest_event: Time,
    /// Frames that wait for their arrival at the host at the end of the link.
    pub deliveries: Deliveries,
}

/// Sources of the cells on a wire.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A host's interface.
    Nic(Nic),
    /// A switch port that is simulated cell by cell.
    Port(CellPort),
    /// A switch port with a queue per VC.
    PerVc(Box<PerVcPort>),
    /// An interface or port of a time-varying link.
    TimeVarying(Box<TimeVaryingCellPort>),
    /// A switch port that processes frames as trains of cells.
    Trains(Box<TrainPort>),
    /// A switch port without a queue, downstream of a train port or of another port without a queue.
    Transit(Transit),
    /// A VBR source, given by its number; its cells are processed by the port at the link's end.
    Vbr(usize),
}

impl Feed {
    /// Returns the port or interface, if it processes each cell.
    pub fn cell_queue(&mut self) -> Option<&mut dyn CellQueue> {
        match self {
            Feed::Port(port) => Some(port),
            Feed::PerVc(port) => Some(&mut **port),
            Feed::TimeVarying(port) => Some(&mut **port),
            Feed::Nic(_) | Feed::Trains(_) | Feed::Transit(_) | Feed::Vbr(_) => None,
        }
    }

    /// Returns the VBR queue, if any.
    pub fn vbr_mut(&mut self) -> Option<&mut VbrQueue> {
        match self {
            Feed::Trains(port) => port.vbr_mut(),
            feed => feed.cell_queue().and_then(CellQueue::vbr_mut),
        }
    }
}

/// Frames that wait for their arrival event at a host, in order.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    packets: Ring<Queued>,
    /// Options of the packets other than timestamps.
    options: OtherOptions,
}

impl Deliveries {
    /// Adds a frame's packet and its options, if any.
    pub fn push(&mut self, next: OnWire, options: &Options) {
        self.packets.push(Queued::new(next, options));
        self.options.push(&next.packet, options);
    }

    /// Removes and returns the first packet, and outputs its options, if any.
    pub fn pop(&mut self, options: &mut Options) -> Option<OnWire> {
        let first = self.packets.pop()?;
        if first.next.packet.has_options() {
            *options = self.options.pop(&first);
        }
        Some(first.next)
    }

    /// Returns the first packet.
    pub fn first(&self) -> Option<&OnWire> {
        self.packets.first().map(|first| &first.next)
    }

    /// Returns the number of frames.
    pub fn len(&self) -> u64 {
        self.packets.len()
    }

    /// Returns whether there are no frames.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl FedWire {
    /// Returns the time and VC of the next arrival at the end of the wire.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, Circuit)> {
        match &self.feed {
            Feed::Nic(nic) => nic.head(),
            Feed::Port(_) | Feed::PerVc(_) if self.end.host => {
                self.deliveries.first().map(|next| (next.arrival, next.packet.vc()))
            }
            Feed::TimeVarying(port) if port.host || !self.end.host => port.wire.first(),
            Feed::TimeVarying(_) | Feed::Trains(_) | Feed::Transit(_) if self.end.host => {
                self.deliveries.first().map(|next| (next.arrival, next.packet.vc()))
            }
            Feed::Port(port) => port.wire.first(),
            Feed::PerVc(port) => port.wire.first(),
            Feed::TimeVarying(_) | Feed::Trains(_) | Feed::Transit(_) | Feed::Vbr(_) => None,
        }
    }
}
