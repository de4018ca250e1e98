//! Creates a port's queue discipline according to the policy of its link.

use super::egress_queue::QueuedPacket;
use crate::packets::Circuit;
use crate::policies::aqm::Aqm;
use crate::policies::Policy;
use crate::queues::ack_filter::AckFilter;
use crate::queues::aqm_fifo::AqmFifo;
use crate::queues::cake::{Cake, CakeCircuit};
use crate::queues::codel::Codel;
use crate::queues::dualpi2::DualPi2;
use crate::queues::fq::Fq;
use crate::queues::fq_codel::FqCodel;
use crate::queues::head_drop::HeadDrop;
use crate::queues::occupancy_fifo::OccupancyFifo;
use crate::queues::round_robin::{QueueMapping, RoundRobin};
use crate::queues::strict::Strict;
use crate::queues::weighted::Weighted;
use crate::queues::AnyDisc;
use crate::scenario::cake::CakeConfig;
use crate::scenario::{BufferUnit, LinkConfig, PolicyConfig, Scenario};
use longpipe_events::Stream;

/// Creates the empty discipline of the port that feeds a link.
pub(super) fn disc_of(scenario: &Scenario, link: &LinkConfig, seed: u64, index: u64) -> AnyDisc<QueuedPacket> {
    let circuits = Circuit::of_flows(scenario.flows.len());
    let mut salts = Stream::new(seed, "policy", index);
    let mut salt = || salts.below(u64::MAX);
    match &link.policy {
        PolicyConfig::Codel(codel) => AnyDisc::Codel(Codel::new(codel)),
        PolicyConfig::FqCodel(fq) => AnyDisc::FqCodel(FqCodel::new(fq, circuits, salt())),
        PolicyConfig::Drr(drr) => {
            let (queues, spread) = match drr.queues {
                None => (circuits, QueueMapping::PerFlow),
                Some(queues) => {
                    let (salt, perturb) = (salt(), None);
                    (queues as usize, QueueMapping::Hashed { salt, perturb })
                }
            };
            let quanta = (0..queues).map(|_| u64::from(drr.quantum_bytes));
            AnyDisc::RoundRobin(RoundRobin::new(quanta, spread))
        }
        PolicyConfig::Sfq(sfq) => {
            let quanta = (0..sfq.queues).map(|_| u64::from(sfq.quantum_bytes));
            let (salt, perturb) = (salt(), sfq.perturb_ps);
            AnyDisc::RoundRobin(RoundRobin::new(quanta, QueueMapping::Hashed { salt, perturb }))
        }
        PolicyConfig::Fq(fq) => AnyDisc::Fq(Fq::new(fq, circuits)),
        PolicyConfig::StrictPriority(strict) => AnyDisc::Strict(Strict::new(strict.classes)),
        PolicyConfig::WeightedPriority(weighted) => {
            let quantum = u64::from(weighted.quantum_bytes);
            let quanta = weighted.weights.iter().map(|&weight| u64::from(weight) * quantum);
            AnyDisc::Weighted(Weighted::new(quanta))
        }
        PolicyConfig::DualPi2(dual) => AnyDisc::DualPi2(Box::new(DualPi2::new(dual))),
        PolicyConfig::AckFilter {} => AnyDisc::AckFilter(AckFilter::default()),
        PolicyConfig::HeadDrop {} => AnyDisc::HeadDrop(HeadDrop::default()),
        PolicyConfig::Cake(config) => AnyDisc::Cake(Box::new(cake(scenario, config, salt(), salts))),
        PolicyConfig::Red(_) | PolicyConfig::Pie(_) | PolicyConfig::StepMarking(_) | PolicyConfig::Blue(_) => {
            match Aqm::new(&link.policy, link.rate_bps, seed, index) {
                Some(aqm) => AnyDisc::AqmFifo(AqmFifo::new(aqm)),
                None => occupancy_fifo(link),
            }
        }
        PolicyConfig::TailDrop {}
        | PolicyConfig::PartialPacketDiscard { .. }
        | PolicyConfig::Epd { .. }
        | PolicyConfig::SelectiveDrop { .. }
        | PolicyConfig::Fba { .. } => occupancy_fifo(link),
    }
}

/// Creates CAKE. The packets of a flow, in both directions, have the flow's class as their DSCP.
fn cake(scenario: &Scenario, config: &CakeConfig, salt: u64, random: Stream) -> Cake<QueuedPacket> {
    let circuits = scenario.flows.iter().flat_map(|flow| {
        let first = flow.route.first().map_or(0, |&link| scenario.links[link].from);
        let last = flow.route.last().map_or(0, |&link| scenario.links[link].to);
        [[first, last], [last, first]].map(|hosts| -> CakeCircuit { (hosts, flow.class) })
    });
    Cake::new(config, circuits, salt, random)
}

/// Creates the FIFO for a policy that depends only on the occupancy.
fn occupancy_fifo(link: &LinkConfig) -> AnyDisc<QueuedPacket> {
    let limit = link.buffer.map_or(u64::MAX, |buffer| buffer.limit);
    let by_bytes = link.buffer.is_some_and(|buffer| buffer.unit == BufferUnit::Bytes);
    AnyDisc::OccupancyFifo(OccupancyFifo::new(Policy::new(&link.policy, limit), by_bytes))
}
