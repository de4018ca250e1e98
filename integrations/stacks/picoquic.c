/* picoquic as an end of longpipe's flows (docs/more-stacks.md): make stacks-picoquic.
 *
 * The library is the extension module of a wheel of Python, which exports picoquic's functions. The object contains the module
 * and its libraries, and loads them from memory. Functions of Python that the module needs are bound when they are called, which
 * never happens here. The declarations below are those of picoquic's public interface that this file uses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "adapter.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#define PS_PER_US 1000000u
#define US_PER_S 1e6
#define MOST_SENT 1000000 /* datagrams at one time */
#define RESET_SEED_BYTES 16
/* Flights of each end of a connection before the run, at least those of the handshake and the ticket, and packets of a flight. They
 * are limited because the ends acknowledge without end while no time passes. */
#define FLIGHTS_BEFORE_RUN 4
#define MOST_BEFORE_RUN 20
#define VERSION_1 1

INCLUDE_FILE(certificate, BUILT "/certificate.pem");
INCLUDE_FILE(key, BUILT "/key.pem");
INCLUDE_FILE(crypto, BUILT "/libcrypto.so");
INCLUDE_FILE(ssl, BUILT "/libssl.so");
INCLUDE_FILE(transport, BUILT "/transport.so");

struct connection_id {
    uint8_t bytes[20];
    uint8_t length;
};

/* picoquic_call_back_event_t */
enum event {
    STREAM_DATA = 0,
    STREAM_FIN = 1,
    STATELESS_RESET = 4,
    CLOSE = 5,
    APPLICATION_CLOSE = 6,
    PREPARE_TO_SEND = 8,
    ALMOST_READY = 9, /* data can be sent */
    READY = 10,
    DATAGRAM = 11,
};

/* picoquic_path_quality_t: rates in bytes per second, times in microseconds */
struct quality {
    uint64_t receive_rate, pacing_rate, cwin, rtt, rtt_sample, rtt_variant, rtt_min, rtt_max, sent, lost, timer_losses, spurious_losses,
        max_spurious_rtt, max_reorder_delay, max_reorder_gap, in_transit, bytes_sent, bytes_received;
    uint64_t later[32]; /* fields of later versions */
};

/* Transport parameters, picoquic_tp_enum */
enum parameter {
    INITIAL_MAX_DATA = 4,
    INITIAL_MAX_STREAM_DATA_BIDI_LOCAL = 5,
    INITIAL_MAX_STREAM_DATA_BIDI_REMOTE = 6,
    INITIAL_MAX_STREAM_DATA_UNI = 7,
    INITIAL_MAX_STREAMS_UNI = 9,
    MAX_DATAGRAM_FRAME_SIZE = 32,
    ENABLE_TIME_STAMP = 0x7158,
};

/* picoquic_packet_type_enum */
enum packet_type { INITIAL = 2, HANDSHAKE = 4, EARLY = 5, PROTECTED = 6 };

typedef int stream_callback(void *cnx, uint64_t stream, uint8_t *bytes, size_t length, enum event event, void *of, void *stream_context);
typedef void ignored(void);

/* picoquic_unified_logging_t, with places for functions of later versions */
struct log_functions {
    ignored *before[8];
    void (*outgoing)(void *cnx, void *of, void *path, uint8_t *bytes, uint64_t number, size_t number_bytes, size_t length,
                     uint8_t *sent, size_t sent_bytes, uint64_t now);
    void (*lost)(void *cnx, void *of, void *path, int type, uint64_t number, const char *trigger, void *id, size_t bytes, uint64_t now);
    ignored *before_new[3];
    void (*new_connection)(void *cnx, void *of, void **context);
    ignored *rest[16];
};

/* Functions of the library, by name without "picoquic_". */
static struct {
    void *(*create)(uint32_t most, const char *certificate, const char *key, const char *roots, const char *alpn, stream_callback *callback,
                    void *of, void *id_callback, void *id_data, const uint8_t *reset_seed, uint64_t now, uint64_t *clock,
                    const char *tickets, const uint8_t *ticket_key, size_t ticket_key_bytes);
    void (*free)(void *quic);
    void (*tls_api_init)(void);
    void (*set_null_verifier)(void *quic);
    void (*set_mtu_max)(void *quic, uint32_t bytes);
    void (*set_log_level)(void *quic, int level);
    int (*register_log_functions)(void *quic, struct log_functions *functions, void *of);
    int (*set_default_tp_value)(void *quic, uint64_t parameter, uint64_t value);
    void (*set_max_data_control)(void *quic, uint64_t bytes);
    void (*set_preemptive_repeat_policy)(void *quic, int repeats);
    void (*set_default_pmtud_policy)(void *quic, int policy);
    void (*set_default_congestion_algorithm)(void *quic, const void *algorithm);
    void (*seed_bandwidth)(void *cnx, uint64_t rtt_us, uint64_t window, const uint8_t *address, uint8_t address_bytes);
    void *(*create_cnx)(void *quic, struct connection_id initial, struct connection_id remote, const struct sockaddr *to, uint64_t now,
                        uint32_t version, const char *name, const char *alpn, char client);
    void (*set_callback)(void *cnx, stream_callback *callback, void *of);
    int (*start_client_cnx)(void *cnx);
    void (*delete_cnx)(void *cnx);
    int (*is_0rtt_available)(void *cnx);
    int (*queue_datagram_frame)(void *cnx, size_t bytes, const uint8_t *data);
    uint64_t (*get_next_local_stream_id)(void *cnx, int unidirectional);
    int (*open_flow_control)(void *cnx, uint64_t stream, uint64_t expected);
    int (*mark_active_stream)(void *cnx, uint64_t stream, int active, void *context);
    uint8_t *(*provide_stream_data_buffer)(void *context, size_t bytes, int fin, int active);
    int (*incoming_packet)(void *quic, uint8_t *bytes, size_t length, struct sockaddr *from, struct sockaddr *to, int interface,
                           unsigned char ecn, uint64_t now);
    int (*prepare_next_packet)(void *quic, uint64_t now, uint8_t *buffer, size_t room, size_t *bytes, struct sockaddr_storage *to,
                               struct sockaddr_storage *from, int *interface, struct connection_id *id, void **cnx);
    uint64_t (*get_next_wake_time)(void *quic, uint64_t now);
    void (*get_default_path_quality)(void *cnx, struct quality *quality);
    uint64_t (*get_local_error)(void *cnx);
    uint64_t (*get_remote_error)(void *cnx);
    const char *(*error_name)(uint64_t code);
    void (*public_random_seed_64)(uint64_t seed, int reset);
} quic;

#define FUNCTION(name) {"picoquic_" #name, (void **)&quic.name}
static const struct {
    const char *name;
    void **to;
} functions[] = {
    FUNCTION(create), FUNCTION(free), FUNCTION(tls_api_init), FUNCTION(set_null_verifier), FUNCTION(set_mtu_max), FUNCTION(set_log_level),
    FUNCTION(register_log_functions), FUNCTION(set_default_tp_value), FUNCTION(set_max_data_control),
    FUNCTION(set_preemptive_repeat_policy), FUNCTION(set_default_pmtud_policy), FUNCTION(set_default_congestion_algorithm),
    FUNCTION(seed_bandwidth), FUNCTION(create_cnx), FUNCTION(set_callback), FUNCTION(start_client_cnx), FUNCTION(delete_cnx),
    FUNCTION(is_0rtt_available), FUNCTION(queue_datagram_frame), FUNCTION(get_next_local_stream_id),
    FUNCTION(open_flow_control), FUNCTION(mark_active_stream), FUNCTION(provide_stream_data_buffer), FUNCTION(incoming_packet), FUNCTION(prepare_next_packet),
    FUNCTION(get_next_wake_time), FUNCTION(get_default_path_quality), FUNCTION(get_local_error), FUNCTION(get_remote_error),
    FUNCTION(error_name), FUNCTION(public_random_seed_64),
};

static const char *const controls[] = {"bbr", "cubic", "newreno", "bbr1", "c4", "dcubic", "fastcc", "prague", NULL};
static const char *const symbols[] = {"picoquic_bbr_algorithm",    "picoquic_cubic_algorithm",  "picoquic_newreno_algorithm",
                                      "picoquic_bbr1_algorithm",   "c4_algorithm",              "picoquic_dcubic_algorithm",
                                      "picoquic_fastcc_algorithm", "picoquic_prague_algorithm"};
static const void *algorithms[sizeof symbols / sizeof *symbols];
static const char *const own_settings[] = {"ecn",           "time_stamp",       "pmtud_required", "preemptive_repeat", "max_data",
                                           "remembered_rtt_us", "remembered_bytes", "open_flow_control", "early_data", NULL};
static const char *const ecn_names[] = {"ect1", "ect0", "none", NULL};
static const enum longpipe_ecn ecn_bits[] = {LONGPIPE_ECT_1, LONGPIPE_ECT_0, LONGPIPE_NOT_ECT};

struct end {
    struct application app;
    void *context, *cnx;
    uint64_t clock_us, now_ps, random;
    uint64_t time_stamp, pmtud_required, preemptive_repeat, max_data, remembered_rtt_us, remembered_bytes, open_flow_control;
    struct sockaddr_in own, peer;
    enum longpipe_ecn ecn;
    struct packet_log log;
    struct quality quality; /* latest, because the library frees closed connections */
    uint64_t datagrams, sent_bytes, lost_bytes, mtu;
    uint8_t packet[65536];
};

/* Loading */

/* Returns the path of a file in memory, which stays open. */
static void write_memory(const uint8_t *begin, const uint8_t *end, const char *name, char path[64]) {
    int file = memfd_create(name, MFD_CLOEXEC);
    for (ssize_t taken; file >= 0 && begin < end; begin += taken)
        if ((taken = write(file, begin, (size_t)(end - begin))) <= 0) break;
    snprintf(path, 64, "/proc/self/fd/%d", file);
}

static void *load_library(const uint8_t *begin, const uint8_t *end, const char *name, char *problem) {
    char path[64];
    write_memory(begin, end, name, path);
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) snprintf(problem, LONGPIPE_LINE, "picoquic: %.400s", dlerror());
    return library;
}

/* State of the random numbers of the end that this thread works for. */
static _Thread_local uint64_t *random_state;

static void random_bytes(void *to, size_t bytes) {
    static uint64_t without_end = 1;
    fill_random(random_state ? random_state : &without_end, to, bytes);
}

static char certificate_path[64], key_path[64];

/* Loads the library once. Returns 1, with a line in `problem`, if it cannot be loaded. */
static int load(char *problem) {
    static int loaded;
    if (loaded) return 0;
    void *library = NULL;
    if (!load_library(crypto, crypto_end, "libcrypto", problem) || !load_library(ssl, ssl_end, "libssl", problem) ||
        !(library = load_library(transport, transport_end, "picoquic", problem)))
        return 1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!(*functions[i].to = dlsym(library, functions[i].name))) {
            snprintf(problem, LONGPIPE_LINE, "picoquic: has no function %s", functions[i].name);
            return 1;
        }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const void **algorithm = dlsym(library, symbols[i]);
        if (!algorithm) {
            snprintf(problem, LONGPIPE_LINE, "picoquic: has no %s", symbols[i]);
            return 1;
        }
        algorithms[i] = *algorithm;
    }
    void (**provider)(void *, size_t) = dlsym(library, "picoquic_crypto_random_provider_fn");
    if (!provider) {
        snprintf(problem, LONGPIPE_LINE, "picoquic: has no picoquic_crypto_random_provider_fn");
        return 1;
    }
    quic.tls_api_init();
    *provider = random_bytes;
    write_memory(certificate, certificate_end, "certificate", certificate_path);
    write_memory(key, key_end, "key", key_path);
    loaded = 1;
    return 0;
}

/* Sets the time, and both sources of random numbers, before a call of the library. Its public random numbers have one state for
 * all connections, which therefore is set anew each time. */
static void enter(struct end *e, uint64_t now) {
    e->now_ps = now;
    e->clock_us = now / PS_PER_US;
    random_state = &e->random;
    quic.public_random_seed_64(next_random(&e->random), 1);
}

/* Packets */

static enum longpipe_packet_type type_of(int type) {
    switch (type) {
    case INITIAL: return LONGPIPE_INITIAL;
    case HANDSHAKE: return LONGPIPE_HANDSHAKE;
    case EARLY: return LONGPIPE_0RTT;
    case PROTECTED: return LONGPIPE_1RTT;
    default: return LONGPIPE_NO_TYPE;
    }
}

static void on_sent(void *cnx, void *of, void *path, uint8_t *bytes, uint64_t sequence, size_t number_bytes, size_t length, uint8_t *sent,
                    size_t sent_bytes, uint64_t now) {
    static const int long_types[] = {INITIAL, EARLY, HANDSHAKE, 0};
    struct end *e = of;
    (void)cnx, (void)path, (void)number_bytes, (void)length, (void)sent, (void)now;
    log_packet(&e->log, (struct longpipe_packet){.at_ps = e->now_ps,
                                                 .first = sequence,
                                                 .last = sequence,
                                                 .length = (uint32_t)sent_bytes,
                                                 .kind = LONGPIPE_SENT,
                                                 .packet_type = type_of(*bytes & 0x80 ? long_types[*bytes >> 4 & 3] : PROTECTED)});
}

static void on_lost(void *cnx, void *of, void *path, int type, uint64_t sequence, const char *trigger, void *id, size_t bytes,
                    uint64_t now) {
    struct end *e = of;
    (void)cnx, (void)path, (void)trigger, (void)id, (void)now;
    e->lost_bytes += bytes;
    log_packet(&e->log, (struct longpipe_packet){.at_ps = e->now_ps,
                                                 .first = sequence,
                                                 .last = sequence,
                                                 .length = (uint32_t)bytes,
                                                 .kind = LONGPIPE_LOST,
                                                 .packet_type = type_of(type)});
}

static void on_new_connection(void *cnx, void *of, void **context) {
    (void)cnx;
    *context = of;
}

static void nothing(void) {}

#define NOTHING2 nothing, nothing
#define NOTHING8 NOTHING2, NOTHING2, NOTHING2, NOTHING2
static struct log_functions log_functions = {
    .before = {NOTHING8},
    .outgoing = on_sent,
    .lost = on_lost,
    .before_new = {nothing, NOTHING2},
    .new_connection = on_new_connection,
    .rest = {NOTHING8, NOTHING8},
};

/* The connection */

/* Sends a stream, which is one of several if `index` is not 0. */
static void send_stream(struct end *e, uint64_t stream, uint64_t index, uint64_t bytes) {
    e->app.outgoing[index] = bytes;
    quic.mark_active_stream(e->cnx, stream, 1, e->app.outgoing + index);
}

/* Opens a stream for each request of a web client that is due. */
static void open_web_streams(struct end *e) {
    struct application *a = &e->app;
    for (uint64_t index; web_is_due(a, e->now_ps, &index); a->web_sent++)
        send_stream(e, quic.get_next_local_stream_id(e->cnx, 0), index, a->web[index].request);
}

/* Opens the streams of the transfer, or that of the next request. */
static void open_streams(struct end *e) {
    struct application *a = &e->app;
    a->requested_ps = e->now_ps;
    a->finished = 0;
    for (uint64_t i = 0; i < a->streams; i++)
        send_stream(e, quic.get_next_local_stream_id(e->cnx, !a->requests), i, a->requests ? a->request : share_of(a, i));
}

/* Lets the application of the end that connects begin. */
static void begin(struct end *e) {
    if (e->app.requested_ps != LONGPIPE_UNKNOWN || e->app.next_ps != LONGPIPE_UNKNOWN || e->app.datagrams_sent) return;
    if (e->app.datagram)
        start_datagrams(&e->app, e->now_ps);
    else if (e->app.web)
        e->app.requested_ps = e->now_ps;
    else
        open_streams(e);
}

static int on_event(void *cnx, uint64_t stream, uint8_t *bytes, size_t length, enum event event, void *of, void *stream_context) {
    struct end *e = of;
    struct application *a = &e->app;
    e->cnx = cnx;
    switch (event) {
    case ALMOST_READY:
    case READY:
        /* A server can send before its client's handshake is complete. */
        if (a->handshake_ps != LONGPIPE_UNKNOWN || (event == ALMOST_READY && !a->connects)) break;
        a->handshake_ps = e->now_ps;
        if (a->connects) begin(e);
        break;
    case STREAM_DATA:
    case STREAM_FIN:
        if (e->open_flow_control && !a->sends && !a->delivered) quic.open_flow_control(cnx, stream, a->size);
        if (!on_data(a, e->now_ps, stream, length, event == STREAM_FIN)) break;
        if (a->sends)
            send_stream(e, stream, index_of(a, stream), a->outgoing[index_of(a, stream)]);
        else
            open_streams(e);
        break;
    case PREPARE_TO_SEND: {
        uint64_t *outgoing = stream_context;
        size_t offered = *outgoing < length ? (size_t)*outgoing : length;
        int last = offered == *outgoing;
        uint8_t *to = quic.provide_stream_data_buffer(bytes, offered, last, !last);
        if (!to) return -1;
        memset(to, 0, offered);
        if (*outgoing != ENDLESS) *outgoing -= offered;
        a->finished += (uint64_t)last;
        break;
    }
    case DATAGRAM: on_datagram(a, e->now_ps, bytes, length); break;
    case STATELESS_RESET:
    case CLOSE:
    case APPLICATION_CLOSE: {
        uint64_t local = quic.get_local_error(cnx), remote = quic.get_remote_error(cnx);
        char reason[LONGPIPE_LINE];
        snprintf(reason, sizeof reason, "%s", local || remote ? quic.error_name(local ? local : remote) : "closed");
        quic.get_default_path_quality(cnx, &e->quality);
        on_close(a, e->now_ps, reason);
        e->cnx = NULL;
        break;
    }
    default: break;
    }
    return 0;
}

static void observe(struct end *e) {
    if (!e->cnx) return;
    quic.get_default_path_quality(e->cnx, &e->quality);
    observe_window(&e->app, e->quality.cwin, e->quality.lost);
}

/* Creation */

static void destroy(void *of) {
    struct end *e = of;
    if (e->context) {
        enter(e, e->now_ps);
        e->log.on = 0;
        quic.free(e->context);
    }
    free_application(&e->app);
    free(e->log.all);
    free(e);
}

/* An empty file of tickets: only clients that have a file keep tickets, which they do in memory. */
#define NO_TICKETS "/dev/null"
/* Key with which servers encrypt the tickets of sessions, so that another one can resume them. */
static const uint8_t ticket_key[16];

static int create_context(struct end *e, const struct longpipe_end_setup *setup, char *problem) {
    struct application *a = &e->app;
    uint8_t reset_seed[RESET_SEED_BYTES];
    enter(e, 0);
    fill_random(&e->random, reset_seed, sizeof reset_seed);
    e->context = quic.create(4, a->connects ? NULL : certificate_path, a->connects ? NULL : key_path, certificate_path, "longpipe", on_event, e,
                             NULL, NULL, reset_seed, 0, &e->clock_us, a->early_data ? NO_TICKETS : NULL, a->early_data ? ticket_key : NULL,
                             a->early_data ? sizeof ticket_key : 0);
    if (!e->context) {
        snprintf(problem, LONGPIPE_LINE, "picoquic: cannot create a context");
        return 1;
    }
    quic.set_mtu_max(e->context, setup->most_bytes + 28);
    for (size_t i = 0; controls[i]; i++)
        if (a->congestion == controls[i]) quic.set_default_congestion_algorithm(e->context, algorithms[i]);
    if (a->window) {
        quic.set_default_tp_value(e->context, INITIAL_MAX_DATA, a->window);
        quic.set_default_tp_value(e->context, INITIAL_MAX_STREAM_DATA_UNI, a->window);
        quic.set_default_tp_value(e->context, INITIAL_MAX_STREAM_DATA_BIDI_LOCAL, a->window);
        quic.set_default_tp_value(e->context, INITIAL_MAX_STREAM_DATA_BIDI_REMOTE, a->window);
    }
    if (a->streams > 1 && !a->web) quic.set_default_tp_value(e->context, INITIAL_MAX_STREAMS_UNI, a->streams);
    if (a->datagram) quic.set_default_tp_value(e->context, MAX_DATAGRAM_FRAME_SIZE, 65535);
    if (e->max_data) quic.set_max_data_control(e->context, e->max_data);
    if (e->time_stamp) quic.set_default_tp_value(e->context, ENABLE_TIME_STAMP, 3);
    if (e->pmtud_required) quic.set_default_pmtud_policy(e->context, 1);
    quic.set_preemptive_repeat_policy(e->context, (int)e->preemptive_repeat);
    quic.set_log_level(e->context, 1);
    quic.register_log_functions(e->context, &log_functions, e);
    return 0;
}

static void set_addresses(struct end *e) {
    e->own.sin_family = e->peer.sin_family = AF_INET;
    e->own.sin_port = htons(e->app.connects ? 50000 : 4433);
    e->peer.sin_port = htons(e->app.connects ? 4433 : 50000);
    e->own.sin_addr.s_addr = htonl(0x0a000001u + !e->app.connects);
    e->peer.sin_addr.s_addr = htonl(0x0a000001u + e->app.connects);
}

static void *create_client(struct end *e) {
    const struct connection_id none = {0};
    return quic.create_cnx(e->context, none, none, (struct sockaddr *)&e->peer, e->clock_us, VERSION_1, "longpipe.test", "longpipe", 1);
}

/* Returns the length of the next packet that an end sends now, or 0. */
static size_t next_packet(struct end *e) {
    struct sockaddr_storage to, from;
    struct connection_id id;
    int interface = 0;
    size_t bytes = 0;
    void *cnx = NULL;
    int failed = quic.prepare_next_packet(e->context, e->clock_us, e->packet, sizeof e->packet, &bytes, &to, &from, &interface, &id, &cnx);
    return failed ? 0 : bytes;
}

static void accept_packet(struct end *e, size_t bytes, unsigned char ecn) {
    quic.incoming_packet(e->context, e->packet, bytes, (struct sockaddr *)&e->peer, (struct sockaddr *)&e->own, 0, ecn, e->clock_us);
}

/* Passes packets from one end to another before the run. */
static void pass_packets(struct end *from, struct end *to) {
    for (int i = 0; i < MOST_BEFORE_RUN; i++) {
        enter(from, 0);
        size_t bytes = next_packet(from);
        if (!bytes) return;
        memcpy(to->packet, from->packet, bytes);
        enter(to, 0);
        accept_packet(to, bytes, LONGPIPE_NOT_ECT);
    }
}

static int ignore_event(void *cnx, uint64_t stream, uint8_t *bytes, size_t length, enum event event, void *of, void *stream_context) {
    (void)cnx, (void)stream, (void)bytes, (void)length, (void)event, (void)of, (void)stream_context;
    return 0;
}

/* Connects a client to a server once before the run, without a path. The client's context then has a session, which servers with
 * the same key can resume. */
static int obtain_session(struct end *e, const struct longpipe_end_setup *setup, char *problem) {
    struct end *server = calloc(1, sizeof *server);
    if (!server) abort();
    server->app = e->app;
    server->app.connects = 0;
    server->app.outgoing = NULL;
    server->app.web = NULL;
    server->app.web_count = 0;
    server->app.streams = e->app.web ? 1 : e->app.streams;
    server->random = ~setup->seed;
    set_addresses(server);
    int failed = create_context(server, setup, problem);
    if (!failed) {
        enter(e, 0);
        void *cnx = create_client(e);
        if (cnx) quic.set_callback(cnx, ignore_event, NULL);
        failed = !cnx || quic.start_client_cnx(cnx);
        if (failed)
            snprintf(problem, LONGPIPE_LINE, "picoquic: cannot connect before the run");
        else
            for (int flight = 0; flight < FLIGHTS_BEFORE_RUN; flight++) {
                pass_packets(e, server);
                pass_packets(server, e);
            }
        if (cnx) quic.delete_cnx(cnx);
    }
    destroy(server);
    e->lost_bytes = 0;
    return failed;
}

static uint32_t create(const char *stack, const struct longpipe_end_setup *setup, void **end, char *problem) {
    if (strcmp(stack, "picoquic")) {
        snprintf(problem, LONGPIPE_LINE, "stack: %.100s; needs picoquic", stack);
        return 1;
    }
    struct end *e = calloc(1, sizeof *e);
    if (!e) abort();
    const char *ecn = setting(setup, "ecn");
    const char *const *ecn_name = ecn_names;
    if (set_up(&e->app, setup, controls, own_settings, problem) || number(setup, "time_stamp", &e->time_stamp, problem) ||
        number(setup, "pmtud_required", &e->pmtud_required, problem) ||
        number(setup, "preemptive_repeat", &e->preemptive_repeat, problem) || number(setup, "max_data", &e->max_data, problem) ||
        number(setup, "remembered_rtt_us", &e->remembered_rtt_us, problem) ||
        number(setup, "remembered_bytes", &e->remembered_bytes, problem) ||
        number(setup, "open_flow_control", &e->open_flow_control, problem) || load(problem)) {
        destroy(e);
        return 1;
    }
    while (ecn && *ecn_name && strcmp(*ecn_name, ecn)) ecn_name++;
    if (!*ecn_name) {
        snprintf(problem, LONGPIPE_LINE, "ecn: %.60s; needs ", ecn);
        write_list(problem, ecn_names);
        destroy(e);
        return 1;
    }
    e->ecn = ecn_bits[ecn_name - ecn_names];
    e->random = setup->seed;
    set_addresses(e);
    if (create_context(e, setup, problem) || (e->app.early_data && e->app.connects && obtain_session(e, setup, problem))) {
        destroy(e);
        return 1;
    }
    e->log.on = (int)setup->logs_packets;
    *end = e;
    return 0;
}

/* Operation */

static int is_started(const struct end *e) { return e->cnx || e->app.handshake_ps != LONGPIPE_UNKNOWN || e->app.closed_ps != LONGPIPE_UNKNOWN; }

static uint64_t due(void *of) {
    struct end *e = of;
    if (e->app.connects && !is_started(e)) return e->app.start_ps;
    uint64_t wake_us = quic.get_next_wake_time(e->context, e->clock_us);
    uint64_t wake_ps = wake_us > UINT64_MAX / PS_PER_US ? LONGPIPE_UNKNOWN : wake_us * PS_PER_US;
    return e->cnx && next_due(&e->app) < wake_ps ? next_due(&e->app) : wake_ps;
}

static uint32_t receive(void *of, uint64_t now, const uint8_t *payload, uint32_t bytes, uint32_t ecn, char *problem) {
    struct end *e = of;
    (void)problem;
    enter(e, now);
    /* The library decrypts in place. */
    memcpy(e->packet, payload, bytes);
    accept_packet(e, bytes, (unsigned char)(ecn & 3));
    observe(e);
    return 0;
}

static int connect_client(struct end *e, char *problem) {
    e->cnx = create_client(e);
    if (e->cnx) quic.set_callback(e->cnx, on_event, e);
    if (e->cnx && e->remembered_bytes)
        quic.seed_bandwidth(e->cnx, e->remembered_rtt_us, e->remembered_bytes, (uint8_t *)&e->peer.sin_addr, sizeof e->peer.sin_addr);
    if (!e->cnx || quic.start_client_cnx(e->cnx)) {
        snprintf(problem, LONGPIPE_LINE, "picoquic: cannot connect");
        return 1;
    }
    if (!e->app.early_data) return 0;
    if (!quic.is_0rtt_available(e->cnx)) {
        snprintf(problem, LONGPIPE_LINE, "picoquic: cannot resume the session");
        return 1;
    }
    begin(e);
    return 0;
}

static uint32_t wake(void *of, uint64_t now, const struct longpipe_outbox *outbox, char *problem) {
    struct end *e = of;
    enter(e, now);
    if (e->app.connects && !is_started(e)) {
        if (now < e->app.start_ps) return 0;
        if (connect_client(e, problem)) return 1;
    }
    e->app.acted_ps = now;
    if (e->cnx && e->app.requested_ps != LONGPIPE_UNKNOWN) open_web_streams(e);
    size_t length;
    uint8_t datagram[MOST_DATAGRAM];
    while (e->cnx && (length = next_datagram(&e->app, now, datagram)) != 0)
        if (quic.queue_datagram_frame(e->cnx, length, datagram)) {
            snprintf(problem, LONGPIPE_LINE, "picoquic: refuses a datagram of %zu bytes", length);
            return 1;
        }
    for (int sent = 0; sent < MOST_SENT; sent++) {
        size_t bytes = next_packet(e);
        if (!bytes) break;
        outbox->send(outbox->host, e->packet, (uint32_t)bytes, e->ecn);
        e->datagrams++;
        e->sent_bytes += bytes;
        e->mtu = bytes > e->mtu ? bytes : e->mtu;
    }
    observe(e);
    return 0;
}

static void state(void *of, struct longpipe_end_state *state) {
    struct end *e = of;
    const struct quality *q = &e->quality;
    memset(state, 0xff, sizeof *state);
    state->sent_packets = q->sent;
    state->lost_packets = q->lost;
    if (!q->cwin) return;
    state->cwnd = q->cwin;
    if (q->pacing_rate) state->pacing_bps = 8 * q->pacing_rate;
    if (!q->rtt_sample) return;
    state->srtt_ps = q->rtt * PS_PER_US;
    state->min_rtt_ps = q->rtt_min * PS_PER_US;
}

static void report(void *of, struct longpipe_end_report *report, longpipe_tell *tell, void *host) {
    struct end *e = of;
    const struct quality *q = &e->quality;
    report_application(&e->app, report, tell, host);
    report->sent_packets = q->sent;
    report->sent_bytes = e->sent_bytes;
    report->lost_packets = q->lost;
    report->lost_bytes = e->lost_bytes;
    if (!q->cwin) return;
    tell(host, "cwnd_bytes", (double)q->cwin);
    tell(host, "srtt_s", q->rtt_sample ? (double)q->rtt / US_PER_S : NAN);
    tell(host, "min_rtt_s", q->rtt_sample ? (double)q->rtt_min / US_PER_S : NAN);
    tell(host, "mtu_bytes", (double)e->mtu);
    tell(host, "datagrams", (double)e->datagrams);
}

static void packets(void *of, longpipe_tell_packet *tell, void *host) { tell_packets(&((struct end *)of)->log, tell, host); }

const struct longpipe_ends longpipe_ends = {
    .version = LONGPIPE_END_VERSION,
    .size = sizeof(struct longpipe_ends),
    .stacks = "picoquic 1.1.53", /* that of the wheel in picoquic.py */
    .create = create,
    .destroy = destroy,
    .due = due,
    .wake = wake,
    .receive = receive,
    .state = state,
    .report = report,
    .packets = packets,
};
