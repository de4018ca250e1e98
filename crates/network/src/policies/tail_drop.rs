//! Tail drop (plain UBR): drops exactly those cells that find the buffer full.

use crate::policies::AfterLoss;

/// Tail drop; later cells of a damaged frame are admitted.
pub const AFTER_LOSS: AfterLoss = AfterLoss::Admit;
