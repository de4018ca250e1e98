//! Tail drop, plain UBR: each cell that finds the buffer full is lost, and nothing else is.

use crate::policies::AfterLoss;

/// The frame's later cells still enter.
pub const AFTER_LOSS: AfterLoss = AfterLoss::Admit;
