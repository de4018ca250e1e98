//! Integration tests of the crate. They form one program, because each program compiles every engine again.

#[path = "../common/mod.rs"]
mod common;

mod any_graph;
mod bit_errors;
mod cells;
mod classes;
mod datagrams;
mod deserialization;
mod engines;
mod extremes;
mod foreign;
mod golden;
mod handshake;
mod invariants;
mod ip;
mod ip_events;
mod moving_cells;
mod queues;
mod regressions;
mod relay;
mod repetition;
mod rerouting;
mod schedulers;
mod web;
