//! Columns of traces. They are NumPy arrays, because they can have millions of rows.

use longpipe_events::Time;
use longpipe_network::observe::columns::{self, Values};
use longpipe_network::{causes, CauseFacts, Recorder, Scenario};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns the requested traces.
pub(crate) fn tables<'py>(py: Python<'py>, scenario: &Scenario, recorder: Recorder) -> PyResult<Bound<'py, PyDict>> {
    let traces = PyDict::new(py);
    for table in recorder.into_tables(scenario) {
        let columns = PyDict::new(py);
        for (name, values) in table.columns {
            columns.set_item(name, array(py, values))?;
        }
        traces.set_item(table.name, columns)?;
    }
    Ok(traces)
}

fn array(py: Python<'_>, values: Values) -> Bound<'_, PyAny> {
    match values {
        Values::Times(times) => {
            let seconds = times.into_iter().map(|time| Time(time).as_seconds());
            seconds.collect::<Vec<f64>>().into_pyarray(py).into_any()
        }
        Values::U32(words) => words.into_pyarray(py).into_any(),
        Values::U8(bytes) => bytes.into_pyarray(py).into_any(),
        Values::I8(numbers) => numbers.into_pyarray(py).into_any(),
        Values::U64(counts) => counts.into_pyarray(py).into_any(),
        Values::I64(places) => places.into_pyarray(py).into_any(),
        Values::F64(numbers) => numbers.into_pyarray(py).into_any(),
        Values::Bools(flags) => flags.into_pyarray(py).into_any(),
    }
}

/// Returns for each cause of losses: its name, the suffixes of the port counters that count it, the limit of a flow that
/// it causes, and a description.
#[pyfunction]
pub(crate) fn drop_causes() -> Vec<(&'static str, Vec<&'static str>, &'static str, &'static str)> {
    let row = |cause: CauseFacts| (cause.name, cause.counters, cause.limit, cause.about);
    causes().into_iter().map(row).collect()
}

/// Returns for each column of numbered values: the name of the column, and the name of each value.
#[pyfunction]
pub(crate) fn trace_names() -> Vec<(&'static str, Vec<&'static str>)> {
    columns::value_names()
}
