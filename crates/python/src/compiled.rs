//! Hooks that Numba has compiled, which are called through their addresses without the interpreter.
#![allow(unsafe_code)]

use crate::records::Grant;
use longpipe_tcp::congestion::flight::Flight;
use pyo3::prelude::*;
use std::ffi::c_void;

/// Output of a compiled hook, which initially contains the current values.
#[repr(C)]
struct GrantRecord {
    window: f64,
    ssthresh: f64,
    /// Pacing rate [bit/s], or UNCHANGED.
    rate: f64,
    burst: f64,
}

/// Names of the fields in the grant structure of compiled hooks, in memory order.
#[pyfunction]
pub(crate) fn compiled_grant_fields() -> [&'static str; 4] {
    ["window", "ssthresh", "rate", "burst"]
}

/// Value of the pacing rate if a hook does not set a rate.
const UNCHANGED: f64 = -1.0;

type Entry = unsafe extern "C" fn(*mut c_void, *const c_void, *mut GrantRecord);

/// A compiled hook, which is called with the connection's state, a record and a grant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compiled(Entry);

impl Compiled {
    /// Returns the hook at an address that `longpipe.controls.compiled` obtained from Numba; None if the address is 0.
    pub fn at(address: usize) -> Option<Compiled> {
        if address == 0 {
            return None;
        }
        // SAFETY: the address is that of Numba's function with these three pointer parameters, which its class keeps
        // alive.
        Some(Compiled(unsafe { std::mem::transmute::<usize, Entry>(address) }))
    }

    /// Calls the hook with the address of the connection's state.
    #[inline]
    pub fn call<R: Copy>(self, state: usize, record: &R, flight: &Flight) -> Grant {
        let mut grant = GrantRecord {
            window: flight.cwnd(),
            ssthresh: flight.ssthresh(),
            rate: UNCHANGED,
            burst: 0.0,
        };
        let at = std::ptr::from_ref(record).cast();
        // SAFETY: the state is an array that the controller owns; the record and the grant have the layout for which
        // the hook was compiled.
        unsafe { (self.0)(state as *mut c_void, at, &mut grant) };
        // If the hook did not change cwnd or ssthresh in the grant, that value is left unchanged.
        let changed = |value: f64, before: f64| (value.to_bits() != before.to_bits()).then_some(value);
        Grant {
            window: changed(grant.window, flight.cwnd()),
            ssthresh: changed(grant.ssthresh, flight.ssthresh()),
            rate: changed(grant.rate, UNCHANGED),
            burst: changed(grant.burst, 0.0).map(|burst| burst as u32),
        }
    }
}
