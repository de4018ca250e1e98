//! Queue disciplines decide which packet a port transmits next, and which packets it drops or marks. `disc.rs` contains
//! the interface.

pub mod ack_filter;
pub mod aqm_fifo;
mod backlog;
pub mod cake;
pub mod cobalt;
pub mod codel;
mod disc;
pub mod dualpi2;
pub mod fq;
pub mod fq_codel;
pub mod head_drop;
pub mod occupancy_fifo;
pub mod policy;
pub mod round_robin;
pub mod strict;
pub mod subqueues;
pub mod tin;
pub mod weighted;

use crate::packets::drops::DropCause;
pub use backlog::{Backlog, Queued};
use disc::disciplines;
pub use disc::{Discipline, Endpoints, NewPort, PassThroughEffect, PortState, QueueDisc};
use longpipe_events::Time;
use subqueues::SubqueueCounters;

disciplines! {
    /// FIFO with a policy that depends on the occupancy: tail drop, Selective Drop or FBA.
    OccupancyFifo(occupancy_fifo::OccupancyFifo<T>);
    /// FIFO with active queue management at enqueue: RED, PIE, BLUE or step marking.
    AqmFifo(aqm_fifo::AqmFifo<T>);
    /// CoDel.
    Codel(codel::Codel<T>);
    /// FQ-CoDel.
    FqCodel(fq_codel::FqCodel<T>);
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
}
