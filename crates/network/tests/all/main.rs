//! Integration tests of the crate. They form a single program, because every engine is compiled again for each program.

#[path = "../common/mod.rs"]
mod common;

mod any_graph;
mod arriving;
mod bit_errors;
mod cells;
mod classes;
mod datagrams;
mod deserialization;
mod engines;
mod external;
mod extremes;
mod golden;
mod handshake;
mod invariants;
mod ip;
mod ip_events;
mod memory;
mod per_vc;
mod proxy;
mod queues;
mod regressions;
mod repetition;
mod rerouting;
mod schedulers;
mod stream;
mod threads;
mod time_varying_cells;
mod web;
