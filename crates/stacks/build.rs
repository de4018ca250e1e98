//! Binds references within the object to the object's own functions, because `src/clock.rs` and `src/entropy.rs`
//! replace two functions of the C library.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo:rerun-if-changed=build.rs");
}
