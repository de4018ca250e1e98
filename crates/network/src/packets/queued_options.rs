//! TCP options of queued packets.

use super::{OnWire, Options, Packet};
use longpipe_events::{MaybeTime, Ring};

/// Options of the packets in a queue, in the order of the packets; packets without options have no entry. A timestamp
/// alone, which is the most frequent case, takes one word.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueuedOptions {
    /// Timestamps of the packets that have no other option.
    stamps: Ring<MaybeTime>,
    /// Options of the other packets that have any.
    others: Ring<Options>,
}

impl QueuedOptions {
    /// Appends the options of a packet, if it has any.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, options: &Options) {
        if packet.has_stamp_alone() {
            self.stamps.push(options.stamp());
        } else if packet.has_options() {
            self.others.push(*options);
        }
    }

    /// Appends the timestamp of a packet that has no other option; `stamp` is ignored if the packet has none.
    #[inline(always)]
    pub fn push_stamp(&mut self, packet: &Packet, stamp: MaybeTime) {
        if packet.has_stamp_alone() {
            self.stamps.push(stamp);
        }
    }

    /// Removes and returns the options of the first packet of the queue.
    #[inline(always)]
    pub fn pop(&mut self, packet: &Packet) -> Options {
        if packet.has_stamp_alone() {
            return Options::of_stamp(self.stamps.pop().unwrap_or_default());
        }
        match packet.has_options() {
            true => self.others.pop().unwrap_or_default(),
            false => Options::NONE,
        }
    }

    /// Removes and returns the timestamp of the first packet of the queue, which is its only option.
    #[inline(always)]
    pub fn pop_stamp(&mut self) -> MaybeTime {
        self.stamps.pop().unwrap_or_default()
    }

    /// Inserts the options, if any, of packet number `place`, which is already in `packets`.
    pub fn insert(&mut self, options: &Options, (packets, place): (&Ring<OnWire>, u64)) {
        let packet = packets.get(place).packet;
        if packet.has_stamp_alone() {
            let later = later(&self.stamps, (packets, place), Packet::has_stamp_alone);
            self.stamps.insert(self.stamps.tail() - later, options.stamp());
        } else if packet.has_options() {
            let has_others = |packet: &Packet| packet.has_options() && !packet.has_stamp_alone();
            let later = later(&self.others, (packets, place), has_others);
            self.others.insert(self.others.tail() - later, *options);
        }
    }
}

/// Returns the number of packets after number `place` whose options are in `options`; the options of packet `place`
/// itself are not stored yet.
fn later<T: Copy + Default>(
    options: &Ring<T>,
    (packets, place): (&Ring<OnWire>, u64),
    has: impl Fn(&Packet) -> bool,
) -> u64 {
    let later = place + 1..packets.tail();
    // Usually, all packets have options of the same kind.
    match options.len() + 1 == packets.len() {
        true => packets.tail() - later.start,
        false => later.filter(|&number| has(&packets.get(number).packet)).count() as u64,
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
            let (mut queue, mut options, mut expected) = (Ring::default(), QueuedOptions::default(), Vec::new());
            for ((kind, places, leaves), number) in steps.into_iter().zip(1..) {
                let (next, own) = ack(kind, number);
                let place = queue.tail().saturating_sub(places).max(queue.head());
                expected.insert((place - queue.head()) as usize, own);
                queue.insert(place, next);
                if place + 1 == queue.tail() {
                    options.push(&next.packet, &own);
                } else {
                    options.insert(&own, (&queue, place));
                }
                if leaves {
                    let first = queue.pop().unwrap();
                    prop_assert_eq!(options.pop(&first.packet), expected.remove(0));
                }
            }
        }
    }
}
