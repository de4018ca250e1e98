//! Real stacks as end points of flows, each with its own congestion control, timers and cryptography: quinn-proto and
//! noq-proto (QUIC), and str0m (WebRTC media).
//!
//! The crate is built as a shared object, which exports the table of functions that `longpipe_end.h` declares. `quic/` contains the common code of the QUIC stacks, which is
//! compiled once for each of them: noq is a fork of quinn, and its interface differs only in a few types.

// What the stacks of absent features would use is unused.
#![cfg_attr(
    not(all(feature = "quinn", feature = "noq", feature = "str0m")),
    allow(dead_code, unused_imports, unused_macros)
)]
// The files of `quic/` are modules of each QUIC stack.
#![allow(clippy::duplicate_mod)]

mod certificate;
mod clock;
mod entropy;
mod handshake;
#[cfg(feature = "str0m")]
mod media;
#[cfg(feature = "noq")]
mod noq;
mod null;
mod packet_log;
#[cfg(feature = "quinn")]
mod quinn;
mod sessions;
mod settings;
mod stats;

use longpipe_end::export::Stacks;
use longpipe_end::{End, Setup};
use std::ffi::CStr;

/// The stacks of this object.
#[derive(Debug)]
pub struct RealStacks;

impl Stacks for RealStacks {
    fn create(stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        if setup.paths > 1 && stack != "noq" {
            return Err(format!("stack: {stack}; needs noq for {} paths", setup.paths));
        }
        match stack {
            #[cfg(feature = "quinn")]
            "quinn" => quinn::create(setup),
            #[cfg(feature = "noq")]
            "noq" => noq::create(setup),
            #[cfg(feature = "str0m")]
            "str0m" => media::create(setup),
            other => Err(format!("stack: {other}; needs one of {}", LIST.to_string_lossy())),
        }
    }
}

// The number after a plus sign is the revision of the code in `quic/`. If results change, increase it here and in
// python/longpipe/scenario/stack.py.
#[cfg(all(feature = "quinn", feature = "noq", feature = "str0m"))]
const LIST: &CStr = c"quinn 0.11.19+3, noq 1.4.0+3, str0m 0.25.0";
#[cfg(not(all(feature = "quinn", feature = "noq", feature = "str0m")))]
const LIST: &CStr = if cfg!(feature = "quinn") {
    c"quinn 0.11.19+3"
} else if cfg!(feature = "noq") {
    c"noq 1.4.0+3"
} else {
    c"str0m 0.25.0"
};
longpipe_end::export!(RealStacks, LIST);
