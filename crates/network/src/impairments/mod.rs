//! What links do to packets besides carrying them.

pub mod bit_errors;
pub(crate) mod in_time;
pub mod loss;
