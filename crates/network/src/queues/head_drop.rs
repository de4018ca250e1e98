//! Drop from front: a packet that finds the buffer full removes the oldest packets, so that senders detect congestion
//! earlier than with tail drop, by one queueing delay (Lakshman, Neidhardt and Ott 1996; Linux: `pfifo_head_drop`).

use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Facts, Parameters};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A FIFO queue whose full buffer drops the oldest packets, which senders notice earlier (pfifo_head_drop).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct HeadDropConfig {}

impl Parameters for HeadDropConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue);

    fn is_inert_without_queue(&self) -> bool {
        true
    }
}

impl Discipline for HeadDropConfig {
    fn disc<T: Queued>(&self, _port: &NewPort<'_>) -> AnyDisc<T> {
        let backlog = Backlog::default();
        AnyDisc::HeadDrop(HeadDrop { backlog })
    }
}

/// A FIFO that drops at its head.
#[derive(Clone, Debug)]
pub struct HeadDrop<T> {
    backlog: Backlog<T>,
}

impl<T: Queued> QueueDisc<T> for HeadDrop<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        // A packet that would not fit even into an empty queue removes no other packet.
        let fits = !port.is_full((0, 0), packet.bytes());
        while fits && port.is_full(self.backlog.size(), packet.bytes()) {
            if let Some(oldest) = self.backlog.pop() {
                drop(oldest, DropCause::Overflow);
            }
        }
        self.backlog.push_unless_full(port, packet, drop);
        false
    }

    fn dequeue(&mut self, _now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        self.backlog.pop()
    }

    fn backlog(&self) -> (u64, u64) {
        self.backlog.size()
    }

    fn purge(&mut self, _now: Time, drop: impl FnMut(T)) {
        self.backlog.purge(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet: its number and its length.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Packet(u32, u64);

    impl Queued for Packet {
        fn arrival(&self) -> Time {
            Time::ZERO
        }

        fn bytes(&self) -> u64 {
            self.1
        }

        fn is_capable(&self) -> bool {
            false
        }

        fn mark(&mut self) -> bool {
            false
        }

        fn is_marked(&self) -> bool {
            false
        }
    }

    #[test]
    fn the_oldest_packets_are_dropped_until_a_new_one_fits() {
        let port = PortState {
            now: Time::ZERO,
            room_packets: 3,
            room_bytes: 300,
            in_service: true,
            idle_since: None,
        };
        let (mut queue, mut dropped) = (
            HeadDrop {
                backlog: Backlog::default(),
            },
            vec![],
        );
        for packet in [(1, 100), (2, 50), (3, 50), (4, 50), (5, 200), (6, 301)] {
            let packet = Packet(packet.0, packet.1);
            queue.enqueue(&port, packet, |packet: Packet, _| dropped.push(packet.0));
        }
        // Packet 4 removes one packet. Packet 5 needs 200 of the 300 bytes. Packet 6 is too long for the queue.
        assert_eq!(dropped, [1, 2, 6]);
        assert_eq!(queue.backlog(), (3, 300));
        assert_eq!(queue.dequeue(Time::ZERO, |_, _| {}), Some(Packet(3, 50)));
    }
}
