//! Packets that leave a part of a run on several threads for another part (`parts/`).

use super::routes::Routes;
use crate::hosts::reports::PacketFate;
use crate::packets::queued_options::Queued;
use crate::packets::{Carried, Flow, Link, OnWire, Options};
use longpipe_events::Time;
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

/// Maximum number of batches of a mail.
const BATCHES: usize = 8;

/// A packet on its way to another part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    pub queued: Queued,
    /// Link over which it arrives.
    pub link: Link,
    /// Index of its options in its batch, if it has options other than a timestamp.
    options: u32,
}

impl Passing {
    /// Returns the time at which the packet arrives.
    #[inline(always)]
    pub fn arrival(&self) -> Time {
        self.queued.next.arrival
    }
}

/// Packets in the order of their arrival, and the options of those that have other options than a timestamp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub packets: Vec<Passing>,
    options: Vec<Options>,
}

impl Batch {
    #[inline(always)]
    fn push(&mut self, link: Link, next: OnWire, carried: impl Carried) {
        let options = self.options.len() as u32;
        if next.packet.has_other_options() {
            carried.with(|carried| self.options.push(*carried));
        }
        let queued = Queued::new(next, carried);
        self.packets.push(Passing { queued, link, options });
    }

    /// Returns the options of a packet if it has any but a timestamp.
    #[inline(always)]
    pub fn options_of(&self, packet: &Passing) -> Option<&Options> {
        let others = packet.queued.next.packet.has_other_options();
        others.then(|| &self.options[packet.options as usize])
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.options.clear();
    }
}

/// What one part sends to another one in a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mail {
    /// Packets in as few batches as keep the order of their arrival. Of packets that arrive at the same time, the first
    /// one pushed is in the same batch or an earlier one.
    batches: [Batch; BATCHES],
    /// Latest arrival [ps] in each batch.
    last: [u64; BATCHES],
    /// Whether a packet in the last batch arrives before packets pushed earlier.
    unordered: bool,
    pub fates: Vec<PacketFate>,
    /// Transmissions from which receivers measure RTTs.
    pub transmissions: Vec<(Flow, Transmission)>,
}

impl Mail {
    /// Returns whether nothing is sent.
    pub fn is_empty(&self) -> bool {
        self.batches[0].packets.is_empty() && self.fates.is_empty() && self.transmissions.is_empty()
    }

    /// Appends a packet.
    #[inline(always)]
    fn push(&mut self, link: Link, next: OnWire, options: impl Carried) {
        let at = next.arrival.0;
        // Usually, data are in the first batch, and ACKs in the second one.
        let batch = match () {
            () if self.last[0] <= at => 0,
            () if self.last[1] <= at => 1,
            () => self.other_batch(at),
        };
        self.last[batch] = self.last[batch].max(at);
        self.batches[batch].push(link, next, options);
    }

    /// Returns the number of the first batch to whose end a packet can be appended that arrives at `at`.
    #[inline(never)]
    fn other_batch(&mut self, at: u64) -> usize {
        let batch = self.last.iter().position(|&last| last <= at);
        self.unordered |= batch.is_none();
        batch.unwrap_or(BATCHES - 1)
    }

    /// Puts all packets in order, so that `first_arrival` and `batches` can be called.
    pub fn close(&mut self) {
        if std::mem::take(&mut self.unordered) {
            self.batches[BATCHES - 1].packets.sort_by_key(Passing::arrival);
        }
        self.last = [0; BATCHES];
    }

    /// Returns the time at which the first packet arrives, if there is one.
    pub fn first_arrival(&self) -> Option<Time> {
        let firsts = self.batches.iter().filter_map(|batch| batch.packets.first());
        firsts.map(Passing::arrival).min()
    }

    /// Returns the batches that have packets, with their numbers.
    pub fn batches(&mut self) -> impl Iterator<Item = (usize, &mut Batch)> {
        let batches = self.batches.iter_mut().enumerate();
        batches.take_while(|(_, batch)| !batch.packets.is_empty())
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
    #[inline(always)]
    pub fn take(&mut self, routes: &Routes, link: Link, next: OnWire, options: impl Carried) -> bool {
        let part = match self.destinations.end[link.index()] {
            BY_NEXT_LINK => self.destinations.port[routes.next_link(&next.packet).index()],
            part => part,
        };
        let leaves = part != self.part;
        if leaves {
            self.mails[part as usize].push(link, next, options);
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Packet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_are_in_order_and_keep_all_packets(arrivals in prop::collection::vec(0u64..40, 1..200)) {
            let mut mail = Mail::default();
            for (number, &arrival) in arrivals.iter().enumerate() {
                let next = OnWire { arrival: Time(arrival), packet: Packet::default() };
                mail.push(Link::new(number), next, &Options::NONE);
            }
            mail.close();
            prop_assert_eq!(mail.first_arrival().map(|first| first.0), arrivals.iter().copied().min());
            let mut all = vec![];
            for (number, batch) in mail.batches() {
                let own: Vec<_> = batch.packets.iter().map(|packet| (packet.arrival().0, packet.link.index())).collect();
                prop_assert!(own.is_sorted());
                all.extend(own.into_iter().map(|(arrival, link)| (arrival, number, link)));
            }
            all.sort_unstable();
            // Simultaneous packets are in the order in which they were pushed.
            let found: Vec<_> = all.into_iter().map(|(arrival, _, link)| (arrival, link)).collect();
            let mut expected: Vec<_> = arrivals.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
