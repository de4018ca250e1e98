//! Columns of tables of results, as lists in Python. NumPy is avoided because loading it takes longer than a short run.

/// Returns a column of numbers, which becomes a list in Python.
pub(crate) fn float_list(values: impl Iterator<Item = f64>) -> Vec<f64> {
    values.collect()
}
