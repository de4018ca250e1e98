//! Resolves the network of a scenario for the core: nodes and links of a dumbbell, groups of flows, connections that
//! proxies split, routes, buffers, receiver windows, starts and stops.
//!
//! Input are the fields of a scenario, each of which has been checked: quantities are texts in canonical form, such as
//! "155.52 Mbit/s". Python and the lab's page use this crate, through JSON.

mod access;
pub mod buffers;
pub mod checks;
mod conditioners;
mod copies;
mod dumbbell;
pub mod framing;
pub mod input;
pub mod names;
pub mod network;
mod packets;
mod ports;
mod problems;
pub mod repetition;
mod routes;
pub mod rows;
pub mod rules;
pub mod splits;
mod times;
pub mod topology;
pub mod units;

pub use ports::{DirectedLinks, Port, PortFields};
pub use problems::Problems;
pub use topology::Topology;
