//! The structures of `longpipe_control.h` in the memory of a wasm32 module, and the addresses at which the host writes
//! them.
//!
//! Structures without pointers have the same layout in a module and in this process: their fields have fixed widths,
//! are aligned to their sizes, and are little-endian.
#![allow(unsafe_code)]

use longpipe_plugin::table::{Ack, Flight, Grant, Lost, Sample, Sent};

// The host writes the bytes of its structures unchanged, so it must be little-endian like wasm32.
const _: () = assert!(cfg!(target_endian = "little"));

/// Offsets within the page that the host adds to the module's memory. Arguments other than reports are written at the
/// offset for reports, too.
pub const FLIGHT: u32 = 0;
pub const GRANT: u32 = FLIGHT + size_of::<Flight>() as u32;
pub const REPORT: u32 = GRANT + size_of::<Grant>() as u32;
pub const TEXTS: u32 = 1024;
/// Size of a WebAssembly page [byte].
pub const PAGE: u32 = 65536;

/// Offsets of the fields of `struct longpipe_control`, whose pointers have four bytes.
pub mod control {
    pub const VERSION: u32 = 0;
    pub const SIZE: u32 = 4;
    pub const NAME: u32 = 8;
    pub const OPEN: u32 = 12;
    pub const PARAMETERS: u32 = 16;
    pub const WANTS: u32 = 20;
    pub const CREATE: u32 = 24;
    pub const DESTROY: u32 = 28;
    pub const ON_START: u32 = 32;
    pub const ON_SAMPLE: u32 = 36;
    pub const ON_ACK: u32 = 40;
    pub const ON_SENT: u32 = 44;
    pub const ON_LOST: u32 = 48;
    pub const ON_REDUCTION: u32 = 52;
    pub const ON_RECOVERED: u32 = 56;
    pub const ON_ACKED: u32 = 60;
    /// sizeof(struct longpipe_control), and its size without `on_acked`, which modules have that were built before
    /// `on_acked` existed.
    pub const LENGTH: u32 = 64;
    pub const LENGTH_WITHOUT_ON_ACKED: u32 = ON_ACKED;
}

/// Offsets of the fields of `struct longpipe_parameter`.
pub mod parameter {
    pub const NAME: u32 = 0;
    pub const TYPE: u32 = 4;
    pub const SET: u32 = 12;
    /// sizeof(struct longpipe_parameter).
    pub const LENGTH: u32 = 20;
}

/// A structure without pointers and without padding.
pub trait Plain: Copy {}

impl Plain for Flight {}
impl Plain for Grant {}
impl Plain for Sample {}
impl Plain for Ack {}
impl Plain for Sent {}
impl Plain for Lost {}

/// Returns the bytes of a structure.
fn bytes<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: the structure has no padding, so all of its bytes are initialized.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// Flight, grant and report of one call, laid out as in the page, so that a single copy writes all of them.
pub struct Block {
    bytes: [u8; BLOCK],
    /// Number of bytes that the call uses.
    used: usize,
}

/// Size of a block that contains the largest report.
const BLOCK: usize = REPORT as usize + size_of::<Ack>();

impl Block {
    /// Returns the block for a call whose only input is the flight.
    pub fn new(flight: &Flight) -> Block {
        let block = Block {
            bytes: [0; BLOCK],
            used: 0,
        };
        block.with(FLIGHT, flight)
    }

    /// Adds a grant.
    pub fn with_grant(self, grant: &Grant) -> Block {
        self.with(GRANT, grant)
    }

    /// Adds a report.
    pub fn with_report<T: Plain>(self, report: &T) -> Block {
        self.with(REPORT, report)
    }

    fn with<T: Plain>(mut self, offset: u32, value: &T) -> Block {
        let (from, bytes) = (offset as usize, bytes(value));
        self.used = from + bytes.len();
        self.bytes[from..self.used].copy_from_slice(bytes);
        self
    }

    /// Returns the bytes that the call uses.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// Returns the grant that these bytes contain.
pub fn grant(bytes: &[u8; size_of::<Grant>()]) -> Grant {
    // SAFETY: every bit pattern is a valid grant, and the read requires no alignment.
    unsafe { bytes.as_ptr().cast::<Grant>().read_unaligned() }
}

// The fields of longpipe_control.h: fields of eight bytes each, then pairs of fields of four bytes, without padding.
const _: () = {
    assert!(size_of::<Flight>() == 7 * 8 + 2 * 4);
    assert!(size_of::<Grant>() == 3 * 8 + 2 * 4);
    assert!(size_of::<Sample>() == 6 * 8 + 2 * 4);
    assert!(size_of::<Ack>() == 17 * 8 + 8 * 4);
    assert!(size_of::<Sent>() == 3 * 8 + 2 * 4);
    assert!(size_of::<Lost>() == 6 * 8 + 2 * 4);
    assert!(BLOCK as u32 <= TEXTS);
    assert!(control::LENGTH == control::ON_ACKED + 4);
    assert!(control::ON_ACKED == control::ON_RECOVERED + 4);
};
