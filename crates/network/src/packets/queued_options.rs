//! Packets in queues, with their TCP options.

use super::{Carried, OnWire, Options, Packet};
use longpipe_events::{MaybeTime, Ring};

/// A packet in a queue, with its timestamp, if any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Queued {
    pub next: OnWire,
    pub stamp: MaybeTime,
}

impl Queued {
    /// Returns a packet for a queue; `options` are used only if the packet has any.
    #[inline(always)]
    pub fn new(next: OnWire, options: impl Carried) -> Queued {
        let stamp = options.stamp();
        Queued { next, stamp }
    }
}

/// Options of those packets in a queue that have options other than a timestamp, in the order of the packets. Few packets
/// have them, so they are not stored with the packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherOptions(Ring<Options>);

impl OtherOptions {
    /// Appends the options of the packet that was appended to the queue.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, options: impl Carried) {
        if packet.has_other_options() {
            options.with(|options| self.0.push(*options));
        }
    }

    /// Returns the options of the packet that was removed from the front of the queue, and removes them.
    #[inline(always)]
    pub fn pop(&mut self, first: &Queued) -> Options {
        match first.next.packet.has_other_options() {
            true => self.0.pop().unwrap_or_default(),
            false => Options::of_stamp(first.stamp),
        }
    }

    /// Inserts the options of packet number `place`, which is already in `packets`.
    #[inline(always)]
    pub fn insert(&mut self, options: impl Carried, (packets, place): (&Ring<Queued>, u64)) {
        let has_others = |number: &u64| packets.get(*number).next.packet.has_other_options();
        if has_others(&place) {
            let later = (place + 1..packets.tail()).filter(has_others).count() as u64;
            options.with(|options| self.0.insert(self.0.tail() - later, *options));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Circuit;
    use longpipe_events::Time;
    use longpipe_tcp::segment::SackBlock;
    use longpipe_tcp::AckSegment;
    use proptest::prelude::*;

    /// Returns an ACK without options, with an echoed timestamp, with a SACK block, or with both options.
    fn ack(kind: u8, number: u64) -> (OnWire, Options) {
        let mut ack = AckSegment {
            acknowledgement: number,
            ..AckSegment::default()
        };
        if kind & 1 != 0 {
            ack.echo = Time(number).into();
        }
        if kind & 2 != 0 {
            ack.blocks[0] = SackBlock::new(number as u32, number as u32 + 1);
        }
        let mut options = Options::NONE;
        let packet = Packet::new(Circuit(1), 0, 0, &ack, &mut options);
        let arrival = Time(number);
        (OnWire { arrival, packet }, options)
    }

    proptest! {
        #[test]
        fn each_packet_gets_back_its_options(
            steps in prop::collection::vec((0u8..4, 0u64..8, any::<bool>()), 1..200),
        ) {
            let (mut queue, mut options, mut expected) = (Ring::default(), OtherOptions::default(), Vec::new());
            for ((kind, places, leaves), number) in steps.into_iter().zip(1..) {
                let (next, own) = ack(kind, number);
                let place = queue.tail().saturating_sub(places).max(queue.head());
                expected.insert((place - queue.head()) as usize, own);
                queue.insert(place, Queued::new(next, &own));
                if place + 1 == queue.tail() {
                    options.push(&next.packet, &own);
                } else {
                    options.insert(&own, (&queue, place));
                }
                if leaves {
                    let first = queue.pop().unwrap();
                    prop_assert_eq!(options.pop(&first), expected.remove(0));
                }
            }
        }
    }
}
