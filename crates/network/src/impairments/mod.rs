//! What links do to packets besides carrying them.

pub mod bit_errors;
mod in_time;
pub mod loss;
