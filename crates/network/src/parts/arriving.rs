//! Packets from other parts that have not been processed: a merge of batches, each of which is in the order of arrival.

use crate::ip::leaving::{Batch, Mail, Passing};
use crate::packets::Options;
use longpipe_events::Time;
use std::collections::VecDeque;

/// Stands for the arrival of a packet that does not exist.
const NEVER: Time = Time(u64::MAX);

/// Position in the order of batches: the number of the sender, the turn in which it was sent, and its number in the mail.
/// Among packets that arrive at the same time, those of earlier batches come first.
type Position = (usize, u64, usize);

/// A batch with its position.
#[derive(Debug)]
struct Received {
    position: Position,
    batch: Batch,
}

/// Batches of which each arrives after the one before it.
#[derive(Debug, Default)]
struct Chain {
    batches: VecDeque<Received>,
    /// Index of the first packet, in the first batch.
    next: usize,
    /// Arrival of the last packet, and the position of its batch.
    last: (Time, Position),
}

/// All packets that have not been processed.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    chains: Vec<Chain>,
    /// Arrival of the first packet in each chain, or `NEVER`.
    first: Vec<Time>,
    /// Empty batches, whose memory is used again.
    spare: Vec<Batch>,
}

impl Arriving {
    /// Takes the packets that part number `from` has sent in a turn, whose mail is closed.
    pub fn take(&mut self, from: usize, turn: u64, mail: &mut Mail) {
        for (number, own) in mail.batches() {
            let batch = std::mem::replace(own, self.spare.pop().unwrap_or_default());
            let [Some(first), Some(last)] = [batch.packets.first(), batch.packets.last()] else {
                continue;
            };
            let (first, last, position) = (first.arrival(), last.arrival(), (from, turn, number));
            let follows = self.chains.iter().position(|chain| chain.last < (first, position));
            let chain = follows.unwrap_or_else(|| {
                self.chains.push(Chain::default());
                self.first.push(NEVER);
                self.chains.len() - 1
            });
            self.first[chain] = self.first[chain].min(first);
            let chain = &mut self.chains[chain];
            chain.batches.push_back(Received { position, batch });
            chain.last = (last, position);
        }
    }

    /// Returns the arrival of the first packet; a time after all others if there is none.
    pub fn first(&self) -> Time {
        self.first.iter().copied().min().unwrap_or(NEVER)
    }

    /// Removes the packets that arrive by `until`, in the order of their arrival. `process` gets each packet, its options
    /// if it has any but a timestamp, and a time before which no other packet arrives.
    pub fn remove_until(&mut self, until: Time, mut process: impl FnMut(&Passing, Option<&Options>, Time)) {
        loop {
            let (mut number, mut at, mut others) = (0, NEVER, NEVER);
            for (other, &first) in self.first.iter().enumerate() {
                if first < at {
                    (number, at, others) = (other, first, at);
                } else {
                    others = others.min(first);
                }
            }
            if at > until || at == NEVER {
                return;
            }
            // Up to this time, all packets of the chain precede those of other chains.
            let (mut last, simultaneous) = (until, others == at);
            if simultaneous {
                (number, last) = (self.first_of_simultaneous(at), at);
            } else if others <= until {
                last = Time(others.0 - 1);
            }
            let chain = &mut self.chains[number];
            while let Some(Received { batch, .. }) = chain.batches.front() {
                let packets = &batch.packets[chain.next..];
                let mut count = 0;
                while let Some(packet) = packets.get(count).filter(|packet| packet.arrival() <= last) {
                    count += 1;
                    let following = packets.get(count).map_or(packet.arrival(), Passing::arrival);
                    process(packet, batch.options_of(packet), following.min(others));
                    if simultaneous {
                        break;
                    }
                }
                chain.next += count;
                if count < packets.len() {
                    break;
                }
                chain.next = 0;
                if let Some(Received { mut batch, .. }) = chain.batches.pop_front() {
                    batch.clear();
                    self.spare.push(batch);
                }
                if simultaneous {
                    break;
                }
            }
            let first = chain
                .batches
                .front()
                .map(|front| front.batch.packets[chain.next].arrival());
            if first.is_none() {
                chain.last = Default::default();
            }
            self.first[number] = first.unwrap_or(NEVER);
        }
    }

    /// Returns the chain whose first packet precedes all others that arrive at `time`.
    #[cold]
    fn first_of_simultaneous(&self, time: Time) -> usize {
        let chains = (0..self.chains.len()).filter(|&chain| self.first[chain] == time);
        let position = |chain: &usize| self.chains[*chain].batches.front().map(|front| front.position);
        chains.min_by_key(position).unwrap_or(0)
    }

    /// Returns all packets.
    pub fn iter(&self) -> impl Iterator<Item = &Passing> {
        self.chains.iter().flat_map(|chain| {
            let packets = chain.batches.iter().flat_map(|received| &received.batch.packets);
            packets.skip(chain.next)
        })
    }
}
