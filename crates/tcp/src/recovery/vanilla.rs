//! Vanilla: slow start and congestion avoidance; a loss is found by timeout alone (frr-96 section 2).

use super::Resend;

/// Duplicate ACKs mean nothing.
pub fn on_duplicate() -> Resend {
    Resend::Nothing
}
