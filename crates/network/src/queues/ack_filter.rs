//! ACK filtering: an arriving ACK removes the waiting ACKs that it supersedes (RFC 3449 section 5.2.1).

use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Facts, Parameters};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A FIFO queue in which a new ACK replaces queued ACKs of its connection that it makes redundant (RFC 3449 5.2.1).
///
/// Duplicate ACKs, ACKs with SACK blocks and ACKs whose ECN feedback differs are kept.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct AckFilterConfig {}

impl Parameters for AckFilterConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue);

    fn is_inert_without_queue(&self) -> bool {
        true
    }
}

impl Discipline for AckFilterConfig {
    fn disc<T: Queued>(&self, _port: &NewPort<'_>) -> AnyDisc<T> {
        let backlog = Backlog::default();
        AnyDisc::AckFilter(AckFilter { backlog })
    }
}

/// A FIFO with ACK filtering.
#[derive(Clone, Debug)]
pub struct AckFilter<T> {
    backlog: Backlog<T>,
}

impl<T: Queued> QueueDisc<T> for AckFilter<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        self.backlog.remove(
            |waiting| packet.supersedes(waiting),
            |removed| drop(removed, DropCause::AckFilter),
        );
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
