//! Traces of a run as tables: the names and values of their columns, and the names of numbered values.

use crate::access::StationAction;
use crate::observe::recorder::Recorder;
use crate::observe::traces::DelayTrace;
use crate::packets::drops::DropCause;
use crate::scenario::{Framing, Scenario};
use longpipe_events::PS_PER_SECOND;
use longpipe_tcp::congestion::path_model::Stage;
use longpipe_tcp::journal::losses::LossCause;
use longpipe_tcp::journal::{CongestionState, EventCause, EventKind};
use longpipe_tcp::sender::SendLimit;
use strum::VariantNames;

/// Values of a column.
#[derive(Clone, Debug)]
pub enum Values {
    /// Times [ps], which tables show in seconds.
    Times(Vec<u64>),
    /// Numbers of flows and ports, and lengths.
    U32(Vec<u32>),
    /// Numbers of kinds and causes.
    U8(Vec<u8>),
    /// Numbers of states; -1 if there is none.
    I8(Vec<i8>),
    /// Counts and sequence numbers.
    U64(Vec<u64>),
    /// Sequence numbers and packet numbers; -1 if there is none.
    I64(Vec<i64>),
    /// Real numbers; NaN if there is no value.
    F64(Vec<f64>),
    /// Whether a row has a property.
    Bools(Vec<bool>),
}

/// A trace as a table, with its columns in order.
#[derive(Clone, Debug)]
pub struct TraceTable {
    /// Name of the trace in the scenario's table `traces`.
    pub name: &'static str,
    /// Names and values of the columns.
    pub columns: Vec<(&'static str, Values)>,
}

/// Returns for each column of numbered values: the name of the column, and the name of each value.
pub fn value_names() -> Vec<(&'static str, Vec<&'static str>)> {
    let and = |first: &'static str, others: &[&'static str]| [&[first], others].concat();
    vec![
        ("cause", and("marked", DropCause::VARIANTS)),
        ("drop_cause", causes_of_reductions()),
        ("kind", and("dropped", EventKind::VARIANTS)),
        ("action", StationAction::VARIANTS.to_vec()),
        ("event_cause", EventCause::VARIANTS.to_vec()),
        ("stage", Stage::VARIANTS.to_vec()),
        ("state", CongestionState::VARIANTS.to_vec()),
        ("limited_by", SendLimit::VARIANTS.to_vec()),
    ]
}

/// Returns the names of the causes of window reductions, by the number of the `LossCause`.
pub fn causes_of_reductions() -> Vec<&'static str> {
    let mut names = vec!["none"; usize::from(LossCause::FIRST.0)];
    names[usize::from(LossCause::MARK.0)] = "ecn";
    [&names, DropCause::VARIANTS].concat()
}

/// Returns the requested traces, each declared with the form `Values(...)` and the values of its columns.
macro_rules! traces {
    ($wanted:expr, $($trace:ident { $($column:tt: $form:ident($values:expr),)+ })+) => {
        [$(($wanted.$trace, stringify!($trace), vec![$(($column, Values::$form($values)),)+]),)+]
            .into_iter()
            .filter(|(requested, ..)| *requested)
            .map(|(_, name, columns)| TraceTable { name, columns })
            .collect()
    };
}

impl Recorder {
    /// Returns the traces that the scenario requests.
    pub fn into_tables(self, scenario: &Scenario) -> Vec<TraceTable> {
        let traces = scenario.traces;
        let held = match scenario.framing {
            Framing::Aal5 => "queue_cells",
            Framing::Ip => "queue_packets",
        };
        let flows_of = |circuits: &[u32]| circuits.iter().map(|vc| vc / 2).collect();
        let acks_of = |circuits: &[u32]| circuits.iter().map(|vc| vc % 2 == 1).collect();
        let (windows, queues, sequences, timers) = (self.windows, self.queues, self.sequences, self.timers);
        let (of_circuits, delays, drops, events) = (self.vc_queues, self.delays, self.drops, self.events);
        let (controls, flights, arrivals, packets) = (self.controls, self.flights, self.arrivals, self.packets);
        let grants = self.grants;
        let waited = waits(&delays, scenario);
        traces! { traces,
            cwnd {
                "time_s": Times(windows.time),
                "flow": U32(windows.flow),
                "cwnd_bytes": F64(windows.cwnd),
                "ssthresh_bytes": F64(windows.ssthresh),
            }
            queue {
                "time_s": Times(queues.time),
                "port": U32(queues.port),
                held: U64(queues.held),
            }
            sequence {
                "time_s": Times(sequences.time),
                "flow": U32(sequences.flow),
                "event": U8(sequences.event),
                "sequence_bytes": U64(sequences.sequence),
                "length_bytes": U32(sequences.length),
                "retransmission": Bools(sequences.retransmission),
            }
            rtt {
                "time_s": Times(timers.time),
                "flow": U32(timers.flow),
                "rtt_s": F64(timers.rtt),
                "srtt_s": F64(timers.srtt),
                "rto_s": F64(timers.rto),
            }
            vc_queue {
                "time_s": Times(of_circuits.time),
                "port": U32(of_circuits.port),
                "flow": U32(flows_of(&of_circuits.vc)),
                "acks": Bools(acks_of(&of_circuits.vc)),
                held: U32(of_circuits.held),
            }
            delay {
                "time_s": Times(delays.time),
                "port": U32(delays.port),
                "flow": U32(flows_of(&delays.vc)),
                "acks": Bools(acks_of(&delays.vc)),
                "bytes": U32(delays.bytes),
                "delay_s": Times(waited),
            }
            drops {
                "time_s": Times(drops.time),
                "port": U32(drops.port),
                "flow": U32(drops.flow),
                "sequence_bytes": I64(drops.sequence),
                "cause": U8(drops.cause),
            }
            grants {
                "time_s": Times(grants.time),
                "port": U32(grants.port),
                "action": U8(grants.action),
                "bytes": U64(grants.bytes),
                "rate_bps": U64(grants.rate_bps),
                "waited_s": Times(grants.waited),
            }
            events {
                "time_s": Times(events.time),
                "flow": U32(events.flow),
                "kind": U8(events.event),
                "event_cause": U8(events.cause),
                "drop_cause": U8(events.drop_cause),
                "sequence_bytes": U64(events.sequence),
                "length_bytes": U64(events.length),
                "cwnd_bytes": F64(events.cwnd),
                "ssthresh_bytes": F64(events.ssthresh),
            }
            control {
                "time_s": Times(controls.time),
                "flow": U32(controls.flow),
                "stage": I8(controls.stage),
                "state": I8(controls.state),
                "pacing_bps": F64(controls.pacing),
                "bandwidth_bps": F64(controls.bandwidth),
            }
            flight {
                "time_s": Times(flights.time),
                "flow": U32(flights.flow),
                "in_flight_bytes": U64(flights.in_flight),
                "limited_by": U8(flights.limit),
            }
            arrivals {
                "time_s": Times(arrivals.time),
                "flow": U32(arrivals.flow),
                "bytes": U32(arrivals.bytes),
            }
            packets {
                "time_s": Times(packets.time),
                "flow": U32(packets.flow),
                "packet_event": U8(packets.kind),
                "packet_type": U8(packets.packet_type),
                "first_number": I64(packets.first),
                "last_number": I64(packets.last),
                "length_bytes": U32(packets.length),
                "evidence": U8(packets.evidence),
            }
        }
    }
}

/// Returns the queueing delays [ps] of packets; if the link's rate is constant, they exclude the packet's own transmission.
fn waits(delays: &DelayTrace, scenario: &Scenario) -> Vec<u64> {
    let own = |port: u32, bytes: u32| {
        let link = &scenario.links[port as usize];
        let has_constant_rate = link.motion.as_ref().is_none_or(|motion| motion.service.is_none());
        let lasts = 8 * u128::from(bytes) * u128::from(PS_PER_SECOND) / u128::from(link.rate_bps);
        if has_constant_rate {
            lasts as u64
        } else {
            0
        }
    };
    let rows = delays.port.iter().zip(&delays.bytes).zip(&delays.delay);
    rows.map(|((&port, &bytes), delay)| delay.saturating_sub(own(port, bytes)))
        .collect()
}
