//! Resolves a scenario for the core: nodes and links of a dumbbell, groups of flows, connections that proxies split, their
//! settings of TCP, routes, buffers, receiver windows, starts and stops.
//!
//! Input are the fields of a scenario, each of which has been checked: quantities are texts in canonical form, such as
//! "155.52 Mbit/s". Python and the lab's page use this crate, through JSON.

mod access;
pub mod buffers;
pub mod checks;
mod conditioners;
mod connections;
mod copies;
pub mod described;
mod dumbbell;
pub mod framing;
pub mod input;
pub mod names;
pub mod network;
mod packets;
mod ports;
mod problems;
mod repetition;
pub mod resolve;
mod routes;
mod rows;
pub mod rules;
mod settings;
pub mod splits;
pub mod tcp;
mod times;
pub mod topology;
pub mod units;

pub use ports::{DirectedLinks, Port, PortFields};
pub use problems::Problems;
pub use tcp::Facts;
pub use topology::Topology;
