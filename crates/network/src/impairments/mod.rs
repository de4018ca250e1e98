//! What links do to packets besides carrying them.

mod in_time;
pub mod loss;
