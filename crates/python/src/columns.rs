//! Parts that the tables of results share.

/// Collects a column of a table as a list. NumPy is avoided because loading it takes longer than a short run.
pub(crate) fn floats(values: impl Iterator<Item = f64>) -> Vec<f64> {
    values.collect()
}
