//! Packets of programs outside the run: they enter at one host, leave at another, and no end point here knows them.

pub(crate) mod ends;

use crate::drops::DropCause;
use crate::packets::in_transit::InTransit;
use crate::packets::packet::foreign_bits;
use crate::packets::payload::Payload;
use crate::packets::{Circuit, Link, Options};
use longpipe_events::Time;

/// Such a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignPacket {
    /// What it is known by outside.
    pub id: u64,
    /// Length of the IP packet [byte].
    pub bytes: u16,
    /// Whether it may be marked (RFC 3168 section 5).
    pub capable: bool,
    /// Whether it was marked before it came.
    pub marked: bool,
}

impl Payload for ForeignPacket {
    fn packet_bytes(&self) -> u32 {
        u32::from(self.bytes)
    }

    fn sequence(&self) -> (u64, bool) {
        (self.id, false)
    }

    fn options(&self) -> Option<Options> {
        None
    }

    fn congestion(&self) -> u64 {
        foreign_bits(self.capable, self.marked)
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has reached its host, marked or not.
    Delivered {
        /// Whether it is marked.
        marked: bool,
    },
    /// It will not.
    Lost {
        /// The link at whose port or on whose wire it was lost, where that is known.
        link: Option<Link>,
        /// Why.
        cause: DropCause,
    },
}

/// What became of a packet, and when; of one whose cells were lost, when the next of its circuit came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When.
    pub time: Time,
    /// The packet.
    pub id: u64,
    /// What.
    pub fate: Fate,
}

/// The packets of a foreign flow that travel as cells, both ways.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    circuits: [InTransit<ForeignPacket>; 2],
    /// Those that were lost before the last one taken off each circuit.
    lost: [Vec<u64>; 2],
}

impl Foreign {
    /// A packet's frame number on its circuit: it stays here, unless what it carries travels along.
    pub fn number(&mut self, vc: Circuit, travels: bool, packet: ForeignPacket) -> u32 {
        self.circuits[vc.way()].number(travels, packet)
    }

    /// The packet of a frame.
    pub fn get(&self, vc: Circuit, frame: u32) -> &ForeignPacket {
        self.circuits[vc.way()].get(frame)
    }

    /// Takes it off its circuit, and those before it, which were lost.
    pub fn take(&mut self, vc: Circuit, frame: u32) -> ForeignPacket {
        let way = vc.way();
        self.lost[way].extend(self.circuits[way].before(frame).map(|packet| packet.id));
        self.circuits[way].take(frame)
    }

    /// Those that were lost before the last one taken.
    pub fn take_lost(&mut self, vc: Circuit) -> Vec<u64> {
        std::mem::take(&mut self.lost[vc.way()])
    }
}
