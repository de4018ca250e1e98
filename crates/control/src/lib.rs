//! Congestion controllers from files: shared objects of C, C++, Rust or any language that can implement `longpipe_control.h`,
//! modules of Linux, which `longpipe cc build` compiles together with an adapter for that interface, and WebAssembly modules.
//!
//! [`load`] fills the slots of a scenario with one private copy of each object per set of parameters and clock frequency, so
//! that statics are shared by the flows of one simulation, as in a kernel, and never by two simulations.

pub mod agent;
pub mod answer;
pub mod base;
mod complaints;
pub mod environment;
mod file;
mod flow;
pub mod heartbeat;
pub mod monitor;
mod object;
mod operations;
mod registry;
#[cfg(feature = "webassembly")]
mod sandbox;
mod settings;

pub use complaints::Complaints;
pub use file::load_file;
pub use operations::{requirements, About, Object};
pub use registry::{load, register};
pub use settings::LoadError;
