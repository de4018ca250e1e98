//! Losses and bit errors of links.

pub mod bit_errors;
pub(crate) mod in_time;
pub mod loss;
