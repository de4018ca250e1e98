/*
 * Interface of congestion controllers that longpipe loads at run time, version 1.
 *
 * A controller is a shared object that defines `const struct longpipe_control longpipe_control`, most simply by the macro
 * LONGPIPE_CONTROL at the end of this file. longpipe loads a private copy of the object for each simulation, each set of
 * parameters and each clock frequency: static variables are never shared by two simulations. The functions of one copy are
 * called by one thread at a time.
 *
 * Sizes and windows are in bytes, times in picoseconds since the start of the simulation, rates in bits of payload per second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LONGPIPE_CONTROL_H
#define LONGPIPE_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Raised when a structure of this file changes; longpipe refuses objects of another version. Operations that are appended to
 * `struct longpipe_control` change its size only, and objects without them remain valid.
 */
#define LONGPIPE_CONTROL_VERSION 1

#define LONGPIPE_PS_PER_SECOND UINT64_C(1000000000000)
/* "No such time": no RTT sample, or a smoothed RTT before the first sample. */
#define LONGPIPE_NO_TIME INT64_C(-1)
/* Value of `longpipe_grant.pacing_bps` that does not change the rate. */
#define LONGPIPE_SAME_RATE (-1.0)

/* Optional inputs (`longpipe_control.wants`). Each costs the sender time per packet, so request only what is used. */
enum longpipe_wants {
	/* A record of every transmission: `delivered` includes SACKed bytes, and RTT samples come with every ACK. */
	LONGPIPE_RECORDS = 1,
	/* Delivery rate samples (`longpipe_ack.rate_*`). */
	LONGPIPE_RATES = 2,
	/* Calls of `on_sent`. */
	LONGPIPE_SENDING = 4,
	/* Segments leave at the rate of `longpipe_grant.pacing_bps`. */
	LONGPIPE_PACING = 8,
	/* Calls of `on_lost`. */
	LONGPIPE_LOSSES = 16,
	/* The controller moves the window during recovery, too; needs tcp.recovery = "rack". */
	LONGPIPE_OWNS_WINDOW = 32,
	/* One-way delays (`longpipe_sample.delay_ps`); needs timestamps. */
	LONGPIPE_DELAYS = 64,
};

/* Why `on_reduction` is called. */
enum longpipe_cause {
	LONGPIPE_FAST_RETRANSMIT = 0,
	LONGPIPE_TIMEOUT = 1,
	LONGPIPE_MARK = 2,
	/* A mark that should cost less than a loss (RFC 8511). */
	LONGPIPE_MARK_ABE = 3,
};

/* State of loss recovery after an ACK. */
enum longpipe_phase {
	LONGPIPE_OPEN = 0,
	LONGPIPE_RECOVERY = 1,
	LONGPIPE_LOSS = 2,
};

/* The sender's sequence space and window. */
struct longpipe_flight {
	uint64_t now_ps;
	/* First unacknowledged byte, next byte to send, first byte never sent. */
	uint64_t una, nxt, max;
	/* Congestion window and slow-start threshold; the threshold is infinite before the first loss. */
	double cwnd, ssthresh;
	/* Receiver's window. */
	uint64_t rwnd;
	/* Payload of a full segment. */
	uint32_t mss;
	uint32_t reserved;
};

/* An answer of the controller. It initially contains the current values; a field left unchanged has no effect. */
struct longpipe_grant {
	double window, ssthresh;
	/* LONGPIPE_SAME_RATE leaves the rate as it is; at the start segments leave as ACKs arrive. */
	double pacing_bps;
	/* Minimum number of segments that leave at one instant when paced; 0: two. */
	uint32_t burst_segments;
	uint32_t reserved;
};

/* What an ACK reports, before loss recovery processes it. */
struct longpipe_sample {
	/* Bytes by which `una` advanced, bytes newly known to have arrived, and those of them that were ECN-marked. */
	uint64_t acked, delivered, marked;
	/* RTT of the latest segment acknowledged; one-way delay of the segment whose timestamp the ACK echoes. */
	int64_t rtt_ps, delay_ps;
	/* With LONGPIPE_RATES: bytes delivered since the latest segment acknowledged left, 0 without a sample. */
	uint64_t delivered_since_sent;
	uint32_t has_sack_blocks;
	/* Whether segments leave at a rate. */
	uint32_t paced;
};

/* What an ACK reports, after loss recovery has processed it. */
struct longpipe_ack {
	/* 0 for a duplicate. */
	uint64_t acked;
	uint64_t delivered, marked;
	/* Bytes newly declared lost. */
	uint64_t lost;
	/* Bytes in flight before and after the ACK: not acknowledged, not SACKed, not declared lost. */
	uint64_t in_flight_before, in_flight;
	/* Maximum bytes in flight during the latest window. */
	uint64_t most_in_flight;
	/* Congestion window when the ACK arrived, before loss recovery moved it. */
	double cwnd;
	int64_t rtt_ps, srtt_ps, min_rtt_ps;
	/* Time until the pacer releases the next segment. */
	uint64_t held_ps;
	/* Delivery rate sample; `rate_interval_ps` is LONGPIPE_NO_TIME without one. */
	uint64_t rate_delivered;
	int64_t rate_interval_ps;
	/* Bytes delivered before, and in flight when, the sampled segment left; bytes declared lost since. */
	uint64_t rate_prior_delivered, rate_in_flight, rate_lost;
	uint32_t rate_app_limited;
	/* Whether the window may grow, whether nothing is lost or out of order, and `enum longpipe_phase`. */
	uint32_t grows, open, phase;
	/* Whether the window was used up when the ACK arrived, and at any time during the latest window. */
	uint32_t window_limited, window_was_full;
	/* Whether segments leave at a rate. */
	uint32_t paced;
	/* Whether a segment that was sent once was delivered after a segment sent later. */
	uint32_t reordered;
};

/* A transmission. */
struct longpipe_sent {
	uint64_t sequence, end;
	/* Including this segment. */
	uint64_t in_flight;
	uint32_t retransmission, app_limited;
};

/* A transmission that was declared lost. */
struct longpipe_lost {
	uint64_t sequence, end;
	/* Bytes in flight when it left, and declared lost since, both including it. */
	uint64_t in_flight, lost;
	/* Bytes delivered before it left, and by now. */
	uint64_t prior_delivered, delivered;
	uint32_t app_limited;
	uint32_t reserved;
};

/* Settings of a new connection. */
struct longpipe_connection {
	/*
	 * Returns a random number below `bound`, or of 32 bits if `bound` is 0; `source` is the first argument. Draw from nothing
	 * else, so that runs can be repeated. Valid until `destroy`.
	 */
	uint32_t (*draw)(void *source, uint32_t bound);
	void *source;
	/* Whether packets of the connection can be ECN-marked. */
	uint32_t ecn;
	uint32_t reserved;
	/* Time for which the connection is established and idle before its first segment leaves [ps]. */
	uint64_t preconnect_ps;
};

/* Values of `longpipe_parameter.type`: the value is an int64_t, a double, or text that stays valid. */
enum longpipe_type { LONGPIPE_INTEGER = 0, LONGPIPE_REAL = 1, LONGPIPE_TEXT = 2 };

/* A parameter that a scenario may set before `open`. */
struct longpipe_parameter {
	/* Null in the entry that ends a list. */
	const char *name;
	uint32_t type;
	uint32_t reserved;
	/* Returns 0, or -1 if the value is not accepted; `value` points to an int64_t or a double, or is the text. */
	int (*set)(const struct longpipe_parameter *self, const void *value);
	/* Free for the controller. */
	void *at;
};

/* Operations of a controller. Optional ones may be null; `flow` is what `create` returned. */
struct longpipe_control {
	/* LONGPIPE_CONTROL_VERSION and sizeof(struct longpipe_control). */
	uint32_t version, size;
	const char *name;
	/* Optional. Invoked once after the parameters are set, with the ticks per second of the kernel's clock; returns null, or
	 * in one line why the controller cannot run. */
	const char *(*open)(uint32_t hz);
	/* Optional. Returns the parameters that can be set, or null. */
	const struct longpipe_parameter *(*parameters)(void);
	/* Optional inputs (`enum longpipe_wants`), known once `open` has returned. */
	uint32_t (*wants)(void);
	/* Creates the state of a connection, or returns null if there is no memory. */
	void *(*create)(const struct longpipe_connection *connection);
	void (*destroy)(void *flow);
	/* Optional. Invoked if the RTT is known before the first segment. */
	void (*on_start)(void *flow, uint64_t rtt_ps, const struct longpipe_flight *, struct longpipe_grant *);
	/* Optional. Invoked for every ACK, before loss recovery processes it; `flight->una` has already advanced. A controller that
	 * moves the window or the threshold here defines `on_acked` instead. */
	void (*on_sample)(void *flow, const struct longpipe_sample *, const struct longpipe_flight *);
	/* Invoked for every ACK, after loss recovery has processed it. */
	void (*on_ack)(void *flow, const struct longpipe_ack *, const struct longpipe_flight *, struct longpipe_grant *);
	/* Optional. Invoked for every transmission, with LONGPIPE_SENDING; of the grant only the pacing rate counts. */
	void (*on_sent)(void *flow, const struct longpipe_sent *, const struct longpipe_flight *, struct longpipe_grant *);
	/* Optional. Invoked for every transmission declared lost, with LONGPIPE_LOSSES. */
	void (*on_lost)(void *flow, const struct longpipe_lost *, const struct longpipe_flight *);
	/* Invoked once per recovery, timeout or round of marks: the window has to fall. */
	void (*on_reduction)(void *flow, enum longpipe_cause, const struct longpipe_flight *, struct longpipe_grant *);
	/* Optional. Invoked at the end of a recovery; `spurious`: nothing had been lost, and the window is restored. */
	void (*on_recovered)(void *flow, int spurious, const struct longpipe_flight *, struct longpipe_grant *);
	/* Optional. Invoked instead of `on_sample`; loss recovery uses the window and the threshold of the grant. */
	void (*on_acked)(void *flow, const struct longpipe_sample *, const struct longpipe_flight *, struct longpipe_grant *);
};

#if defined(__GNUC__)
#define LONGPIPE_EXPORT __attribute__((visibility("default"), used))
#define LONGPIPE_USED __attribute__((used))
#else
#define LONGPIPE_EXPORT
#define LONGPIPE_USED
#endif

#define LONGPIPE_STRING_(x) #x
#define LONGPIPE_STRING(x) LONGPIPE_STRING_(x)

/*
 * Facts that longpipe reads from the file without loading it: "\1longpipe\1KEY=VALUE".
 * KEY is `interface` (needed once: the version), or `parameter` (NAME:TYPE, once per parameter; TYPE is integer, real or text).
 */
#define LONGPIPE_FACT(id, text) LONGPIPE_USED static const char longpipe_fact_##id[] = "\1longpipe\1" text;
#define LONGPIPE_PARAMETER_FACT(name, type) LONGPIPE_FACT(parameter_##name, "parameter=" #name ":" #type)

/* Defines the controller of this object: LONGPIPE_CONTROL(.name = "mine", .create = create, ...); */
#define LONGPIPE_CONTROL(...)                                                                   \
	LONGPIPE_FACT(interface, "interface=" LONGPIPE_STRING(LONGPIPE_CONTROL_VERSION))        \
	LONGPIPE_EXPORT const struct longpipe_control longpipe_control = {                      \
		.version = LONGPIPE_CONTROL_VERSION, .size = sizeof(struct longpipe_control), __VA_ARGS__ }

#ifdef __cplusplus
}
#endif

#endif
