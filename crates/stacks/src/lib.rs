//! Real stacks as end points of flows, each with its own congestion control, timers and cryptography: quinn-proto and
//! noq-proto (QUIC), and str0m (WebRTC media).
//!
//! The crate is built as a shared object, which exports the table of functions that `longpipe_end.h` declares. `quic/` contains the common code of the QUIC stacks, which is
//! compiled once for each of them: noq is a fork of quinn, and its interface differs only in a few types.

mod certificate;
mod clock;
mod entropy;
mod handshake;
mod media;
mod noq;
mod null;
mod packet_log;
mod quinn;
mod sessions;
mod settings;
mod stats;

use longpipe_end::export::Stacks;
use longpipe_end::{End, Setup};

/// The stacks of this object.
#[derive(Debug)]
pub struct RealStacks;

impl Stacks for RealStacks {
    fn create(stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        if setup.paths > 1 && stack != "noq" {
            return Err(format!("stack: {stack}; needs noq for {} paths", setup.paths));
        }
        match stack {
            "quinn" => quinn::create(setup),
            "noq" => noq::create(setup),
            "str0m" => media::create(setup),
            other => Err(format!("stack: {other}; needs quinn, noq or str0m")),
        }
    }
}

// The number after a plus sign is the revision of the code in `quic/`. If results change, increase it here and in
// python/longpipe/scenario/stack.py.
longpipe_end::export!(RealStacks, c"quinn 0.11.19+3, noq 1.4.0+3, str0m 0.25.0");
