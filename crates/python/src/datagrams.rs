//! Columns of datagram flows.

use crate::columns::floats;
use longpipe_network::report::delays::Delays;
use longpipe_network::report::flows::DatagramReport;
use longpipe_network::report::Report;
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per datagram flow; delays are NaN if no datagram was received.
pub fn columns<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = &report.datagrams;
    let names = rows.iter().map(|row| scenario.flows[row.flow].name.as_str());
    columns.set_item("flow", names.collect::<Vec<&str>>())?;
    let integers = |name, column: fn(&DatagramReport) -> u64| {
        columns.set_item(name, rows.iter().map(column).collect::<Vec<u64>>())
    };
    integers("sent", |row| row.sent)?;
    integers("received", |row| row.received)?;
    integers("duplicates", |row| row.duplicates)?;
    integers("lost", |row| row.lost)?;
    integers("sent_bytes", |row| row.sent_bytes)?;
    integers("received_bytes", |row| row.received_bytes)?;
    let seconds = |name, column: fn(&DatagramReport) -> f64| columns.set_item(name, floats(rows.iter().map(column)));
    seconds("mean_delay_s", |row| row.delays.mean())?;
    seconds("min_delay_s", |row| row.delays.extremes().0)?;
    seconds("median_delay_s", |row| row.delays.quantile(0.5))?;
    seconds("p95_delay_s", |row| row.delays.quantile(0.95))?;
    seconds("p99_delay_s", |row| row.delays.quantile(0.99))?;
    seconds("max_delay_s", |row| row.delays.extremes().1)?;
    seconds("jitter_s", |row| row.delays.jitter())?;
    Ok(columns)
}

/// Statistics of a datagram flow's one-way delays, from which the statistics of the time after a warm-up can be
/// computed.
#[pyclass(frozen)]
pub struct DelayStatistics(Delays);

#[pymethods]
impl DelayStatistics {
    /// Returns the statistics of the packets since `earlier`, which contains the statistics of a run that ended
    /// earlier.
    fn since(&self, earlier: &DelayStatistics) -> DelayStatistics {
        DelayStatistics(self.0.since(&earlier.0))
    }

    /// Returns the quantile of the delay [s] for a share of the packets; NaN if there are no packets.
    fn quantile(&self, share: f64) -> f64 {
        self.0.quantile(share)
    }
}

/// Returns the statistics of each datagram flow's delays.
pub fn delay_statistics(report: &Report) -> Vec<DelayStatistics> {
    let rows = report.datagrams.iter();
    rows.map(|row| DelayStatistics(row.delays.clone())).collect()
}
