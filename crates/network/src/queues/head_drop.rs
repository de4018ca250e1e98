//! Drop from front: a packet that finds the buffer full removes the oldest packets, so that senders detect congestion
//! earlier than with tail drop, by one queueing delay (Lakshman, Neidhardt and Ott 1996; Linux: `pfifo_head_drop`). With
//! a limit of the sojourn time, it also removes packets that have waited longer, at the time at which they would leave.

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
pub struct HeadDropConfig {
    /// Longest sojourn time [time]; a packet that has waited longer is dropped when it would leave. Unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 us, 1000 s]", later)]
    pub limit_ps: Option<u64>,
}

impl Parameters for HeadDropConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue);

    fn is_inert_without_queue(&self) -> bool {
        self.limit_ps.is_none()
    }
}

impl Discipline for HeadDropConfig {
    fn disc<T: Queued>(&self, _port: &NewPort<'_>) -> AnyDisc<T> {
        AnyDisc::HeadDrop(HeadDrop {
            backlog: Backlog::default(),
            limit_ps: self.limit_ps.unwrap_or(u64::MAX),
        })
    }
}

/// A FIFO that drops at its head.
#[derive(Clone, Debug)]
pub struct HeadDrop<T> {
    backlog: Backlog<T>,
    limit_ps: u64,
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

    fn dequeue(&mut self, now: Time, mut drop: impl FnMut(T, DropCause)) -> Option<T> {
        loop {
            let packet = self.backlog.pop()?;
            if now.0 - packet.arrival().0 <= self.limit_ps {
                return Some(packet);
            }
            drop(packet, DropCause::Aqm);
        }
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

    /// A packet: its number, which is its time of arrival [ps], and its length.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Packet(u32, u64);

    impl Queued for Packet {
        fn arrival(&self) -> Time {
            Time(u64::from(self.0))
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
                limit_ps: u64::MAX,
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
        assert_eq!(queue.dequeue(Time(9), |_, _| {}), Some(Packet(3, 50)));
    }

    #[test]
    fn packets_beyond_the_sojourn_limit_are_dropped_at_the_head() {
        let port = PortState {
            now: Time::ZERO,
            room_packets: 9,
            room_bytes: 900,
            in_service: true,
            idle_since: None,
        };
        let (mut queue, mut dropped) = (
            HeadDrop {
                backlog: Backlog::default(),
                limit_ps: 10,
            },
            vec![],
        );
        for arrival in [1, 2, 5, 9] {
            queue.enqueue(&port, Packet(arrival, 100), |_, _| {});
        }
        // At 15, the packets of 1 and 2 have waited 14 and 13; the packet of 5 has waited exactly the limit.
        let mut leave = |now| queue.dequeue(Time(now), |packet, cause| dropped.push((packet.0, cause)));
        assert_eq!(leave(15), Some(Packet(5, 100)));
        assert_eq!(leave(20), None);
        assert_eq!(dropped, [(1, DropCause::Aqm), (2, DropCause::Aqm), (9, DropCause::Aqm)]);
        assert_eq!(queue.backlog(), (0, 0));
    }
}
