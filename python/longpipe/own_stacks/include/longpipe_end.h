/* longpipe_end.h: a protocol stack of your own as a shared object, version 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An object exports the table `longpipe_ends`. longpipe loads it for flows with
 *
 *     traffic = { kind = "own-stack", file = "mine.so", stack = "mine" }
 *
 * creates two ends per flow, and calls them in the virtual time of the run. At each instant all packets are delivered
 * (`receive`), then every end with a packet or an expired timer acts (`wake`). All calls for one end come from one thread, one
 * after another. A stack must use neither a clock nor random numbers of the machine.
 *
 * All times are picoseconds of the run.
 */
#ifndef LONGPIPE_END_H
#define LONGPIPE_END_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LONGPIPE_END_VERSION 1
/* Value for an unknown number, and for an absent time. */
#define LONGPIPE_UNKNOWN UINT64_MAX
/* Size of a buffer for an error line, including the terminating NUL [byte]. */
#define LONGPIPE_LINE 512

/* The ECN bits of an IP header (RFC 3168 section 5). */
enum longpipe_ecn { LONGPIPE_NOT_ECT = 0, LONGPIPE_ECT_1 = 1, LONGPIPE_ECT_0 = 2, LONGPIPE_CE = 3 };

/* A name and a value, both NUL-terminated. */
struct longpipe_setting {
    const char *name;
    const char *value;
};

/* Arguments for the creation of an end; valid during the call only. */
struct longpipe_end_setup {
    uint64_t seed;     /* seed of all randomness of the end */
    uint64_t start_ps; /* start time of the flow's application */
    const struct longpipe_setting *settings;
    uint32_t count;      /* number of settings */
    uint32_t sends;      /* 1 for the end that sends the flow's data, 0 for the other end */
    uint32_t most_bytes; /* maximum UDP payload of the path */
    uint32_t paths;      /* number of paths between the two ends, which is 1 for your own stacks */
    uint32_t logs_packets; /* 1 if `packets` is called */
};

/* Interface through which an end sends its datagrams; valid during the call only. `send` copies the payload. Bits 8 to
 * 15 of `ecn`, here and in `receive`, are the number of the datagram's path, which is 0 if there is only one. */
struct longpipe_outbox {
    void *host; /* first argument of `send` */
    void (*send)(void *host, const uint8_t *payload, uint32_t bytes, uint32_t ecn);
};

/* State of a sender; LONGPIPE_UNKNOWN for values that the stack does not have. */
struct longpipe_end_state {
    uint64_t cwnd;       /* congestion window [byte] */
    uint64_t ssthresh;   /* slow-start threshold [byte] */
    uint64_t srtt_ps;    /* smoothed RTT */
    uint64_t min_rtt_ps; /* minimum RTT */
    uint64_t pacing_bps; /* pacing rate [bit/s] */
    uint64_t sent_packets;
    uint64_t lost_packets;
};

/* Counters of an end at the end of the run. */
struct longpipe_end_report {
    uint64_t delivered_bytes; /* data received without gaps; at most the UDP payload that arrived */
    uint64_t completed_ps;    /* when the application had received all expected data, or LONGPIPE_UNKNOWN */
    uint64_t sent_packets;
    uint64_t sent_bytes; /* UDP payload */
    uint64_t lost_packets;
    uint64_t lost_bytes;
    uint64_t congestion_events; /* reductions of the congestion window */
    uint64_t handshake_ps;      /* when the handshake was complete, or LONGPIPE_UNKNOWN */
    uint64_t closed_ps;         /* when the connection ended before the application was done, or LONGPIPE_UNKNOWN */
    char closed[LONGPIPE_LINE]; /* reason: one NUL-terminated line */
};

/* Kind of a packet's event. LONGPIPE_ACKNOWLEDGED is a range of packet numbers in an ACK frame of the packet received before. */
enum longpipe_packet_kind { LONGPIPE_SENT = 0, LONGPIPE_RECEIVED = 1, LONGPIPE_LOST = 2, LONGPIPE_ACKNOWLEDGED = 3 };
/* Type of a QUIC packet. */
enum longpipe_packet_type {
    LONGPIPE_NO_TYPE = 0,
    LONGPIPE_INITIAL = 1,
    LONGPIPE_HANDSHAKE = 2,
    LONGPIPE_0RTT = 3,
    LONGPIPE_1RTT = 4
};
/* Evidence for a loss: acknowledgements of later packets, or also the time threshold (RFC 9002 section 6.1). */
enum longpipe_evidence { LONGPIPE_NO_EVIDENCE = 0, LONGPIPE_BY_REORDERING = 1, LONGPIPE_BY_TIME = 2 };

/* An event of a packet. */
struct longpipe_packet {
    uint64_t at_ps;
    uint64_t first;       /* packet number, or the first one of a range */
    uint64_t last;        /* packet number, or the last one of a range */
    uint32_t length;      /* [byte]; 0 if it is not known */
    uint32_t kind;        /* enum longpipe_packet_kind */
    uint32_t packet_type; /* enum longpipe_packet_type */
    uint32_t evidence;    /* enum longpipe_evidence */
};

/* Reports an event of a packet. */
typedef void longpipe_tell_packet(void *host, const struct longpipe_packet *packet);

/* Adds a column to `Result.stacks`: `host`, its name with its unit, and the value. */
typedef void longpipe_tell(void *host, const char *name, double value);

/* The table. Functions with `problem` return 0, or 1 after they wrote a line of at most LONGPIPE_LINE bytes to it: for `create`
 * why the scenario is refused, otherwise a defect of the stack, which ends the run. */
struct longpipe_ends {
    uint32_t version;   /* LONGPIPE_END_VERSION */
    uint32_t size;      /* sizeof(struct longpipe_ends) */
    const char *stacks; /* names and versions, as in "mine 1.0, other 2.1" */
    uint32_t (*create)(const char *stack, const struct longpipe_end_setup *setup, void **end, char *problem);
    void (*destroy)(void *end);
    /* Returns when `wake` is to be called if nothing arrives before, or LONGPIPE_UNKNOWN. */
    uint64_t (*due)(void *end);
    /* Processes timers, received datagrams and the application at `now`. */
    uint32_t (*wake)(void *end, uint64_t now, const struct longpipe_outbox *outbox, char *problem);
    /* Takes a datagram that arrives at `now`; `wake` follows at the same time. */
    uint32_t (*receive)(void *end, uint64_t now, const uint8_t *payload, uint32_t bytes, uint32_t ecn, char *problem);
    void (*state)(void *end, struct longpipe_end_state *state);
    void (*report)(void *end, struct longpipe_end_report *report, longpipe_tell *tell, void *host);
    /* Reports the events of packets since the previous call; called after `wake` if `logs_packets` is 1. NULL for stacks that
     * report none. */
    void (*packets)(void *end, longpipe_tell_packet *tell, void *host);
};

/* What an object exports. */
#if defined(_WIN32)
extern __declspec(dllexport) const struct longpipe_ends longpipe_ends;
#else
extern __attribute__((visibility("default"))) const struct longpipe_ends longpipe_ends;
#endif

#ifdef __cplusplus
}
#endif
#endif
