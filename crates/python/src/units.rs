//! Quantities as texts with units.

use longpipe_units::{self as units, Bounded, Decimal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// A kind of quantities: see `longpipe.units.Dimension`.
#[pyclass(frozen, subclass, module = "longpipe._core")]
pub struct Dimension(units::Dimension);

/// Raises ValueError.
fn raised(message: String) -> PyErr {
    PyValueError::new_err(message)
}

fn integer<'py>(py: Python<'py>, number: Decimal) -> PyResult<Bound<'py, PyAny>> {
    match number.to_u64() {
        Some(number) => Ok(number.into_pyobject(py)?.into_any()),
        None => py.get_type::<PyInt>().call1((number.to_string(),)),
    }
}

#[pymethods]
impl Dimension {
    #[new]
    #[pyo3(signature = (name, *, unlimited=false))]
    fn new(name: &str, unlimited: bool) -> PyResult<Dimension> {
        let dimension = units::Dimension::named(name).ok_or_else(|| raised(format!("{name}: no dimension")))?;
        let unlimited = unlimited || dimension.unlimited;
        Ok(Dimension(units::Dimension {
            unlimited,
            ..*dimension
        }))
    }

    #[getter]
    fn key(&self) -> &str {
        self.0.key
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name
    }

    #[getter]
    fn base(&self) -> &str {
        self.0.base
    }

    #[getter]
    fn suffix(&self) -> &str {
        self.0.suffix
    }

    #[getter]
    fn example(&self) -> &str {
        self.0.example
    }

    #[getter]
    fn unlimited(&self) -> bool {
        self.0.unlimited
    }

    /// Units, each with its number of base units.
    fn scales(&self) -> Vec<(&str, u64)> {
        self.0.units.to_vec()
    }

    /// Returns the number, as text, and the unit.
    fn number_and_unit(&self, text: &Bound<'_, PyString>) -> PyResult<(String, &str)> {
        let quantity = self.0.split(&text.to_string_lossy()).map_err(raised)?;
        Ok((quantity.number.to_string(), quantity.unit))
    }

    fn parse<'py>(&self, py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        integer(py, self.0.parse(&text.to_string_lossy()).map_err(raised)?)
    }

    fn canonical(&self, text: &Bound<'_, PyString>) -> PyResult<String> {
        self.0.canonical(&text.to_string_lossy()).map_err(raised)
    }

    fn format(&self, value: i128) -> String {
        self.0.format(value)
    }

    fn accepts(&self) -> String {
        self.0.accepts()
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn knows(&self, unit: &str) -> bool {
        self.0.knows(unit)
    }

    fn meant(&self, text: &Bound<'_, PyString>) -> String {
        self.0.meant(&text.to_string_lossy())
    }
}

/// A check of a quantity with bounds.
#[pyclass(frozen, module = "longpipe._core")]
pub struct BoundedQuantity(Bounded);

#[pymethods]
impl BoundedQuantity {
    #[new]
    #[pyo3(signature = (dimension, low, high, *, auto=false))]
    fn new(dimension: &Dimension, low: &str, high: &str, auto: bool) -> PyResult<BoundedQuantity> {
        let bounded = Bounded::new(dimension.0, low, high, auto).map_err(raised)?;
        Ok(BoundedQuantity(bounded))
    }

    /// Returns a quantity in canonical form. Raises ValueError with the value and what is accepted.
    fn check(&self, text: &Bound<'_, PyString>) -> PyResult<String> {
        self.0.check(&text.to_string_lossy()).map_err(raised)
    }
}

/// Returns the size of a buffer in canonical form. Raises ValueError with the value and what is accepted.
#[pyfunction]
pub fn check_buffer(text: &Bound<'_, PyString>) -> PyResult<String> {
    units::buffer(&text.to_string_lossy()).map_err(raised)
}
