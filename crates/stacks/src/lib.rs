//! Real QUIC stacks as ends of flows: quinn-proto and noq-proto, each with its own controls, timers and TLS.
//!
//! The object exports the table of `longpipe_end.h`. `quic/` has the common code, compiled once for each stack: noq is a fork
//! of quinn, and their interfaces differ in a few types only.

mod certificate;
mod handshake;
mod noq;
mod null;
mod quinn;
mod settings;
mod stats;

use longpipe_end::export::Stacks;
use longpipe_end::{End, Setup};

/// The stacks of this object.
#[derive(Debug)]
pub struct Quic;

impl Stacks for Quic {
    fn create(stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        match stack {
            "quinn" => quinn::create(setup),
            "noq" => noq::create(setup),
            other => Err(format!("stack: {other}; needs quinn or noq")),
        }
    }
}

longpipe_end::export!(Quic, c"quinn 0.11.19, noq 1.4.0");
