//! Congestion controllers from files: shared objects in C, C++, Rust or any language that can implement
//! `longpipe_control.h`; Linux modules, which `longpipe cc build` compiles together with an adapter to this interface;
//! and WebAssembly modules.
//!
//! [`fill`] fills the slots of a scenario with one private copy of each object per set of parameters and clock
//! frequency, so that static variables are shared by the flows of one simulation, as in a kernel, but never by two
//! simulations.

pub mod agent;
pub mod answer;
pub mod base;
mod complaints;
pub mod derived;
pub mod environment;
#[cfg(any(unix, windows))]
mod file;
mod flow;
pub mod heartbeat;
pub mod monitor;
#[cfg(any(unix, windows))]
mod object;
mod operations;
#[cfg(any(unix, windows))]
mod registry;
#[cfg(feature = "sandbox")]
pub mod sandbox;
mod settings;
mod slots;

pub use complaints::Complaints;
#[cfg(any(unix, windows))]
pub use file::load_file;
pub use operations::{requirements, About, Object};
#[cfg(any(unix, windows))]
pub use registry::{load, register};
pub use settings::LoadError;
pub use slots::fill;
