//! The controller of control.c in Zig.
//!
//! Build it with `zig build-lib -dynamic -O ReleaseFast control.zig`, or for longpipe's sandbox with
//! `zig build-exe -target wasm32-freestanding -fno-entry -O ReleaseSmall --export=longpipe_control --export=longpipe_facts`
//! `--export-table --growable-table control.zig`.
//!
//! SPDX-License-Identifier: Apache-2.0

const std = @import("std");
const builtin = @import("builtin");

// The structures of longpipe_control.h, version 1.

const Flight = extern struct {
    now_ps: u64,
    una: u64,
    nxt: u64,
    max: u64,
    cwnd: f64,
    ssthresh: f64,
    rwnd: u64,
    mss: u32,
    reserved: u32,
};

const Grant = extern struct {
    window: f64,
    ssthresh: f64,
    pacing_bps: f64,
    burst_segments: u32,
    reserved: u32,
};

const Ack = extern struct {
    acked: u64,
    delivered: u64,
    marked: u64,
    lost: u64,
    in_flight_before: u64,
    in_flight: u64,
    most_in_flight: u64,
    cwnd: f64,
    rtt_ps: i64,
    srtt_ps: i64,
    min_rtt_ps: i64,
    held_ps: u64,
    rate_delivered: u64,
    rate_interval_ps: i64,
    rate_prior_delivered: u64,
    rate_in_flight: u64,
    rate_lost: u64,
    rate_app_limited: u32,
    grows: u32,
    open: u32,
    phase: u32,
    window_limited: u32,
    window_was_full: u32,
    paced: u32,
    reordered: u32,
};

const Parameter = extern struct {
    name: ?[*:0]const u8,
    type: enum(u32) { integer, real, text },
    reserved: u32 = 0,
    set: ?*const fn (*const Parameter, *const anyopaque) callconv(.c) c_int = null,
    at: ?*anyopaque = null,
};

const Control = extern struct {
    version: u32 = 1,
    size: u32 = @sizeOf(Control),
    name: [*:0]const u8,
    open: ?*const anyopaque = null,
    parameters: ?*const fn () callconv(.c) [*]const Parameter = null,
    wants: ?*const fn () callconv(.c) u32 = null,
    create: *const fn (*const anyopaque) callconv(.c) ?*Flow,
    destroy: *const fn (*Flow) callconv(.c) void,
    on_start: ?*const anyopaque = null,
    on_sample: ?*const anyopaque = null,
    on_ack: *const fn (*Flow, *const Ack, *const Flight, *Grant) callconv(.c) void,
    on_sent: ?*const anyopaque = null,
    on_lost: ?*const anyopaque = null,
    on_reduction: *const fn (*Flow, c_int, *const Flight, *Grant) callconv(.c) void,
    on_recovered: ?*const anyopaque = null,
};

const timeout = 1;

/// Facts that longpipe reads without loading the object: LONGPIPE_FACT of the header.
const facts = "\x01longpipe\x01interface=1\x00" ++
    "\x01longpipe\x01parameter=beta:real\x00" ++
    "\x01longpipe\x01parameter=gain:integer\x00";
export const longpipe_facts: [facts.len]u8 = facts.*;

var beta: f64 = 0.5;
var gain: i64 = 1;

fn setBeta(_: *const Parameter, value: *const anyopaque) callconv(.c) c_int {
    const wanted = @as(*const f64, @ptrCast(@alignCast(value))).*;
    if (wanted <= 0 or wanted >= 1) return -1;
    beta = wanted;
    return 0;
}

fn setGain(_: *const Parameter, value: *const anyopaque) callconv(.c) c_int {
    gain = @as(*const i64, @ptrCast(@alignCast(value))).*;
    return if (gain >= 1) 0 else -1;
}

const known = [_]Parameter{
    .{ .name = "beta", .type = .real, .set = setBeta },
    .{ .name = "gain", .type = .integer, .set = setGain },
    .{ .name = null, .type = .integer },
};

fn parameters() callconv(.c) [*]const Parameter {
    return &known;
}

/// State of a connection: the number of window reductions.
const Flow = struct { reductions: u64 = 0 };

const allocator = if (builtin.cpu.arch == .wasm32) std.heap.wasm_allocator else std.heap.page_allocator;

fn create(_: *const anyopaque) callconv(.c) ?*Flow {
    const flow = allocator.create(Flow) catch return null;
    flow.* = .{};
    return flow;
}

fn destroy(flow: *Flow) callconv(.c) void {
    allocator.destroy(flow);
}

fn onAck(_: *Flow, ack: *const Ack, flight: *const Flight, grant: *Grant) callconv(.c) void {
    if (ack.grows == 0) return;
    const acked: f64 = @floatFromInt(ack.acked);
    if (flight.cwnd < flight.ssthresh) {
        grant.window = flight.cwnd + acked;
    } else {
        const mss: f64 = @floatFromInt(flight.mss);
        grant.window = flight.cwnd + @as(f64, @floatFromInt(gain)) * mss * acked / flight.cwnd;
    }
}

fn onReduction(flow: *Flow, cause: c_int, flight: *const Flight, grant: *Grant) callconv(.c) void {
    flow.reductions += 1;
    grant.ssthresh = flight.cwnd * beta;
    grant.window = if (cause == timeout) @floatFromInt(flight.mss) else grant.ssthresh;
}

export const longpipe_control: Control = .{
    .name = "mine",
    .parameters = parameters,
    .create = create,
    .destroy = destroy,
    .on_ack = onAck,
    .on_reduction = onReduction,
};
