//! Conditioners of a port (RFC 2475 section 2.3.3): policers between a packet's arrival and the queue discipline; a
//! shaper and aggregation between the queue discipline and the transmitter; jitter and reordering on the wire.

pub(crate) mod aggregation;
mod correlated;
pub(crate) mod duplication;
pub(crate) mod jitter;
mod policer;
pub(crate) mod tbf;
mod token_bucket;

use crate::drops::DropCause;
use crate::packets::Packet;
use crate::scenario::conditioners::ConditionerConfig;
use longpipe_events::Time;
use policer::Policer;

/// A policer's decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The packet continues.
    Pass,
    /// The packet continues and is marked if it is ECN-capable; otherwise, it is dropped with the given cause.
    Mark(DropCause),
    /// The packet is dropped.
    Drop(DropCause),
}

/// The policers before the queue discipline of a port, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policers(Vec<Policer>);

impl Policers {
    /// Creates the policers among a link's conditioners, for `circuits` circuits (two per flow).
    pub fn among(configs: &[ConditionerConfig], circuits: usize) -> Policers {
        let policer = |config: &ConditionerConfig| match config {
            ConditionerConfig::Policer(policer) => Some(Policer::new(policer, circuits)),
            _ => None,
        };
        Policers(configs.iter().filter_map(policer).collect())
    }

    /// Returns the arriving packet, which is marked if a policer marks it, or the cause if a policer drops it.
    pub fn arrive(&mut self, now: Time, packet: Packet) -> Result<Packet, DropCause> {
        self.0.iter_mut().try_fold(packet, |packet, policer| {
            match policer.decide(now, packet.vc(), u32::from(packet.bytes())) {
                Decision::Pass => Ok(packet),
                Decision::Mark(_) if packet.is_capable() => Ok(packet.marked()),
                Decision::Mark(cause) | Decision::Drop(cause) => Err(cause),
            }
        })
    }
}
