/* What the adapters of QUIC stacks in C have in common: settings, the application above a connection, and its counters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LONGPIPE_ADAPTER_H
#define LONGPIPE_ADAPTER_H

#include <longpipe_end.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PS_PER_S 1e12
/* Size of an endless transfer. */
#define ENDLESS UINT64_MAX
/* Lengths of a datagram [byte]: it contains a time, and fits into the shortest packet of each stack. */
#define LEAST_DATAGRAM 8
#define MOST_DATAGRAM 1100
#define MOST_STREAMS 100000

/* Includes a file in the object, between the symbols NAME and NAME_end. */
#define INCLUDE_FILE(name, file)                                                                                            \
    __asm__(".section .rodata\n.balign 16\n" #name ":\n.incbin \"" file "\"\n" #name "_end:\n.byte 0\n.previous\n");          \
    extern const uint8_t name[] __attribute__((visibility("hidden")));                                                      \
    extern const uint8_t name##_end[] __attribute__((visibility("hidden")))

/* A request of a web client, and when this end had received it, or its response, completely. */
struct web_request {
    uint64_t at_ps, request, response; /* lengths [byte] */
    uint64_t received_ps;
};

/* The application at one end, and what it has observed. */
struct application {
    uint64_t start_ps;
    int sends;    /* 1 at the end that sends the flow's data */
    int connects; /* 1 at the end that opens the connection */
    int requests;    /* 1 for the workload "requests" */
    int http3;       /* 1 if web traffic is framed as HTTP/3 */
    int early_data;  /* 1 if the client resumes a session and sends in its first flight */
    uint64_t size, request, count;
    uint64_t streams;  /* concurrent streams, among which `size` is divided; 1 unless the workload is "streams" */
    uint64_t datagram; /* length of a datagram [byte]; 0 unless the workload is "datagrams" */
    uint64_t interval_ps;
    struct web_request *web; /* requests of a web client, each with a stream of its own; NULL without one */
    uint64_t web_count;
    uint64_t web_sent;     /* requests that the client has sent */
    uint64_t web_received; /* requests, or responses, that were received */
    uint64_t acted_ps;     /* latest time at which this end acted */
    uint64_t window; /* 0 without a setting */
    const char *congestion; /* from a list of constants */
    uint64_t delivered, completed_ps, handshake_ps, closed_ps;
    char closed[LONGPIPE_LINE];
    uint64_t requested_ps, responses;
    double sum_s, max_s; /* of the times of responses, streams or datagrams */
    uint64_t *outgoing;  /* bytes that each of the concurrent streams still has to send */
    uint64_t finished;   /* streams whose last byte was passed to the stack */
    uint64_t ended;      /* streams that were received */
    uint64_t next_ps;    /* time of the next datagram */
    uint64_t datagrams_sent, datagrams_received;
    uint64_t cwnd, losses, reductions;
};

/* Packets of a connection that wait for `packets` of the interface. */
struct packet_log {
    int on;
    struct longpipe_packet *all;
    size_t count, room;
};

static void log_packet(struct packet_log *log, struct longpipe_packet packet) {
    if (!log->on) return;
    if (log->count == log->room) {
        size_t room = log->room ? 2 * log->room : 64;
        struct longpipe_packet *all = realloc(log->all, room * sizeof *all);
        if (!all) abort();
        log->all = all;
        log->room = room;
    }
    log->all[log->count++] = packet;
}

static void tell_packets(struct packet_log *log, longpipe_tell_packet *tell, void *host) {
    for (size_t i = 0; i < log->count; i++) tell(host, &log->all[i]);
    log->count = 0;
}

static const char *setting(const struct longpipe_end_setup *setup, const char *name) {
    for (uint32_t i = 0; i < setup->count; i++)
        if (!strcmp(setup->settings[i].name, name)) return setup->settings[i].value;
    return NULL;
}

/* Reads a setting that is a whole number. Returns 1, with a line in `problem`, if it is none. */
static int number(const struct longpipe_end_setup *setup, const char *name, uint64_t *value, char *problem) {
    const char *text = setting(setup, name);
    if (!text) return 0;
    char *rest;
    double found = strtod(text, &rest);
    if (rest == text || *rest || !(found >= 0 && found < 9e15) || found != floor(found)) {
        snprintf(problem, LONGPIPE_LINE, "%s: %.100s; needs a whole number", name, text);
        return 1;
    }
    *value = (uint64_t)found;
    return 0;
}

/* Reads a setting that is true or false. Returns 1, with a line in `problem`, if it is neither. */
static int flag(const struct longpipe_end_setup *setup, const char *name, int *value, char *problem) {
    const char *text = setting(setup, name);
    if (!text) return 0;
    *value = !strcmp(text, "true");
    if (*value || !strcmp(text, "false")) return 0;
    snprintf(problem, LONGPIPE_LINE, "%s: %.100s; needs true or false", name, text);
    return 1;
}

/* Returns the entry of a NULL-terminated list that equals a text, or NULL. */
static const char *entry(const char *const *list, const char *text) {
    for (; *list; list++)
        if (!strcmp(*list, text)) return *list;
    return NULL;
}

static void write_list(char *line, const char *const *list) {
    for (size_t used = strlen(line); *list && used < LONGPIPE_LINE; list++) {
        snprintf(line + used, LONGPIPE_LINE - used, "%s%s", *list, list[1] ? ", " : "");
        used = strlen(line);
    }
}

/* Reads the requests of the setting `web`, each of which has a time, its length and that of its response. Returns 1, with a line in
 * `problem`, if it is invalid. */
static int set_up_web(struct application *a, const struct longpipe_end_setup *setup, char *problem) {
    static const char *const replaced[] = {"workload", "size"};
    const char *text = setting(setup, "web");
    if (!text) return 0;
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (setting(setup, replaced[i])) {
            snprintf(problem, LONGPIPE_LINE, "%s: %.60s; needs to be absent with web traffic", replaced[i], setting(setup, replaced[i]));
            return 1;
        }
    size_t room = 1;
    for (const char *at = text; *at; at++) room += *at == ';';
    a->web = calloc(room, sizeof *a->web);
    if (!a->web) abort();
    for (const char *at = text; *at;) {
        unsigned long long at_ps, request, response;
        int used = 0;
        if (sscanf(at, "%llu %llu %llu%n", &at_ps, &request, &response, &used) != 3 || (at[used] && at[used] != ';')) {
            snprintf(problem, LONGPIPE_LINE, "web: %.60s; needs a time and two lengths", at);
            return 1;
        }
        a->web[a->web_count++] = (struct web_request){at_ps, request, response, LONGPIPE_UNKNOWN};
        at += used + (at[used] == ';');
    }
    return 0;
}

/* Reads the workload. Returns 1, with a line in `problem`, if a setting of it is invalid. */
static int set_up_workload(struct application *a, const struct longpipe_end_setup *setup, char *problem) {
    static const char *const workloads[] = {"bulk", "streams", "requests", "datagrams", NULL};
    const char *name = setting(setup, "workload"), *workload = entry(workloads, name ? name : "bulk");
    uint64_t interval_us = 10000;
    if (!workload) {
        snprintf(problem, LONGPIPE_LINE, "workload: %.60s; needs ", name);
        write_list(problem, workloads);
        return 1;
    }
    if (set_up_web(a, setup, problem)) return 1;
    a->requests = workload == workloads[2];
    a->connects = (a->requests || a->web) != a->sends;
    if (number(setup, "size", &a->size, problem) || number(setup, "requests", &a->count, problem) ||
        number(setup, "request", &a->request, problem) || number(setup, "interval_us", &interval_us, problem))
        return 1;
    if (a->requests && a->size == ENDLESS) {
        snprintf(problem, LONGPIPE_LINE, "size: absent; needs the length of a response in bytes");
        return 1;
    }
    a->streams = a->web_count ? a->web_count : 1;
    if (workload == workloads[1]) {
        a->streams = 10;
        if (number(setup, "streams", &a->streams, problem)) return 1;
    } else if (workload == workloads[3]) {
        a->datagram = 1000;
        if (number(setup, "datagram", &a->datagram, problem)) return 1;
        if (a->datagram < LEAST_DATAGRAM || a->datagram > MOST_DATAGRAM) {
            snprintf(problem, LONGPIPE_LINE, "datagram: %.100s; needs %d to %d bytes", setting(setup, "datagram"), LEAST_DATAGRAM,
                     MOST_DATAGRAM);
            return 1;
        }
    }
    if (a->streams < 1 || a->streams > MOST_STREAMS) {
        snprintf(problem, LONGPIPE_LINE, "streams: %.100s; needs 1 to %d", setting(setup, "streams"), MOST_STREAMS);
        return 1;
    }
    if (interval_us < 1) {
        snprintf(problem, LONGPIPE_LINE, "interval_us: 0; needs at least 1");
        return 1;
    }
    a->interval_ps = interval_us * 1000000u;
    a->outgoing = calloc(a->streams, sizeof *a->outgoing);
    if (!a->outgoing) abort();
    return 0;
}

/* Reads the settings of every adapter; `own` lists further names that the stack accepts. Returns 1, with a line in `problem`, if
 * one is invalid. The first congestion control is the default. */
static int set_up(struct application *a, const struct longpipe_end_setup *setup, const char *const *controls,
                  const char *const *own, char *problem) {
    static const char *const names[] = {"congestion", "size",     "workload",    "requests", "request",
                                        "streams",    "datagram", "interval_us", "window",   "web", NULL};
    for (uint32_t i = 0; i < setup->count; i++)
        if (!entry(names, setup->settings[i].name) && !entry(own, setup->settings[i].name)) {
            snprintf(problem, LONGPIPE_LINE, "%.60s: unknown setting; needs ", setup->settings[i].name);
            write_list(problem, names);
            if (*own) strncat(problem, ", ", LONGPIPE_LINE - strlen(problem) - 1);
            write_list(problem, own);
            return 1;
        }
    const char *congestion = setting(setup, "congestion");
    *a = (struct application){
        .start_ps = setup->start_ps,
        .sends = (int)setup->sends,
        .size = ENDLESS,
        .request = 100,
        .count = 1,
        .congestion = congestion ? entry(controls, congestion) : *controls,
        .completed_ps = LONGPIPE_UNKNOWN,
        .handshake_ps = LONGPIPE_UNKNOWN,
        .closed_ps = LONGPIPE_UNKNOWN,
        .requested_ps = LONGPIPE_UNKNOWN,
        .next_ps = LONGPIPE_UNKNOWN,
    };
    if (!a->congestion) {
        snprintf(problem, LONGPIPE_LINE, "congestion: %.60s; needs ", congestion);
        write_list(problem, controls);
        return 1;
    }
    if (setup->most_bytes < 1200 || setup->most_bytes > 65527) {
        snprintf(problem, LONGPIPE_LINE, "longest_packet: payloads of %u bytes; needs 1200 to 65527 bytes", setup->most_bytes);
        return 1;
    }
    if (set_up_workload(a, setup, problem) || number(setup, "window", &a->window, problem) ||
        flag(setup, "early_data", &a->early_data, problem) || flag(setup, "http3", &a->http3, problem))
        return 1;
    if (!a->http3 || a->web) return 0;
    snprintf(problem, LONGPIPE_LINE, "http3: true; needs traffic with the field web");
    return 1;
}

static void free_application(struct application *a) {
    free(a->outgoing);
    free(a->web);
}

/* Returns the length of one of the concurrent streams [byte]; the first ones carry what the division leaves. */
static uint64_t share_of(const struct application *a, uint64_t index) {
    return a->size == ENDLESS ? ENDLESS : a->size / a->streams + (index < a->size % a->streams);
}

/* Returns the next number of SplitMix64. */
static uint64_t next_random(uint64_t *state) {
    uint64_t mixed = *state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

static void fill_random(uint64_t *state, uint8_t *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)next_random(state);
}

/* Notes that the connection ended. That is an error unless this end has nothing left to do. */
static void on_close(struct application *a, uint64_t now, const char *reason) {
    int sent = a->datagram ? a->datagrams_sent * a->datagram >= a->size : a->finished == a->streams;
    int done = a->sends ? sent && (!a->requests || a->responses == a->count) : a->completed_ps != LONGPIPE_UNKNOWN;
    if (done || a->closed_ps != LONGPIPE_UNKNOWN) return;
    a->closed_ps = now;
    snprintf(a->closed, LONGPIPE_LINE, "%s", reason);
}

static void add_time(struct application *a, uint64_t took_ps) {
    double took_s = (double)took_ps / PS_PER_S;
    a->sum_s += took_s;
    a->max_s = took_s > a->max_s ? took_s : a->max_s;
}

/* Begins to send datagrams. */
static void start_datagrams(struct application *a, uint64_t now) { a->next_ps = now; }

/* Writes the datagram that is due, which begins with the time at which it was due [ps]. Returns its length, or 0 if none is due. */
static size_t next_datagram(struct application *a, uint64_t now, uint8_t *to) {
    uint64_t left = a->size - a->datagrams_sent * a->datagram;
    if (a->next_ps > now) return 0;
    memset(to, 0, a->datagram);
    memcpy(to, &a->next_ps, sizeof a->next_ps);
    a->datagrams_sent++;
    a->next_ps = a->size != ENDLESS && left <= a->datagram ? LONGPIPE_UNKNOWN : a->next_ps + a->interval_ps;
    return a->datagram;
}

static void on_datagram(struct application *a, uint64_t now, const uint8_t *bytes, size_t length) {
    uint64_t sent_ps;
    if (a->sends || length < sizeof sent_ps) return;
    memcpy(&sent_ps, bytes, sizeof sent_ps);
    add_time(a, now - sent_ps);
    a->datagrams_received++;
    a->delivered += length;
    if (a->size != ENDLESS && a->delivered >= a->size) a->completed_ps = now;
}

/* Returns 1, and the number of the next request in `index`, if this end is a web client whose next request is due. */
static int web_is_due(const struct application *a, uint64_t now, uint64_t *index) {
    *index = a->web_sent;
    return a->connects && a->web_sent < a->web_count && a->web[a->web_sent].at_ps <= now;
}

/* Returns when the application acts next. While the peer permits no further stream, a request waits for its packet. */
static uint64_t next_due(const struct application *a) {
    if (!a->web) return a->next_ps;
    uint64_t at = a->connects && a->web_sent < a->web_count ? a->web[a->web_sent].at_ps : LONGPIPE_UNKNOWN;
    return at > a->acted_ps ? at : LONGPIPE_UNKNOWN;
}

/* Returns the place of a stream among the concurrent ones. Streams of web requests are those of a client in both directions. */
static uint64_t index_of(const struct application *a, uint64_t stream) { return a->web ? stream / 4 : 0; }

/* Records that a request, or its response, was received. Returns 1 if its response has to be sent from now on. */
static int on_web_end(struct application *a, uint64_t now, uint64_t index) {
    if (index >= a->web_count || a->web[index].received_ps != LONGPIPE_UNKNOWN) return 0;
    a->web[index].received_ps = now;
    a->web_received++;
    if (!a->sends) {
        if (a->web_received == a->web_count) a->completed_ps = now;
        return 0;
    }
    a->outgoing[index] = a->web[index].response;
    return 1;
}

/* Counts received data of a stream; `over` is 1 at its end. Returns 1 if the other direction of the stream, or the next request, has
 * something to send from now on. */
static int on_data(struct application *a, uint64_t now, uint64_t stream, uint64_t bytes, int over) {
    if (!a->sends) a->delivered += bytes;
    if (!over) return 0;
    if (a->web) return on_web_end(a, now, index_of(a, stream));
    if (!a->requests) {
        if (a->sends) return 0;
        add_time(a, now - a->start_ps);
        if (++a->ended == a->streams) a->completed_ps = now;
        return 0;
    }
    a->responses++;
    if (a->sends) {
        *a->outgoing = a->size;
        a->finished = 0;
        return 1;
    }
    add_time(a, now - a->requested_ps);
    if (a->responses == a->count) a->completed_ps = now;
    return a->responses < a->count;
}

/* Observes the congestion window and the number of losses so far. A smaller window is a reduction if there were losses since the
 * previous one; BBR also reduces its window without losses. */
static void observe_window(struct application *a, uint64_t cwnd, uint64_t losses) {
    if (cwnd < a->cwnd && losses > a->losses) {
        a->reductions++;
        a->losses = losses;
    }
    a->cwnd = cwnd;
}

/* Writes what the application knows; the connection's counters are 0. */
static void report_application(const struct application *a, struct longpipe_end_report *report, longpipe_tell *tell, void *host) {
    *report = (struct longpipe_end_report){
        .delivered_bytes = a->delivered,
        .completed_ps = a->completed_ps,
        .congestion_events = a->reductions,
        .handshake_ps = a->handshake_ps,
        .closed_ps = a->closed_ps,
    };
    memcpy(report->closed, a->closed, LONGPIPE_LINE);
    for (uint64_t i = 0; i < a->web_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "file %llu", (unsigned long long)i);
        if (a->web[i].received_ps != LONGPIPE_UNKNOWN) tell(host, name, (double)a->web[i].received_ps);
    }
    if (a->datagram && a->sends) tell(host, "sent_datagrams", (double)a->datagrams_sent);
    if (a->datagram && !a->sends) tell(host, "received_datagrams", (double)a->datagrams_received);
    if (a->sends) return;
    if (a->datagrams_received) {
        tell(host, "mean_datagram_s", a->sum_s / (double)a->datagrams_received);
        tell(host, "max_datagram_s", a->max_s);
    } else if (a->responses) {
        tell(host, "responses", (double)a->responses);
        tell(host, "mean_response_s", a->sum_s / (double)a->responses);
        tell(host, "max_response_s", a->max_s);
    } else if (a->ended && a->streams > 1) {
        tell(host, "mean_stream_s", a->sum_s / (double)a->ended);
        tell(host, "max_stream_s", a->max_s);
    }
}

#endif
