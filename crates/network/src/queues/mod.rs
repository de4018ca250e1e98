//! Queue disciplines decide which packet a port transmits next, and which packets it drops or marks. `disc.rs` contains
//! the interface.
//!
//! `disciplines!` lists the implementations, and `policies!` the kinds of `policy` in a scenario: those that decide when a
//! packet or cell arrives, which any FIFO can use, and those that are disciplines of their own.

pub mod ack_filter;
mod any_disc;
pub mod aqm_fifo;
mod backlog;
pub mod cake;
pub mod cobalt;
pub mod codel;
mod disc;
pub mod dualpi2;
pub mod flow_queueing;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod head_drop;
pub mod nqb;
pub mod occupancy_fifo;
mod policy;
pub mod protection;
pub mod round_robin;
pub mod strict;
pub mod subqueues;
pub mod tin;
pub mod weighted;

use crate::packets::drops::DropCause;
use crate::policies;
use crate::policies::parameters::{Facts, Parameters};
use any_disc::disciplines;
pub use backlog::{Backlog, Queued};
pub use disc::{Discipline, Endpoints, NewPort, PassThroughEffect, PortState, QueueDisc};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::{part, Described, Type};
use policy::policies;
use serde::Serialize;
use strum::VariantNames;
use subqueues::SubqueueCounters;

disciplines! {
    /// FIFO with a policy that depends on the occupancy.
    OccupancyFifo(occupancy_fifo::OccupancyFifo<T>);
    /// FIFO with active queue management at enqueue (`policies/aqm.rs`).
    AqmFifo(aqm_fifo::AqmFifo<T>);
    /// CoDel.
    Codel(codel::Codel<T>);
    /// FQ-CoDel.
    FqCodel(fq_codel::FqCodel<T>);
    /// FQ-PIE.
    FqPie(fq_pie::FqPie<T>);
    /// Deficit round robin, and stochastic fair queueing.
    RoundRobin(round_robin::RoundRobin<T>);
    /// Linux's fq.
    Fq(fq::Fq<T>);
    /// Strict priority among classes.
    Strict(strict::Strict<T>);
    /// Weighted round robin among classes.
    Weighted(weighted::Weighted<T>);
    /// FIFO in which a later ACK replaces earlier ones.
    AckFilter(ack_filter::AckFilter<T>);
    /// FIFO that drops from the front.
    HeadDrop(head_drop::HeadDrop<T>);
    /// CAKE.
    Cake(Box<cake::Cake<T>>);
    /// DualPI2.
    DualPi2(Box<dualpi2::DualPi2<T>>);
    /// A shallow queue for flows marked NQB beside a default queue.
    Nqb(Box<nqb::Nqb<T>>);
}

impl<T: Queued> AnyDisc<T> {
    /// Returns the queue if the discipline is a FIFO with tail drop, which has no other state.
    #[inline(always)]
    pub(crate) fn tail_drop(&mut self) -> Option<&mut Backlog<T>> {
        match self {
            AnyDisc::OccupancyFifo(fifo) => fifo.tail_drop(),
            _ => None,
        }
    }
}

policies! {
    $;
    at_enqueue {
        /// Drops exactly the cells or packets that find the buffer full.
        TailDrop(policies::tail_drop::TailDropConfig);
        /// Discards the rest of a frame after a lost cell.
        PartialPacketDiscard(policies::partial_packet_discard::PartialPacketDiscardConfig);
        /// Early Packet Discard.
        Epd(policies::epd::EpdConfig);
        /// Selective Drop.
        SelectiveDrop(policies::selective_drop::SelectiveDropConfig);
        /// Fair Buffer Allocation.
        Fba(policies::fba::FbaConfig);
        /// Differential Fair Buffer Allocation.
        Dfba(policies::dfba::DfbaConfig);
        /// Random early detection: drops depend on the average queue.
        Red(policies::red::RedConfig);
        /// PIE: drops depend on the queueing delay and on how it changes.
        Pie(policies::pie::PieConfig);
        /// Step marking: marks depend on the current queue; no drops.
        StepMarking(policies::step_marking::StepMarkingConfig);
        /// BLUE: drops depend on overflows and idle times.
        Blue(policies::blue::BlueConfig);
        /// AVQ: drops depend on a virtual queue.
        Avq(policies::avq::AvqConfig);
        /// PI: drops depend on the length of the queue at fixed intervals.
        Pi(policies::pi::PiConfig);
    }
    disciplines {
        /// CoDel: drops at departure depend on the sojourn time.
        Codel(codel::CodelConfig);
        /// FQ-CoDel: one queue per flow, each with CoDel.
        FqCodel(fq_codel::FqCodelConfig);
        /// FQ-PIE: one queue per flow, each with PIE.
        FqPie(fq_pie::FqPieConfig);
        /// Deficit round robin over one queue per flow.
        Drr(round_robin::DrrConfig);
        /// Stochastic fair queueing: round robin over hashed queues.
        Sfq(round_robin::SfqConfig);
        /// Linux's fq: round robin over one queue per flow.
        Fq(fq::FqConfig);
        /// Strict priority over one queue per class.
        StrictPriority(strict::StrictPriorityConfig);
        /// Weighted round robin over one queue per class.
        WeightedPriority(weighted::WeightedPriorityConfig);
        /// DualPI2: a low-latency queue coupled with a classic one.
        #[serde(rename = "dualpi2")]
        #[strum(serialize = "dualpi2")]
        DualPi2(dualpi2::DualPi2Config);
        /// ACK filter: an arriving ACK replaces earlier ACKs that it makes redundant.
        AckFilter(ack_filter::AckFilterConfig);
        /// Drop from front: a packet that finds the buffer full displaces the oldest packets.
        HeadDrop(head_drop::HeadDropConfig);
        /// CAKE: a shaper, tins, and fair queueing among hosts and flows with COBALT.
        Cake(cake::CakeConfig);
        /// NQB: a shallow queue beside a default queue, with equal shares and traffic protection.
        Nqb(nqb::NqbConfig);
    }
}
