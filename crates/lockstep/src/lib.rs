//! Real protocol stacks at the ends of a run's flows, in its virtual time.
//!
//! ```text
//! End ─▶ Lockstep (payloads, clock) ─▶ Path (lengths, ECN; decides) ─▶ Lockstep, at the same instant ─▶ End
//! ```
//!
//! The core sees the length and the ECN bits of a packet; this crate keeps the payload by packet number. At each
//! instant, all packets are delivered first, in the order in which the path determined their outcomes. Then every end
//! that has a packet or an expired timer acts, in the order of the ends. Packets that an end sends enter the path at
//! that instant.

#[cfg(target_os = "linux")]
pub mod linux;
pub mod lockstep;
pub mod object;
pub mod program;
pub mod registry;

pub use lockstep::{FlowEnds, Lockstep, StackError};
