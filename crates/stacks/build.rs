//! Binds references within the object to its own functions: `src/clock.rs` and `src/entropy.rs` replace two of the C library.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo:rerun-if-changed=build.rs");
}
