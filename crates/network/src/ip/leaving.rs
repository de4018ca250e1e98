//! Packets that leave a part of a run on several threads for another part (`parts/`).

use super::routes::Routes;
use crate::hosts::reports::PacketFate;
use crate::packets::queued_options::Queued;
use crate::packets::{Flow, Link, Options};
use longpipe_tcp::sender::Transmission;
use std::sync::Arc;

/// Where packets go at the end of each link.
#[derive(Clone, Debug)]
pub(crate) struct Destinations {
    /// Number of the part that owns the port at the beginning of each link.
    pub port: Vec<u32>,
    /// Number of the part in which the packets of each link continue; `BY_NEXT_LINK` if it is that of their next port.
    pub end: Vec<u32>,
}

/// Stands for the part that owns a packet's next port.
pub(crate) const BY_NEXT_LINK: u32 = u32::MAX;

/// A packet on its way to another part. Options other than timestamps are in `Mail::options`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    pub queued: Queued,
    /// Link over which it arrives.
    pub link: Link,
    /// Index of its options, if it has options other than a timestamp.
    options: u32,
}

/// What one part sends to another one in a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mail {
    pub packets: Vec<Passing>,
    options: Vec<Options>,
    pub fates: Vec<PacketFate>,
    /// Transmissions from which receivers measure RTTs.
    pub transmissions: Vec<(Flow, Transmission)>,
}

impl Mail {
    /// Returns whether nothing is sent.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.fates.is_empty() && self.transmissions.is_empty()
    }

    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, link: Link, queued: Queued, options: &Options) {
        let index = self.options.len() as u32;
        if queued.next.packet.has_other_options() {
            self.options.push(*options);
        }
        let options = index;
        self.packets.push(Passing { queued, link, options });
    }

    /// Moves all packets of another mail to the end of this one.
    pub fn take_packets(&mut self, other: &mut Mail) {
        let before = self.options.len() as u32;
        let moved = other.packets.drain(..).map(|packet| Passing {
            options: packet.options + before,
            ..packet
        });
        self.packets.extend(moved);
        self.options.append(&mut other.options);
    }

    /// Returns the options of a packet.
    #[inline]
    pub fn options_of(&self, packet: &Passing) -> Options {
        match packet.queued.next.packet.has_other_options() {
            true => self.options[packet.options as usize],
            false => Options::of_stamp(packet.queued.stamp),
        }
    }

    /// Removes the first `count` packets, and all options if no packet is left.
    pub fn remove_first(&mut self, count: usize) {
        self.packets.drain(..count);
        if self.packets.is_empty() {
            self.options.clear();
        }
    }
}

/// Packets that leave a part.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    /// Number of this part.
    part: u32,
    destinations: Arc<Destinations>,
    /// Packets that leave for each part, by the number of the part.
    pub mails: Vec<Mail>,
}

impl Leaving {
    /// Returns the state of a part before any packet has left.
    pub fn new(part: u32, parts: usize, destinations: Arc<Destinations>) -> Leaving {
        Leaving {
            part,
            destinations,
            mails: vec![Mail::default(); parts],
        }
    }

    /// Takes a packet that was sent over a link, if it continues in another part. Returns whether it does so.
    pub fn take(&mut self, routes: &Routes, link: Link, queued: Queued, options: &Options) -> bool {
        let part = match self.destinations.end[link.index()] {
            BY_NEXT_LINK => self.destinations.port[routes.next_link(&queued.next.packet).index()],
            part => part,
        };
        let leaves = part != self.part;
        if leaves {
            self.mails[part as usize].push(link, queued, options);
        }
        leaves
    }
}
