//! One TCP sender that the caller drives step by step, by giving times and arriving ACKs, as in packetdrill scripts.

use crate::errors::ScenarioError;
use longpipe_events::{Span, Time};
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::journal::CongestionState;
use longpipe_tcp::segment::MAX_SACK_BLOCKS;
use longpipe_tcp::{AckSegment, Problem, SackBlock, Sender};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A sender, with a clock that the caller advances.
#[pyclass(unsendable, module = "longpipe.endpoint")]
pub(crate) struct Endpoint {
    sender: Sender,
    mss: f64,
}

#[pymethods]
impl Endpoint {
    /// Creates a sender that has sent nothing yet; `tcp_json` is the field `tcp` of a flow in a resolved scenario.
    #[new]
    fn new(tcp_json: &str) -> PyResult<Endpoint> {
        let config: TcpConfig =
            serde_json::from_str(tcp_json).map_err(|error| ScenarioError::new_err(format!("tcp: {error}")))?;
        if let Some(Problem { field, value, accepted }) = config.problem() {
            return Err(ScenarioError::new_err(format!("tcp.{field}: {value}; {accepted}")));
        }
        Ok(Endpoint {
            sender: Sender::new(&config, Span(0)),
            mss: f64::from(config.mss_bytes),
        })
    }

    /// Lets the application write another `count` bytes.
    fn write(&mut self, count: u64) {
        let written = self.sender.tcp_info().written;
        self.sender.write_up_to(written + count);
    }

    /// Processes an ACK of all bytes before `acknowledgement`, with SACK blocks and an advertised window [byte].
    fn ack(
        &mut self,
        now_ps: u64,
        acknowledgement: u64,
        blocks: Vec<(u64, u64)>,
        echoes_mark: bool,
        window: u64,
    ) -> PyResult<()> {
        if acknowledgement > self.sender.tcp_info().max {
            return Err(PyValueError::new_err("acknowledges data that were never sent"));
        }
        let mut ack = AckSegment {
            acknowledgement,
            ace: u8::from(echoes_mark),
            ..AckSegment::default()
        };
        if blocks.len() > MAX_SACK_BLOCKS {
            return Err(PyValueError::new_err("has more than three SACK blocks"));
        }
        for (own, (start, end)) in ack.blocks.iter_mut().zip(blocks) {
            let offset = |byte: u64| {
                byte.checked_sub(acknowledgement)
                    .and_then(|offset| offset.try_into().ok())
            };
            match (offset(start), offset(end)) {
                (Some(start), Some(end)) if start < end => *own = SackBlock::new(start, end),
                _ => {
                    return Err(PyValueError::new_err(
                        "has a SACK block before what it acknowledges (D-SACK)",
                    ))
                }
            }
        }
        self.sender.advertise(window);
        self.sender.on_ack(Time(now_ps), &ack);
        Ok(())
    }

    /// Returns the time of the next timeout [ps]; None if no timer is running.
    fn next_timeout(&self) -> Option<u64> {
        self.sender.next_timeout().get().map(|time| time.0)
    }

    /// Processes the timers that are due by `now_ps`.
    fn on_timeout(&mut self, now_ps: u64) {
        self.sender.on_timeout(Time(now_ps));
    }

    /// Returns the segments that are sent now: for each, its first byte, the first byte after it, and whether the
    /// packet carries ECT(0).
    fn poll(&mut self, now_ps: u64) -> Vec<(u64, u64, bool)> {
        std::iter::from_fn(|| self.sender.poll_transmit(Time(now_ps)))
            .map(|segment| (segment.sequence, segment.end(), segment.ecn.capable))
            .collect()
    }

    /// Returns the state under the names of Linux's TCP_INFO. Windows and counts are in segments, and times are in
    /// microseconds.
    fn info<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tcp_info = self.sender.tcp_info();
        let info = PyDict::new(py);
        info.set_item("snd_cwnd", (tcp_info.cwnd / self.mss) as u64)?;
        let ssthresh = if tcp_info.ssthresh.is_finite() {
            (tcp_info.ssthresh / self.mss) as u64
        } else {
            NO_THRESHOLD
        };
        info.set_item("snd_ssthresh", ssthresh)?;
        if let Some(srtt) = self.sender.timer().srtt() {
            info.set_item("rtt", srtt.0 / PS_PER_US)?;
        }
        let Some((state, count)) = tcp_info.records else {
            return Ok(info);
        };
        let state = match state {
            CongestionState::Open if count.arrived > 0 => DISORDER,
            CongestionState::Open => OPEN,
            CongestionState::Reduced => CWR,
            CongestionState::Recovery => RECOVERY,
            CongestionState::Loss => LOSS,
        };
        info.set_item("ca_state", state)?;
        info.set_item("unacked", count.unacked)?;
        info.set_item("sacked", count.arrived)?;
        info.set_item("lost", count.lost + count.retransmitted)?;
        info.set_item("retrans", count.retransmitted)?;
        if let Some(min) = count.least_rtt {
            info.set_item("min_rtt", min.0 / PS_PER_US)?;
        }
        Ok(info)
    }
}

/// Linux's value of ssthresh before it is set (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u64 = 0x7fff_ffff;
const PS_PER_US: u64 = 1_000_000;
/// Linux's numbers of the states TCP_CA_Open and so on.
const OPEN: u32 = 0;
const DISORDER: u32 = 1;
const CWR: u32 = 2;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
