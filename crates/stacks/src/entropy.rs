//! The random numbers of the C library for this object, derived from the run's seed if there is one.
//!
//! The standard library seeds its hash maps with them, and str0m sends the packets of several streams in the order of
//! such a map. `build.rs` makes the calls within this object use this function.
#![allow(unsafe_code)]

use std::ffi::{c_uint, c_void};

/// Fills a buffer. Returns its length, or -1 after an error.
#[no_mangle]
unsafe extern "C" fn getrandom(to: *mut c_void, bytes: usize, _flags: c_uint) -> isize {
    // SAFETY: the caller passes a buffer of this length.
    let buffer = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes) };
    match ::getrandom::fill(buffer) {
        Ok(()) => bytes as isize,
        Err(_) => -1,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    #[test]
    fn hash_maps_of_a_seeded_thread_have_a_reproducible_order() {
        let order = || {
            let map: HashMap<u32, ()> = (0..32).map(|key| (key, ())).collect();
            map.into_keys().collect::<Vec<u32>>()
        };
        assert_eq!(::getrandom::seeded(1, order), ::getrandom::seeded(1, order));
        assert_ne!(::getrandom::seeded(1, order), ::getrandom::seeded(2, order));
    }
}
