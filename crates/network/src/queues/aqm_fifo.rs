//! A FIFO with active queue management at enqueue: an algorithm of `policies/aqm.rs` decides whether each arriving packet
//! is admitted, marked or dropped.

use super::{Backlog, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::aqm::{Admission, Aqm};
use crate::policies::{Arrival, Verdict};
use longpipe_events::Time;

/// A queue with its controller.
#[derive(Clone, Debug)]
pub struct AqmFifo<T> {
    aqm: Box<Aqm>,
    backlog: Backlog<T>,
}

impl<T: Queued> AqmFifo<T> {
    /// Creates an empty queue with the given controller.
    pub fn new(aqm: Box<Aqm>) -> AqmFifo<T> {
        AqmFifo {
            aqm,
            backlog: Backlog::default(),
        }
    }
}

impl<T: Queued> QueueDisc<T> for AqmFifo<T> {
    fn enqueue(&mut self, port: &PortState, mut packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let (packets_waiting, bytes_waiting) = self.backlog.size();
        let arrival = Arrival {
            now: port.now,
            bytes: packet.bytes(),
            capable: packet.is_capable(),
            packets_waiting,
            bytes_waiting,
            idle_since: port.idle_since,
        };
        let verdict = self.aqm.decide(&arrival);
        if verdict == Verdict::Refuse {
            drop(packet, DropCause::Aqm);
            return false;
        }
        if port.is_full((packets_waiting, bytes_waiting), arrival.bytes) {
            self.aqm.overflow(port.now);
            drop(packet, DropCause::Overflow);
            return false;
        }
        let marked = verdict == Verdict::Mark && packet.mark();
        self.aqm.enqueue(&arrival);
        self.backlog.push(packet);
        marked
    }

    fn dequeue(&mut self, now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        let packet = self.backlog.pop()?;
        self.aqm.begin_service(now);
        Some(packet)
    }

    fn backlog(&self) -> (u64, u64) {
        self.backlog.size()
    }

    fn purge(&mut self, now: Time, drop: impl FnMut(T)) {
        self.backlog.purge(drop);
        self.aqm.purge(now);
    }

    fn marks_on_arrival(&self) -> bool {
        true
    }
}
