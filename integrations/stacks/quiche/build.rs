//! Binds references within the object to the object's own functions: `src/system.rs` replaces the clock of the C library and
//! the random numbers of BoringSSL, whose own definition is ignored.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--allow-multiple-definition");
    println!("cargo:rerun-if-changed=build.rs");
}
