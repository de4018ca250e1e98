//! What links do to packets besides carrying them.

pub mod loss;
