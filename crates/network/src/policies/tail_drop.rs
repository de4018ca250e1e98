//! Tail drop, plain UBR: drops exactly the cells that find the buffer full.

use crate::policies::AfterLoss;

/// Later cells of a damaged frame enter.
pub const AFTER_LOSS: AfterLoss = AfterLoss::Admit;
