//! Traces of a run as tables: the names of their columns, the values, and the names of numbered values.

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
    Words(Vec<u32>),
    /// Numbers of kinds and causes.
    Bytes(Vec<u8>),
    /// Numbers of states; -1 if there is none.
    Signed(Vec<i8>),
    /// Counts and sequence numbers.
    Counts(Vec<u64>),
    /// Sequence numbers and packet numbers; -1 if there is none.
    Places(Vec<i64>),
    /// Real numbers; NaN if there is no value.
    Reals(Vec<f64>),
    /// Whether a row has a property.
    Flags(Vec<bool>),
}

/// A trace as a table, with its columns in order.
#[derive(Clone, Debug)]
pub struct TraceTable {
    /// Name of the trace in the scenario's table `traces`.
    pub name: &'static str,
    /// Names and values of the columns.
    pub columns: Vec<(&'static str, Values)>,
}

/// Returns the names of the numbered values of columns, by the name of the column.
pub fn names() -> Vec<(&'static str, Vec<&'static str>)> {
    let and = |first: &'static str, others: &[&'static str]| [&[first], others].concat();
    vec![
        ("cause", and("marked", DropCause::VARIANTS)),
        ("drop_cause", causes_of_reductions()),
        ("kind", and("dropped", EventKind::VARIANTS)),
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
        let wanted = scenario.traces;
        let held = match scenario.framing {
            Framing::Aal5 => "queue_cells",
            Framing::Ip => "queue_packets",
        };
        let flows_of = |circuits: &[u32]| circuits.iter().map(|vc| vc / 2).collect();
        let acks_of = |circuits: &[u32]| circuits.iter().map(|vc| vc % 2 == 1).collect();
        let (windows, queues, sequences, timers) = (self.windows, self.queues, self.sequences, self.timers);
        let (of_circuits, delays, drops, events) = (self.vc_queues, self.delays, self.drops, self.events);
        let (controls, flights, arrivals, packets) = (self.controls, self.flights, self.arrivals, self.packets);
        let waited = waits(&delays, scenario);
        traces! { wanted,
            cwnd {
                "time_s": Times(windows.time),
                "flow": Words(windows.flow),
                "cwnd_bytes": Reals(windows.cwnd),
                "ssthresh_bytes": Reals(windows.ssthresh),
            }
            queue {
                "time_s": Times(queues.time),
                "port": Words(queues.port),
                held: Counts(queues.held),
            }
            sequence {
                "time_s": Times(sequences.time),
                "flow": Words(sequences.flow),
                "event": Bytes(sequences.event),
                "sequence_bytes": Counts(sequences.sequence),
                "length_bytes": Words(sequences.length),
                "retransmission": Flags(sequences.retransmission),
            }
            rtt {
                "time_s": Times(timers.time),
                "flow": Words(timers.flow),
                "rtt_s": Reals(timers.rtt),
                "srtt_s": Reals(timers.srtt),
                "rto_s": Reals(timers.rto),
            }
            vc_queue {
                "time_s": Times(of_circuits.time),
                "port": Words(of_circuits.port),
                "flow": Words(flows_of(&of_circuits.vc)),
                "acks": Flags(acks_of(&of_circuits.vc)),
                held: Words(of_circuits.held),
            }
            delay {
                "time_s": Times(delays.time),
                "port": Words(delays.port),
                "flow": Words(flows_of(&delays.vc)),
                "acks": Flags(acks_of(&delays.vc)),
                "bytes": Words(delays.bytes),
                "delay_s": Times(waited),
            }
            drops {
                "time_s": Times(drops.time),
                "port": Words(drops.port),
                "flow": Words(drops.flow),
                "sequence_bytes": Places(drops.sequence),
                "cause": Bytes(drops.cause),
            }
            events {
                "time_s": Times(events.time),
                "flow": Words(events.flow),
                "kind": Bytes(events.event),
                "event_cause": Bytes(events.cause),
                "drop_cause": Bytes(events.drop_cause),
                "sequence_bytes": Counts(events.sequence),
                "length_bytes": Counts(events.length),
                "cwnd_bytes": Reals(events.cwnd),
                "ssthresh_bytes": Reals(events.ssthresh),
            }
            control {
                "time_s": Times(controls.time),
                "flow": Words(controls.flow),
                "stage": Signed(controls.stage),
                "state": Signed(controls.state),
                "pacing_bps": Reals(controls.pacing),
                "bandwidth_bps": Reals(controls.bandwidth),
            }
            flight {
                "time_s": Times(flights.time),
                "flow": Words(flights.flow),
                "in_flight_bytes": Counts(flights.in_flight),
                "limited_by": Bytes(flights.limit),
            }
            arrivals {
                "time_s": Times(arrivals.time),
                "flow": Words(arrivals.flow),
                "bytes": Words(arrivals.bytes),
            }
            packets {
                "time_s": Times(packets.time),
                "flow": Words(packets.flow),
                "packet_event": Bytes(packets.kind),
                "packet_type": Bytes(packets.packet_type),
                "first_number": Places(packets.first),
                "last_number": Places(packets.last),
                "length_bytes": Words(packets.length),
                "evidence": Bytes(packets.evidence),
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
