//! Congestion controllers from shared objects: C, C++, Rust or any language that can implement `longpipe_control.h`, and
//! modules of Linux, which `longpipe cc build` compiles together with an adapter for that interface.
//!
//! [`load`] fills the slots of a scenario with one private copy of each object per set of parameters and clock frequency, so
//! that statics are shared by the flows of one simulation, as in a kernel, and never by two simulations.

pub mod agent;
pub mod answer;
pub mod base;
mod complaints;
pub mod environment;
mod flow;
pub mod heartbeat;
pub mod monitor;
mod object;
mod registry;
mod settings;

pub use complaints::Complaints;
pub use object::{requirements, Object};
pub use registry::{load, register};
pub use settings::LoadError;
