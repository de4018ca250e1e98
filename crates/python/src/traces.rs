//! Columns of traces. They are NumPy arrays, because they can have millions of rows.

use longpipe_events::{Time, PS_PER_SECOND};
use longpipe_network::scenario::Framing;
use longpipe_network::{Recorder, Scenario};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Adds the requested traces.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    traces: &Bound<'py, PyDict>,
    scenario: &Scenario,
    recorder: Recorder,
) -> PyResult<()> {
    let wanted = scenario.traces;
    let held = match scenario.framing {
        Framing::Aal5 => "queue_cells",
        Framing::Ip => "queue_packets",
    };
    let seconds = |times: Vec<u64>| {
        let values = times.into_iter().map(|time| Time(time).as_seconds());
        values.collect::<Vec<f64>>().into_pyarray(py)
    };
    if wanted.cwnd {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.windows.time))?;
        columns.set_item("flow", recorder.windows.flow.into_pyarray(py))?;
        columns.set_item("cwnd_bytes", recorder.windows.cwnd.into_pyarray(py))?;
        columns.set_item("ssthresh_bytes", recorder.windows.ssthresh.into_pyarray(py))?;
        traces.set_item("cwnd", columns)?;
    }
    if wanted.queue {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.queues.time))?;
        columns.set_item("port", recorder.queues.port.into_pyarray(py))?;
        columns.set_item(held, recorder.queues.held.into_pyarray(py))?;
        traces.set_item("queue", columns)?;
    }
    if wanted.sequence {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.sequences.time))?;
        columns.set_item("flow", recorder.sequences.flow.into_pyarray(py))?;
        columns.set_item("event", recorder.sequences.event.into_pyarray(py))?;
        columns.set_item("sequence_bytes", recorder.sequences.sequence.into_pyarray(py))?;
        columns.set_item("length_bytes", recorder.sequences.length.into_pyarray(py))?;
        columns.set_item("retransmission", recorder.sequences.retransmission.into_pyarray(py))?;
        traces.set_item("sequence", columns)?;
    }
    if wanted.rtt {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.timers.time))?;
        columns.set_item("flow", recorder.timers.flow.into_pyarray(py))?;
        columns.set_item("rtt_s", recorder.timers.rtt.into_pyarray(py))?;
        columns.set_item("srtt_s", recorder.timers.srtt.into_pyarray(py))?;
        columns.set_item("rto_s", recorder.timers.rto.into_pyarray(py))?;
        traces.set_item("rtt", columns)?;
    }
    if wanted.vc_queue {
        let columns = PyDict::new(py);
        let queues = recorder.vc_queues;
        columns.set_item("time_s", seconds(queues.time))?;
        columns.set_item("port", queues.port.into_pyarray(py))?;
        let flows: Vec<u32> = queues.vc.iter().map(|vc| vc / 2).collect();
        columns.set_item("flow", flows.into_pyarray(py))?;
        let acks: Vec<bool> = queues.vc.iter().map(|vc| vc % 2 == 1).collect();
        columns.set_item("acks", acks.into_pyarray(py))?;
        columns.set_item(held, queues.held.into_pyarray(py))?;
        traces.set_item("vc_queue", columns)?;
    }
    if wanted.delay {
        let columns = PyDict::new(py);
        let delays = recorder.delays;
        // If the link's rate is constant, the queueing delay excludes the packet's own transmission time.
        let own = |(&port, &bytes): (&u32, &u32)| {
            let link = &scenario.links[port as usize];
            let has_constant_rate = link.motion.as_ref().is_none_or(|motion| motion.service.is_none());
            let lasts = 8 * u128::from(bytes) * u128::from(PS_PER_SECOND) / u128::from(link.rate_bps);
            if has_constant_rate {
                lasts as u64
            } else {
                0
            }
        };
        let own = delays.port.iter().zip(&delays.bytes).map(own);
        let waited: Vec<u64> = delays
            .delay
            .iter()
            .zip(own)
            .map(|(all, own)| all.saturating_sub(own))
            .collect();
        columns.set_item("time_s", seconds(delays.time))?;
        columns.set_item("port", delays.port.into_pyarray(py))?;
        let flows: Vec<u32> = delays.vc.iter().map(|vc| vc / 2).collect();
        columns.set_item("flow", flows.into_pyarray(py))?;
        let acks: Vec<bool> = delays.vc.iter().map(|vc| vc % 2 == 1).collect();
        columns.set_item("acks", acks.into_pyarray(py))?;
        columns.set_item("bytes", delays.bytes.into_pyarray(py))?;
        columns.set_item("delay_s", seconds(waited))?;
        traces.set_item("delay", columns)?;
    }
    if wanted.drops {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.drops.time))?;
        columns.set_item("port", recorder.drops.port.into_pyarray(py))?;
        columns.set_item("flow", recorder.drops.flow.into_pyarray(py))?;
        columns.set_item("sequence_bytes", recorder.drops.sequence.into_pyarray(py))?;
        columns.set_item("cause", recorder.drops.cause.into_pyarray(py))?;
        traces.set_item("drops", columns)?;
    }
    if wanted.events {
        let columns = PyDict::new(py);
        let events = recorder.events;
        columns.set_item("time_s", seconds(events.time))?;
        columns.set_item("flow", events.flow.into_pyarray(py))?;
        columns.set_item("kind", events.event.into_pyarray(py))?;
        columns.set_item("event_cause", events.cause.into_pyarray(py))?;
        columns.set_item("drop_cause", events.drop_cause.into_pyarray(py))?;
        columns.set_item("sequence_bytes", events.sequence.into_pyarray(py))?;
        columns.set_item("length_bytes", events.length.into_pyarray(py))?;
        columns.set_item("cwnd_bytes", events.cwnd.into_pyarray(py))?;
        columns.set_item("ssthresh_bytes", events.ssthresh.into_pyarray(py))?;
        traces.set_item("events", columns)?;
    }
    if wanted.control {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.controls.time))?;
        columns.set_item("flow", recorder.controls.flow.into_pyarray(py))?;
        columns.set_item("stage", recorder.controls.stage.into_pyarray(py))?;
        columns.set_item("state", recorder.controls.state.into_pyarray(py))?;
        columns.set_item("pacing_bps", recorder.controls.pacing.into_pyarray(py))?;
        columns.set_item("bandwidth_bps", recorder.controls.bandwidth.into_pyarray(py))?;
        traces.set_item("control", columns)?;
    }
    if wanted.flight {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.flights.time))?;
        columns.set_item("flow", recorder.flights.flow.into_pyarray(py))?;
        columns.set_item("in_flight_bytes", recorder.flights.in_flight.into_pyarray(py))?;
        columns.set_item("limited_by", recorder.flights.limit.into_pyarray(py))?;
        traces.set_item("flight", columns)?;
    }
    if wanted.arrivals {
        let columns = PyDict::new(py);
        columns.set_item("time_s", seconds(recorder.arrivals.time))?;
        columns.set_item("flow", recorder.arrivals.flow.into_pyarray(py))?;
        columns.set_item("bytes", recorder.arrivals.bytes.into_pyarray(py))?;
        traces.set_item("arrivals", columns)?;
    }
    if wanted.packets {
        let columns = PyDict::new(py);
        let packets = recorder.packets;
        columns.set_item("time_s", seconds(packets.time))?;
        columns.set_item("flow", packets.flow.into_pyarray(py))?;
        columns.set_item("packet_event", packets.kind.into_pyarray(py))?;
        columns.set_item("packet_type", packets.packet_type.into_pyarray(py))?;
        columns.set_item("first_number", packets.first.into_pyarray(py))?;
        columns.set_item("last_number", packets.last.into_pyarray(py))?;
        columns.set_item("length_bytes", packets.length.into_pyarray(py))?;
        columns.set_item("evidence", packets.evidence.into_pyarray(py))?;
        traces.set_item("packets", columns)?;
    }
    Ok(())
}
