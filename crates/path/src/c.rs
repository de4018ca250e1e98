//! The interface in C: `include/longpipe_path.h`.
#![allow(unsafe_code)]

use crate::path::{Arrival, Path};
use longpipe_events::Time;
use longpipe_network::{Fate, Outcome, Scenario};
use std::collections::VecDeque;
use std::ffi::{c_char, CStr};

/// Length of the line for a problem, with its terminating NUL.
pub const LINE: usize = 256;

/// A path, and the outcomes that its user has not read yet.
#[derive(Debug)]
pub struct EmbeddedPath {
    path: Path,
    outcomes: VecDeque<Outcome>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EmbeddedOutcome {
    /// Time of the delivery or loss [ps].
    pub at_ps: u64,
    /// Number of the packet.
    pub id: u64,
    /// 1 if the packet is delivered, 0 if it is lost.
    pub delivered: u32,
    /// 1 if the path has marked the packet with CE.
    pub marked: u32,
}

/// Returns the path at time zero for a resolved scenario (JSON). Returns a null pointer and a line in `problem` if the
/// scenario is invalid.
///
/// # Safety
/// `scenario` must be a NUL-terminated text, and `problem` must have room for [`LINE`] bytes.
#[no_mangle]
pub unsafe extern "C" fn longpipe_path_new(
    scenario: *const c_char,
    seed: u64,
    problem: *mut c_char,
) -> *mut EmbeddedPath {
    // SAFETY: by the function's own contract.
    let text = unsafe { CStr::from_ptr(scenario) }.to_string_lossy();
    let path = Scenario::from_json(&text)
        .map_err(|error| error.to_string())
        .and_then(|scenario| Path::new(&scenario, seed).map_err(|error| error.to_string()));
    match path {
        Ok(path) => Box::into_raw(Box::new(EmbeddedPath {
            path,
            outcomes: VecDeque::new(),
        })),
        Err(line) => {
            let bytes = line.bytes().filter(|byte| *byte != 0).take(LINE - 1).chain([0]);
            for (index, byte) in bytes.enumerate() {
                // SAFETY: at most `LINE` bytes are written.
                unsafe { problem.add(index).write(byte as c_char) };
            }
            std::ptr::null_mut()
        }
    }
}

/// Frees a path.
///
/// # Safety
/// `path` must come from [`longpipe_path_new`], and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn longpipe_path_free(path: *mut EmbeddedPath) {
    if !path.is_null() {
        // SAFETY: by the function's own contract.
        drop(unsafe { Box::from_raw(path) });
    }
}

/// Lets an IP packet of `bytes` with the two ECN bits of its header enter at `at_ps`, or at the current time if that is
/// later. Returns the packet's number, counted from 0.
///
/// # Safety
/// `path` must come from [`longpipe_path_new`].
#[no_mangle]
pub unsafe extern "C" fn longpipe_path_enter(
    path: *mut EmbeddedPath,
    at_ps: u64,
    circuit: u32,
    bytes: u16,
    ecn: u32,
) -> u64 {
    // SAFETY: by the function's own contract.
    let embedded = unsafe { &mut *path };
    embedded.path.enter(Arrival {
        at: Time(at_ps),
        circuit,
        bytes,
        capable: ecn & 3 != 0,
        scalable: ecn & 3 == 1,
        marked: ecn & 3 == 3,
    })
}

/// Returns the time of the path's next event if nothing enters before [ps]; outcomes have a time no earlier than this.
///
/// # Safety
/// `path` must come from [`longpipe_path_new`].
#[no_mangle]
pub unsafe extern "C" fn longpipe_path_due(path: *mut EmbeddedPath) -> u64 {
    // SAFETY: by the function's own contract.
    unsafe { &mut *path }.path.next_due().0
}

/// Advances to `to_ps`, and writes up to `room` outcomes that have not been read yet, in order. Returns their number; if
/// it equals `room`, there may be more.
///
/// # Safety
/// `path` must come from [`longpipe_path_new`], and `outcomes` must have room for `room` of them.
#[no_mangle]
pub unsafe extern "C" fn longpipe_path_advance(
    path: *mut EmbeddedPath,
    to_ps: u64,
    outcomes: *mut EmbeddedOutcome,
    room: usize,
) -> usize {
    // SAFETY: by the function's own contract.
    let embedded = unsafe { &mut *path };
    embedded.outcomes.extend(embedded.path.advance_to(Time(to_ps)));
    let count = room.min(embedded.outcomes.len());
    for (index, outcome) in embedded.outcomes.drain(..count).enumerate() {
        let marked = matches!(outcome.fate, Fate::Delivered { marked: true });
        let written = EmbeddedOutcome {
            at_ps: outcome.time.0,
            id: outcome.id,
            delivered: u32::from(matches!(outcome.fate, Fate::Delivered { .. })),
            marked: u32::from(marked),
        };
        // SAFETY: `index` is less than `room`.
        unsafe { outcomes.add(index).write(written) };
    }
    count
}

/// Returns a hash over all outcomes so far; runs with equal packets and times have equal hashes.
///
/// # Safety
/// `path` must come from [`longpipe_path_new`].
#[no_mangle]
pub unsafe extern "C" fn longpipe_path_decisions(path: *mut EmbeddedPath) -> u64 {
    // SAFETY: by the function's own contract.
    unsafe { &*path }.path.decisions()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_scenario_causes_a_one_line_error() {
        let mut problem = [1; LINE];
        // SAFETY: the text ends with NUL, and `problem` has `LINE` bytes.
        let path = unsafe { longpipe_path_new(c"{}".as_ptr(), 1, problem.as_mut_ptr()) };
        assert!(path.is_null());
        // SAFETY: the line ends with NUL.
        let line = unsafe { CStr::from_ptr(problem.as_ptr()) }.to_string_lossy();
        assert!(!line.is_empty() && !line.contains('\n'), "{line}");
        // SAFETY: a null pointer is permitted.
        unsafe { longpipe_path_free(path) };
    }
}
