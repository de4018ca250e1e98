//! Tables of results, as dictionaries of columns.

use longpipe_network::report::tables::{self, Kind, Run, Table, Values};
use longpipe_network::report::Report;
use longpipe_network::Scenario;
use numpy::{Element, IntoPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Adds all tables to a result; those that a run does not have are empty. Columns are lists, because loading NumPy takes
/// longer than a short run, except those of tables that can have millions of rows.
pub(crate) fn add(result: &Bound<'_, PyDict>, scenario: &Scenario, report: &Report) -> PyResult<()> {
    let run = Run { scenario, report };
    for table in &tables::TABLES {
        result.set_item(table.name, PyDict::new(result.py()))?;
    }
    tables::of(run).try_for_each(|table| result.set_item(table.name, columns(result.py(), table, &run)?))
}

/// Returns the columns of a table.
pub(crate) fn columns<'py>(py: Python<'py>, table: &Table, run: &Run<'_>) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = (table.rows)(run);
    for column in table.columns_of(run) {
        let rows = rows.iter().copied();
        let values = match column.values {
            Values::Text(of) => rows
                .map(|row| of(run, row))
                .collect::<Vec<String>>()
                .into_pyobject(py)?,
            Values::Number(of) => numbers(py, rows.map(|row| of(run, row)).collect::<Vec<u32>>(), table.is_large)?,
            Values::Count(of) => numbers(py, rows.map(|row| of(run, row)).collect::<Vec<u64>>(), table.is_large)?,
            Values::Real(of) => numbers(py, rows.map(|row| of(run, row)).collect::<Vec<f64>>(), table.is_large)?,
        };
        columns.set_item(column.name, values)?;
    }
    Ok(columns)
}

/// Returns numbers as an array or as a list.
fn numbers<'py, T>(py: Python<'py>, values: Vec<T>, is_array: bool) -> PyResult<Bound<'py, PyAny>>
where
    T: Element + IntoPyObject<'py>,
{
    if is_array {
        return Ok(values.into_pyarray(py).into_any());
    }
    values.into_pyobject(py)
}

/// Columns of one table: name, kind, the counter or the share that the kind refers to, and meaning.
type Columns = Vec<(&'static str, &'static str, Option<String>, &'static str)>;

/// Returns the names of all tables with the name, the kind and the meaning of each column.
#[pyfunction]
pub(crate) fn result_tables() -> Vec<(&'static str, Columns)> {
    let of_table = |table: &Table| {
        let columns = table.columns.iter().copied().flatten();
        let described = columns.map(|column| {
            let (kind, of) = match column.kind {
                Kind::State => ("state", None),
                Kind::Counter => ("counter", None),
                Kind::Mean => ("mean", None),
                Kind::MeanOver(weight) => ("mean", Some(weight.to_string())),
                Kind::Quantile(share) => ("quantile", Some(share.to_string())),
                Kind::Utilization => ("utilization", None),
            };
            (column.name, kind, of, column.about)
        });
        (table.name, described.collect())
    };
    tables::TABLES.iter().map(of_table).collect()
}
