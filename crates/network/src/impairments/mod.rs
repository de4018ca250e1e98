//! What links do to packets besides carrying them.

pub mod bit_errors;
pub mod loss;
