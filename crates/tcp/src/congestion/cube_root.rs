//! A cube root with bit-identical results on all machines, unlike the library function.

/// Returns the cube root of a positive number by Newton's method.
pub fn cube_root(x: f64) -> f64 {
    // Dividing the exponent by 3 gives an error of at most 6 %; each step squares the relative error.
    let mut root = f64::from_bits(x.to_bits() / 3 + (1023 << 52) / 3 * 2);
    for _ in 0..5 {
        root = (2.0 * root + x / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_root_is_exact_to_the_last_bits() {
        for x in (1..3000).map(|n| f64::from(n) * 0.37).chain([1e-9, 1e9, 75.0]) {
            assert!((cube_root(x) / x.cbrt() - 1.0).abs() < 1e-15, "{x}");
        }
    }
}
