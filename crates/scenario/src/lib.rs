//! Resolves the network of a scenario for the core: routes, buffers and receiver windows.
//!
//! Input are the fields of a scenario, each of which has been checked: quantities are texts in canonical form, such as
//! "155.52 Mbit/s". Python and the lab's page use this crate, through JSON.

pub mod buffers;
pub mod checks;
pub mod input;
pub mod names;
mod ports;
mod problems;
mod routes;
pub mod topology;
pub mod units;

pub use ports::{directed_links, DirectedLinks, Port, PortFields};
pub use problems::Problems;
pub use topology::Topology;
