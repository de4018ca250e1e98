//! Tables of results, as dictionaries of columns.

use longpipe_network::report::tables::{self, Kind, Run, Table, Values};
use longpipe_network::report::Report;
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Adds all tables of counters to a result. Columns are lists, because loading NumPy takes longer than a short run.
pub(crate) fn add(result: &Bound<'_, PyDict>, scenario: &Scenario, report: &Report) -> PyResult<()> {
    let run = Run { scenario, report };
    tables::of(run).try_for_each(|table| result.set_item(table.name, columns(result.py(), table, &run)?))
}

/// Returns the columns of a table.
pub(crate) fn columns<'py>(py: Python<'py>, table: &Table, run: &Run<'_>) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = (table.rows)(run);
    for column in table.columns_of(run) {
        let rows = rows.iter().copied();
        match column.values {
            Values::Text(of) => columns.set_item(column.name, rows.map(|row| of(run, row)).collect::<Vec<String>>()),
            Values::Count(of) => columns.set_item(column.name, rows.map(|row| of(run, row)).collect::<Vec<u64>>()),
            Values::Real(of) => columns.set_item(column.name, rows.map(|row| of(run, row)).collect::<Vec<f64>>()),
        }?;
    }
    Ok(columns)
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
