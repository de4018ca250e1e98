//! Tables of results: each column is declared once, with its kind, its meaning, its condition and its values.
//!
//! The bindings for Python and for the browser write these columns, and warm-ups subtract them by their kind.

use super::conditions::{
    contends, duplicates, grants, has_access, has_bit_errors, has_conditioner, has_ecn, moves, reroutes, retransmits,
    shapes, varies,
};
use super::files::File;
use super::flows::{ProxyReport, VideoReport};
use super::packets::{PacketReport, TimeVaryingReport};
use super::table::columns;
pub use super::table::{Column, Kind, Row, Run, Table, Values};
use crate::access::AccessReport;
use crate::scenario::{Framing, LinkConfig, Scenario, TrafficConfig};
use longpipe_events::{Span, Time, PS_PER_SECOND};

/// Returns the tables that a run has.
pub fn of(run: Run<'_>) -> impl Iterator<Item = &'static Table> + '_ {
    TABLES.iter().filter(move |table| (table.present)(&run))
}

/// Counters of the sender and the receiver of a connection; the number of the row is that of the flow.
#[allow(unused_variables)]
const SENDER: &[Column] = columns! {
    |run, index| flow = &run.report.flows[index];
    Count Kind::Counter, "delivered_bytes": "Bytes delivered in order to the application." => flow.delivered_bytes;
    Count Kind::State, "highest_sequence_bytes": "Sequence number after the last byte received." => flow.highest_sequence_bytes;
    Count Kind::Counter, "sent_segments": "Segments sent, with retransmissions." => flow.sender.sent_segments;
    Count Kind::Counter, "sent_bytes": "Payload sent, with retransmissions." => flow.sender.sent_bytes;
    Count Kind::Counter, "short_bytes": "Payload of the segments sent that were not full." => flow.sender.short_bytes;
    Count Kind::Counter, "retransmitted_segments": "Segments retransmitted." => flow.sender.retransmitted_segments;
    Count Kind::Counter, "retransmitted_bytes": "Payload retransmitted." => flow.sender.retransmitted_bytes;
    Count Kind::Counter, "timeouts": "Expirations of the retransmission timer." => flow.sender.timeouts;
    Count Kind::Counter, "fast_retransmits": "Recoveries that started without a timeout." => flow.sender.fast_retransmits;
};

/// All tables. The two tables of ports exclude each other.
#[allow(unused_variables)]
pub const TABLES: [Table; 17] = [
    Table {
        name: "flows",
        present: |_| true,
        rows: |run| flows(run),
        is_large: false,
        columns: &[
            columns! {
                |run, index| flow = &run.report.flows[index];
                Text Kind::State, "flow": "Name of the flow." => run.scenario.flows[index].name.clone();
            },
            SENDER,
            columns! {
                |run, index| flow = &run.report.flows[index];
                Count Kind::Counter, "mark_reductions": "Window reductions because of ECN marks." if has_ecn(run) => flow.sender.mark_reductions;
                Count Kind::Counter, "duplicate_acks": "Duplicate ACKs received." => flow.sender.duplicate_acks;
                Count Kind::Counter, "reordered_packets": "Packets that arrived after a packet that was sent later (RFC 4737)." => flow.reordered;
                Real Kind::State, "start_s": "Start of the application." => flow.start.as_seconds();
                Real Kind::State, "completion_s": "Time at which the last byte was delivered." => seconds(flow.completion);
            },
        ],
    },
    Table {
        name: "relays",
        present: |_| true,
        rows: |run| run.report.proxies.iter().map(|row| (row.flow, 0)).collect(),
        is_large: false,
        columns: &[
            columns! {
                |run, index| row = proxy(run, index);
                Text Kind::State, "connection": "Name of the connection that fills the buffer of the proxy." => run.scenario.flows[row.flow].name.clone();
                Text Kind::State, "flow": "Name of the split flow." => split_flow(run, index);
                Text Kind::State, "onward": "Name of the connection that empties the buffer." => run.scenario.flows[row.forwarded_over].name.clone();
            },
            SENDER,
            columns! {
                |run, index| row = proxy(run, index);
                Real Kind::Mean, "mean_buffer_bytes": "Time-averaged occupancy of the buffer." => row.mean_bytes;
                Count Kind::State, "peak_buffer_bytes": "Maximum occupancy of the buffer." => row.peak_bytes;
                Count Kind::State, "held_buffer_bytes": "Occupancy of the buffer at the end." => row.held_bytes;
                Count Kind::Counter, "window_updates": "ACKs that were pure window updates." => row.window_updates;
                Count Kind::Counter, "window_probes": "Zero-window probes that the sender sent." => row.window_probes;
            },
        ],
    },
    Table {
        name: "ports",
        present: |run| run.scenario.framing == Framing::Aal5,
        rows: |run| all(run.report.ports.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| port = &run.report.ports[index];
            Text Kind::State, "port": "Link whose port it is." => port_name(run.scenario, index);
            Text Kind::State, "kind": "Host or switch." => node_kind(port.host);
            Count Kind::Counter, "cells_in": "Cells that arrived." => port.cells_in;
            Count Kind::Counter, "cells_out": "Cells that left." => port.cells_out;
            Count Kind::Counter, "cells_lost_overflow": "Cells that found the buffer full." => port.lost_overflow;
            Count Kind::Counter, "cells_lost_aqm": "Cells of frames that the policy dropped." => port.lost_aqm;
            Count Kind::Counter, "cells_lost_discarded": "Cells discarded after a loss in their frame." => port.lost_discarded;
            Count Kind::Counter, "cells_lost_injected": "Cells of frames that the loss model dropped." => port.lost_injected;
            Count Kind::Counter, "cells_lost_outage": "Cells dropped at the port in an outage." if varies(run) => port.lost_outage;
            Count Kind::Counter, "cells_lost_on_wire": "Cells lost on the wire in an outage." if varies(run) => port.lost_on_wire;
            Count Kind::State, "cells_held": "Cells in the buffer at the end." => port.held;
            Count Kind::Counter, "frames_in": "Frames whose first cell arrived." => port.frames_in;
            Count Kind::Counter, "frames_damaged": "Frames that were admitted but lost a cell." => port.frames_damaged;
            Count Kind::Counter, "frames_lost_errors": "Frames lost to bit errors alone." if has_bit_errors(run) => port.frames_corrupted;
            Count Kind::State, "peak_queue_cells": "Maximum queue length." => port.peak_queue;
            Real Kind::Mean, "mean_queue_cells": "Time-averaged queue length." => port.mean_queue.unwrap_or(f64::NAN);
            Real Kind::Utilization, "utilization": "Share of the slots that carried a cell." => port.utilization;
        }],
    },
    Table {
        name: "ports",
        present: |run| run.scenario.framing == Framing::Ip,
        rows: |run| all(run.report.packet_ports.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| port = &run.report.packet_ports[index];
            Text Kind::State, "port": "Link whose port it is." => port_name(run.scenario, index);
            Text Kind::State, "kind": "Host or switch." => node_kind(port.host);
            Count Kind::Counter, "packets_in": "Packets that arrived." => port.packets_in;
            Count Kind::Counter, "packets_out": "Packets that left." => port.packets_out;
            Count Kind::Counter, "packets_lost_overflow": "Packets for which the buffer did not have room." => port.lost_overflow;
            Count Kind::Counter, "packets_lost_aqm": "Packets that a policy or discipline dropped for another cause." => port.lost_aqm;
            Count Kind::Counter, "packets_lost_injected": "Packets that the loss model dropped." => port.lost_injected;
            Count Kind::Counter, "packets_lost_errors": "Packets corrupted by bit errors; they count as left." if has_bit_errors(run) => port.corrupted;
            Count Kind::Counter, "packets_lost_rerouting": "Packets that arrived where no route continued; they count as left." if reroutes(run) => port.no_route;
            Count Kind::Counter, "packets_lost_policer": "Packets that a policer dropped." if has_conditioner(run, |_| true) => port.lost_policer;
            Count Kind::Counter, "packets_lost_access": "Packets whose transmissions failed at medium access." if has_access(run) => port.lost_access;
            Count Kind::Counter, "packets_duplicated": "Packets that arrived twice." if duplicates(run) => port.packets_duplicated;
            Count Kind::Counter, "bytes_duplicated": "Bytes of the packets that arrived twice." if duplicates(run) => port.bytes_duplicated;
            Count Kind::Counter, "packets_marked": "Packets that were marked, and admitted or sent." => port.packets_marked;
            Count Kind::State, "packets_held": "Packets held at the end." => port.packets_held;
            Count Kind::Counter, "bytes_in": "Bytes of the packets that arrived." => port.bytes_in;
            Count Kind::Counter, "bytes_out": "Bytes of the packets that left." => port.bytes_out;
            Count Kind::Counter, "bytes_lost": "Bytes of the lost packets." => port.bytes_lost;
            Count Kind::State, "bytes_held": "Bytes held at the end." => port.bytes_held;
            Count Kind::State, "peak_queue_packets": "Maximum number of packets held." => port.peak_packets;
            Count Kind::State, "peak_queue_bytes": "Maximum number of bytes held." => port.peak_bytes;
            Real Kind::Mean, "mean_queue_packets": "Time-averaged number of packets held." => port.mean_packets.unwrap_or(f64::NAN);
            Count Kind::Counter, "shaper_bytes": "Bytes that the shaper of CAKE counted." if shapes(run) => port.shaper_bytes;
            Count Kind::Counter, "packets_lost_outage": "Packets dropped at the port in an outage." if moves(run) => motion(port).lost_outage;
            Count Kind::Counter, "packets_lost_on_wire": "Packets lost on the wire in an outage." if moves(run) => motion(port).lost_on_wire;
            Count Kind::Counter, "overtakings": "Packets that overtook others on the wire." if moves(run) => motion(port).overtakings.packets;
            Count Kind::State, "furthest_overtaking": "Maximum number of packets that one packet overtook." if moves(run) => motion(port).overtakings.furthest;
            Count Kind::Counter, "requests": "Requests for capacity that the port has sent." if grants(run) => access(port).requests;
            Count Kind::Counter, "requests_lost": "Requests that did not reach the gateway." if grants(run) => access(port).requests_lost;
            Count Kind::Counter, "grants": "Transmissions that have been granted, and whose times have come." if grants(run) => access(port).granted;
            Count Kind::Counter, "grants_used": "Granted transmissions that carried data." if grants(run) => access(port).used;
            Count Kind::Counter, "attempts": "Transmissions without a grant." if has_access(run) => access(port).attempts;
            Count Kind::Counter, "collisions": "Transmissions without a grant that collisions lost." if has_access(run) => access(port).collisions;
            Count Kind::Counter, "access_overhead_bytes": "Headers of the access and padding in transmissions with data." if has_access(run) => access(port).overhead_bytes;
            Real Kind::Counter, "waiting_for_grant_s": "Time in which data waited for a granted transmission." if grants(run) => access(port).waiting.as_seconds();
            Count Kind::Counter, "retransmissions": "Frames that the port has retransmitted, below IP." if retransmits(run) => access(port).retransmissions;
            Real Kind::Counter, "airtime_s": "Time of the port's transmissions and of their responses." if retransmits(run) => access(port).airtime.as_seconds();
            Real Kind::Counter, "waiting_for_medium_s": "Time in which data waited for a shared medium." if contends(run) => access(port).waiting_for_medium.as_seconds();
            Real Kind::Utilization, "utilization": "Share of the line's capacity that was used." => port.utilization;
        }],
    },
    Table {
        name: "queues",
        present: |_| true,
        rows: |run| all(run.report.queues.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.queues[index];
            Text Kind::State, "port": "Link whose port it is." => port_name(run.scenario, row.port);
            Text Kind::State, "queue": "Queue of the discipline." => run.scenario.links[row.port].policy.queue_names().swap_remove(row.queue);
            Count Kind::Counter, "packets_in": "Packets that arrived." => row.counters.packets_in;
            Count Kind::Counter, "packets_out": "Packets that were passed to the transmitter." => row.counters.packets_out;
            Count Kind::Counter, "packets_lost_overflow": "Packets for which the buffer did not have room." => row.counters.lost_overflow;
            Count Kind::Counter, "packets_lost_aqm": "Packets that the discipline dropped for another cause." => row.counters.lost_aqm;
            Count Kind::Counter, "packets_lost_outage": "Packets that an outage dropped." if moves(run) => row.counters.lost_outage;
            Count Kind::Counter, "packets_marked": "Packets that were marked and passed to the transmitter." => row.counters.packets_marked;
            Count Kind::State, "packets_held": "Packets held at the end." => row.counters.packets_held();
            Count Kind::Counter, "bytes_in": "Bytes of the packets that arrived." => row.counters.bytes_in;
            Count Kind::Counter, "bytes_out": "Bytes of the packets that were passed to the transmitter." => row.counters.bytes_out;
            Count Kind::Counter, "bytes_lost": "Bytes of the lost packets." => row.counters.bytes_lost;
            Count Kind::State, "bytes_held": "Bytes held at the end." => row.counters.bytes_held();
            Count Kind::State, "peak_queue_packets": "Maximum number of packets that waited." => row.counters.peak_packets;
            Real Kind::Mean, "mean_queue_packets": "Time-averaged number of packets that waited." => row.mean_packets;
            Real Kind::MeanOver("packets_out"), "mean_delay_s": "Mean time from arrival to the start of transmission." =>
                row.counters.mean_delay().map_or(f64::NAN, |delay| delay / PS_PER_SECOND as f64);
        }],
    },
    Table {
        name: "classes",
        present: |_| true,
        rows: |run| all(run.report.classes.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.classes[index];
            Text Kind::State, "port": "Link whose port it is." => port_name(run.scenario, row.port);
            Text Kind::State, "class": "Service class." => row.class.name().to_string();
            Count Kind::Counter, "cells_in": "Cells that arrived." => row.counters.cells_in;
            Count Kind::Counter, "cells_out": "Cells whose slot has ended." => row.counters.cells_out;
            Count Kind::Counter, "cells_lost": "Cells lost from all causes." => row.counters.lost();
            Count Kind::State, "cells_held": "Cells in the buffer at the end." => row.held;
            Count Kind::State, "peak_queue_cells": "Maximum queue length." => row.counters.peak_queue;
            Real Kind::Mean, "mean_queue_cells": "Time-averaged queue length." => row.mean_queue.unwrap_or(f64::NAN);
        }],
    },
    Table {
        name: "vbr",
        present: |_| true,
        rows: |run| all(run.scenario.vbr.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.sources[index];
            Text Kind::State, "source": "Name of the source." => run.scenario.vbr[index].name.clone();
            Count Kind::Counter, "cells_sent": "Cells that left the source." => row.sent;
            Count Kind::Counter, "cells_delivered": "Cells that arrived at the sink." => row.delivered;
            Count Kind::Counter, "cells_lost": "Cells that were not delivered although a later cell was." => row.lost;
            Real Kind::MeanOver("cells_delivered"), "mean_delay_s": "Mean delay from generation to arrival." => row.mean_delay;
            Real Kind::State, "min_delay_s": "Minimum delay." => row.delays.map_or(f64::NAN, |(least, _)| least.as_seconds());
            Real Kind::State, "max_delay_s": "Maximum delay." => row.delays.map_or(f64::NAN, |(_, most)| most.as_seconds());
        }],
    },
    Table {
        name: "guaranteed",
        present: |_| true,
        rows: |run| all(run.report.guaranteed.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.guaranteed[index];
            Text Kind::State, "flow": "Name of the flow." => run.scenario.flows[row.flow].name.clone();
            Count Kind::Counter, "frames_in": "Frames whose last cell arrived at the first switch." => row.frames_in;
            Count Kind::Counter, "frames_ineligible": "Frames among them that the F-GCRA found not eligible." => row.frames_ineligible;
            Count Kind::Counter, "cells_in": "Cells that arrived at the first switch." => row.cells_in;
            Count Kind::Counter, "cells_ineligible": "Cells of the frames that were not eligible." => row.cells_ineligible;
            Count Kind::Counter, "cells_delivered": "Cells of the frames that reached the receiver complete." => row.cells_delivered;
        }],
    },
    Table {
        name: "datagrams",
        present: |_| true,
        rows: |run| all(run.report.datagrams.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.datagrams[index];
            Text Kind::State, "flow": "Name of the flow." => run.scenario.flows[row.flow].name.clone();
            Count Kind::Counter, "sent": "Datagrams sent." => row.sent;
            Count Kind::Counter, "received": "Datagrams received, without duplicates." => row.received;
            Count Kind::Counter, "duplicates": "Duplicates received." => row.duplicates;
            Count Kind::Counter, "lost": "Lost datagrams that were sent before the last one received." => row.lost;
            Count Kind::Counter, "sent_bytes": "Payload sent." => row.sent_bytes;
            Count Kind::Counter, "received_bytes": "Payload received, without duplicates." => row.received_bytes;
            Real Kind::MeanOver("received"), "mean_delay_s": "Mean one-way delay." => row.delays.mean();
            Real Kind::State, "min_delay_s": "Minimum one-way delay." => row.delays.extremes().0;
            Real Kind::Quantile(0.5), "median_delay_s": "Median of the one-way delays." => row.delays.quantile(0.5);
            Real Kind::Quantile(0.95), "p95_delay_s": "95 % quantile of the one-way delays." => row.delays.quantile(0.95);
            Real Kind::Quantile(0.99), "p99_delay_s": "99 % quantile of the one-way delays." => row.delays.quantile(0.99);
            Real Kind::State, "max_delay_s": "Maximum one-way delay." => row.delays.extremes().1;
            Real Kind::State, "jitter_s": "Interarrival jitter (RFC 3550)." => row.delays.jitter();
        }],
    },
    Table {
        name: "web",
        present: |_| true,
        rows: |run| all(run.report.web.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.web[index];
            Text Kind::State, "flow": "Name of the flow." => run.scenario.flows[row.flow].name.clone();
            Count Kind::Counter, "requests": "Files requested." => row.files.len() as u64;
            Count Kind::Counter, "answered_requests": "Requests to which the server has responded." => count(&row.files, |file| file.answered);
            Count Kind::Counter, "completed_files": "Files received completely." => count(&row.files, |file| file.completed);
            Count Kind::State, "scheduled_bytes": "Bytes that the server has written." => row.scheduled_bytes;
            Count Kind::Counter, "retransmitted_request_segments": "Segments of requests retransmitted." => row.requests.retransmitted_segments;
            Count Kind::Counter, "request_timeouts": "Timeouts of the sender of requests." => row.requests.timeouts;
        }],
    },
    Table {
        name: "arrived",
        present: |_| true,
        rows: |run| all(run.report.arrived.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.arrived[index];
            Text Kind::State, "flow": "Name of the flow in the scenario." => run.scenario.flows[row.flow].name.clone();
            Count Kind::Counter, "arrived": "Flows that arrived." => row.flows.len() as u64;
            Count Kind::Counter, "completed": "Flows that were completed." =>
                row.flows.iter().filter(|flow| flow.completed.get().is_some()).count() as u64;
            Count Kind::Counter, "waited": "Flows whose start was delayed." => row.waited;
            Count Kind::State, "peak_active": "Maximum number of simultaneously active flows." => row.peak;
            Count Kind::State, "arrived_bytes": "Bytes of the flows that arrived." => row.flows.iter().map(|flow| flow.bytes).sum();
        }],
    },
    Table {
        name: "streams",
        present: |_| true,
        rows: |run| all(run.report.streams.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.streams[index];
            Text Kind::State, "flow": "Name of the flow." => run.scenario.flows[row.flow].name.clone();
            Count Kind::State, "written_bytes": "Bytes that the application has written to its socket." => row.written_bytes;
        }],
    },
    Table {
        name: "media",
        present: |run| !run.report.media.is_empty(),
        rows: |run| all(run.report.media.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.media[index];
            Text Kind::State, "flow": "Name of the flow." => run.scenario.flows[row.flow].name.clone();
            Count Kind::Counter, "frames": "Frames that the encoder has produced." => row.frames.frames;
            Count Kind::Counter, "frame_bytes": "Bytes of these frames." => row.frames.bytes;
            Count Kind::Counter, "received": "Frames that arrived completely." => row.frames.received;
            Real Kind::MeanOver("received"), "mean_delay_s": "Mean delay from the encoder to the last byte at the receiver." =>
                row.frames.mean_delay_s();
            Count Kind::Counter, "late": "Frames that arrived after their deadline." => row.frames.late;
            Real Kind::State, "max_delay_s": "Maximum delay in the whole run." => row.frames.max_delay.as_seconds();
        }],
    },
    Table {
        name: "videos",
        present: |_| true,
        rows: |run| all(run.report.videos.len()),
        is_large: false,
        columns: &[columns! {
            |run, index| row = &run.report.videos[index];
            Text Kind::State, "flow": "Name of the flow." => run.scenario.flows[row.flow].name.clone();
            Count Kind::Counter, "chunks": "Chunks requested." => row.chunks.len() as u64;
            Count Kind::Counter, "received": "Chunks received." => count(&row.chunks, |chunk| chunk.completed);
            Real Kind::MeanOver("received"), "mean_bitrate_bps": "Mean bitrate of the chunks received." => mean_bps(run, row);
            Count Kind::Counter, "switches": "Changes of the bitrate between consecutive chunks." =>
                row.chunks.windows(2).filter(|pair| pair[0].class != pair[1].class).count() as u64;
            Real Kind::Counter, "played_s": "Time in playback." => row.playback.played.as_seconds();
            Real Kind::Counter, "stalled_s": "Time in stalls." => row.playback.stalled.as_seconds();
            Count Kind::Counter, "stalls": "Stalls." => row.playback.stalls;
            Real Kind::Counter, "downloading_s": "Time in which the player waited for a chunk." => downloading(run, row).as_seconds();
            Real Kind::State, "startup_s": "Time from the start of the flow to the start of playback." =>
                row.playback.began.map_or(f64::NAN, |began| began.since(run.report.flows[row.flow].start).as_seconds());
            Count Kind::State, "scheduled_bytes": "Bytes that the server has written." =>
                row.chunks.iter().filter(|chunk| chunk.answered.is_some()).map(|chunk| chunk.bytes).sum();
        }],
    },
    Table {
        name: "files",
        present: |_| true,
        rows: |run| items(run.report.web.iter().map(|web| web.files.len())),
        is_large: false,
        columns: &[columns! {
            |run, index, item| file = &run.report.web[index].files[item];
            Number Kind::State, "flow": "Flow." => run.report.web[index].flow as u32;
            Number Kind::State, "class": "Class of the file." => file.class;
            Count Kind::State, "size_bytes": "Size of the file." => file.bytes;
            Real Kind::State, "requested_s": "Time of the request." => file.requested.as_seconds();
            Real Kind::State, "answered_s": "Time at which the whole request had reached the server." => seconds(file.answered);
            Real Kind::State, "completed_s": "Time at which the client had received the whole file." => seconds(file.completed);
        }],
    },
    Table {
        name: "completions",
        present: |run| run.report.arrived.iter().any(|own| !own.flows.is_empty()),
        rows: |run| items(run.report.arrived.iter().map(|own| own.flows.len())),
        is_large: true,
        columns: &[columns! {
            |run, index, item| arrived = &run.report.arrived[index].flows[item];
            Number Kind::State, "flow": "Flow in the scenario." => run.report.arrived[index].flow as u32;
            Count Kind::State, "size_bytes": "Size of the transfer." => arrived.bytes;
            Real Kind::State, "arrival_s": "Time of the arrival." => arrived.arrived.as_seconds();
            Real Kind::State, "completion_s": "Time at which the last byte was delivered." => seconds(arrived.completed.get());
        }],
    },
    Table {
        name: "chunks",
        present: |run| !run.report.videos.is_empty(),
        rows: |run| items(run.report.videos.iter().map(|video| video.chunks.len())),
        is_large: false,
        columns: &[columns! {
            |run, index, item| chunk = &run.report.videos[index].chunks[item];
            Number Kind::State, "flow": "Flow." => run.report.videos[index].flow as u32;
            Count Kind::State, "bitrate_bps": "Bitrate of the chunk." => bitrate(run, &run.report.videos[index], chunk);
            Count Kind::State, "size_bytes": "Size of the chunk." => chunk.bytes;
            Real Kind::State, "requested_s": "Time of the request." => chunk.requested.as_seconds();
            Real Kind::State, "answered_s": "Time at which the whole request had reached the server." => seconds(chunk.answered);
            Real Kind::State, "completed_s": "Time at which the player had received the whole chunk." => seconds(chunk.completed);
        }],
    },
];

/// Returns the rows of tables without items.
fn all(row_count: usize) -> Vec<Row> {
    (0..row_count).map(|row| (row, 0)).collect()
}

/// Returns the rows of tables with items, from the number of items of each row of the report.
fn items(counts: impl Iterator<Item = usize>) -> Vec<Row> {
    let rows = counts.enumerate();
    rows.flat_map(|(row, count)| (0..count).map(move |item| (row, item)))
        .collect()
}

/// Returns the numbers of the flows that end at a receiver; a split flow has one row, which describes its last connection.
fn flows(run: &Run<'_>) -> Vec<Row> {
    let numbered = run.scenario.flows.iter().enumerate();
    numbered
        .filter(|(_, flow)| flow.onward.is_none())
        .map(|(number, _)| (number, 0))
        .collect()
}

/// Returns the buffer that a flow fills.
fn proxy<'a>(run: &Run<'a>, flow: usize) -> &'a ProxyReport {
    let mut proxies = run.report.proxies.iter();
    proxies.find(|proxy| proxy.flow == flow).expect("each row is a proxy")
}

/// Returns the name of the split flow to which a connection belongs: that of its last connection.
fn split_flow(run: &Run<'_>, mut flow: usize) -> String {
    while let Some(onward) = run.scenario.flows[flow].onward {
        flow = onward.flow;
    }
    run.scenario.flows[flow].name.clone()
}

/// Returns the name of a link's port in tables.
pub fn port_name(scenario: &Scenario, link: usize) -> String {
    let LinkConfig { from, to, .. } = scenario.links[link];
    format!("{}->{}", scenario.nodes[from].name, scenario.nodes[to].name)
}

fn node_kind(is_host: bool) -> String {
    if is_host { "host" } else { "switch" }.to_string()
}

fn motion(port: &PacketReport) -> TimeVaryingReport {
    port.motion.unwrap_or_default()
}

fn access(port: &PacketReport) -> AccessReport {
    port.access.unwrap_or_default()
}

fn seconds(time: Option<Time>) -> f64 {
    time.map_or(f64::NAN, Time::as_seconds)
}

fn count(files: &[File], instant: fn(&File) -> Option<Time>) -> u64 {
    files.iter().filter(|file| instant(file).is_some()).count() as u64
}

/// Returns the time in which the player waited for a chunk, until the end of the run; it requests one chunk at a time.
fn downloading(run: &Run<'_>, video: &VideoReport) -> Span {
    let end = Time(run.scenario.duration_ps);
    let spans = video
        .chunks
        .iter()
        .map(|chunk| chunk.completed.unwrap_or(end).since(chunk.requested).0);
    Span(spans.sum())
}

/// Returns the mean bitrate [bit/s] of the chunks that have been received; NaN if there are none.
fn mean_bps(run: &Run<'_>, video: &VideoReport) -> f64 {
    let received = video.chunks.iter().filter(|chunk| chunk.completed.is_some());
    let (sum, number) = received.fold((0, 0), |(sum, number), chunk| {
        (sum + bitrate(run, video, chunk), number + 1)
    });
    sum as f64 / f64::from(number)
}

/// Returns the bitrate of a chunk [bit/s].
fn bitrate(run: &Run<'_>, video: &VideoReport, chunk: &File) -> u64 {
    match &run.scenario.flows[video.flow].traffic {
        TrafficConfig::AdaptiveVideo(config) => config.ladder_bps[chunk.class as usize],
        _ => 0,
    }
}
