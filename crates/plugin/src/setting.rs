//! Parameters of a controller that a scenario can set, as in `tcp.congestion.parameters.beta = 0.7`.
#![allow(unsafe_code)]

use crate::table::{types, Parameter};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

/// A parameter, which has one value for all connections of a simulation.
#[derive(Debug)]
pub struct Setting<T> {
    bits: AtomicU64,
    accepts: fn(T) -> bool,
}

impl Setting<f64> {
    /// Declares a real number, its default, and the values that it accepts.
    pub const fn real(default: f64, accepts: fn(f64) -> bool) -> Setting<f64> {
        Setting {
            bits: AtomicU64::new(default.to_bits()),
            accepts,
        }
    }

    /// Returns the value.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }

    /// Returns the entry for the list of parameters; `name` is NUL-terminated.
    #[doc(hidden)]
    pub const fn parameter(&'static self, name: &'static str) -> Parameter {
        entry(name, types::REAL, set_real, std::ptr::from_ref(self).cast())
    }
}

impl Setting<i64> {
    /// Declares a whole number, its default, and the values that it accepts.
    pub const fn integer(default: i64, accepts: fn(i64) -> bool) -> Setting<i64> {
        Setting {
            bits: AtomicU64::new(default as u64),
            accepts,
        }
    }

    /// Returns the value.
    pub fn get(&self) -> i64 {
        self.bits.load(Ordering::Relaxed) as i64
    }

    /// Returns the entry for the list of parameters; `name` is NUL-terminated.
    #[doc(hidden)]
    pub const fn parameter(&'static self, name: &'static str) -> Parameter {
        entry(name, types::INTEGER, set_integer, std::ptr::from_ref(self).cast())
    }
}

const fn entry(
    name: &'static str,
    kind: u32,
    set: unsafe extern "C" fn(*const Parameter, *const c_void) -> c_int,
    at: *const c_void,
) -> Parameter {
    Parameter {
        name: name.as_ptr().cast::<c_char>(),
        kind,
        reserved: 0,
        set: Some(set),
        at: at.cast_mut(),
    }
}

unsafe extern "C" fn set_real(parameter: *const Parameter, value: *const c_void) -> c_int {
    // SAFETY: the entry of a real number points to its setting, which is static; the interface passes a double.
    let (setting, value) = unsafe { (&*(*parameter).at.cast::<Setting<f64>>(), *value.cast::<f64>()) };
    take(setting, value, value.to_bits())
}

unsafe extern "C" fn set_integer(parameter: *const Parameter, value: *const c_void) -> c_int {
    // SAFETY: the entry of a whole number points to its setting, which is static; the interface passes an int64_t.
    let (setting, value) = unsafe { (&*(*parameter).at.cast::<Setting<i64>>(), *value.cast::<i64>()) };
    take(setting, value, value as u64)
}

fn take<T>(setting: &Setting<T>, value: T, bits: u64) -> c_int {
    if !(setting.accepts)(value) {
        return -1;
    }
    setting.bits.store(bits, Ordering::Relaxed);
    0
}
