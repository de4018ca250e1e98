//! Conditioners of a port (RFC 2475 section 2.3.3): policers between the arrival of a packet and the queue discipline, and a shaper
//! between that and the transmitter; jitter and reordering on the wire.

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

/// Decision of a conditioner about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The packet continues.
    Pass,
    /// The packet continues and is marked if it is ECN-capable; otherwise it is dropped for this cause.
    Mark(DropCause),
    /// The packet is dropped.
    Drop(DropCause),
}

/// A conditioner before the queue discipline.
#[derive(Clone, Debug)]
enum Conditioner {
    Policer(Policer),
}

/// The conditioners before the queue discipline of one port, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditioners(Vec<Conditioner>);

impl Conditioners {
    /// Idle conditioners for flows with this many circuits (two for each flow).
    pub fn new(configs: &[ConditionerConfig], circuits: usize) -> Conditioners {
        let conditioner = |config: &ConditionerConfig| match config {
            ConditionerConfig::Policer(policer) => Some(Conditioner::Policer(Policer::new(policer, circuits))),
            _ => None,
        };
        Conditioners(configs.iter().filter_map(conditioner).collect())
    }

    /// A packet arrives: returns it, marked if a conditioner marks it, or why a conditioner drops it.
    pub fn arrive(&mut self, now: Time, packet: Packet) -> Result<Packet, DropCause> {
        self.0.iter_mut().try_fold(packet, |packet, conditioner| {
            let decision = match conditioner {
                Conditioner::Policer(policer) => policer.decide(now, packet.vc(), u32::from(packet.bytes())),
            };
            match decision {
                Decision::Pass => Ok(packet),
                Decision::Mark(_) if packet.is_capable() => Ok(packet.marked()),
                Decision::Mark(cause) | Decision::Drop(cause) => Err(cause),
            }
        })
    }
}
