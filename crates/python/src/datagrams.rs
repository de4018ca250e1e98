//! Delays of datagram flows.

use longpipe_network::report::delays::Delays;
use longpipe_network::report::Report;
use pyo3::prelude::*;

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
