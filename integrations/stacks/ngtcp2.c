/* ngtcp2 with GnuTLS as an end of longpipe's flows (docs/more-stacks.md): make stacks-ngtcp2.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include "adapter.h"
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#define PS_PER_NS 1000u
/* Largest amount of data that is offered at once [byte]; it becomes the length of a packet. */
#define CHUNK_BYTES 65536
/* Flow-control window without the setting `window` [byte], because the library has no default. */
#define WINDOW_BYTES (16u << 20)
#define ID_BYTES 8
/* Idle timeout of ngtcp2's example programs. */
#define IDLE_TIMEOUT (30 * NGTCP2_SECONDS)
/* Calls of the connection's timer at one time. */
#define MOST_EXPIRIES 100
/* Flights of each end of a connection before the run, at least those of the handshake and the ticket, the time between them, and
 * the number of datagrams of a flight that are passed on. */
#define FLIGHTS_BEFORE_RUN 6
#define FLIGHT_PS 50000000000u
#define MOST_BEFORE_RUN 20
/* Time during which a ticket can be used once more [ms]: that of the machine, because GnuTLS reads its clock. */
#define TICKET_MS 86400000u
#define MOST_VECTORS 16

INCLUDE_FILE(certificate, CERTIFICATES "/certificate.der");
INCLUDE_FILE(key, CERTIFICATES "/key.der");

static const uint8_t zeros[CHUNK_BYTES];
static const char *const controls[] = {"cubic", "reno", "bbr", "bbr2", NULL};
static const ngtcp2_cc_algo algorithms[] = {NGTCP2_CC_ALGO_CUBIC, NGTCP2_CC_ALGO_RENO, NGTCP2_CC_ALGO_BBR, NGTCP2_CC_ALGO_BBR2};
static const char *const own_settings[] = {"ack_threshold", "early_data", "http3", NULL};
/* Key with which servers encrypt the tickets of sessions, so that another one can resume them. */
static uint8_t ticket_key[64] = {1};

/* Number of packet number spaces, by packet type; 0-RTT and 1-RTT packets share one. */
#define SPACES 5

/* Lengths of sent packets by number [byte]. */
struct lengths {
    uint16_t *all;
    size_t room;
};

/* A stream that sends: -1 if there is none, or its data were all passed on. */
struct stream {
    int64_t id;
    int blocked;
};

struct end {
    struct application app;
    ngtcp2_crypto_conn_ref reference; /* through which GnuTLS's callbacks find the connection */
    ngtcp2_conn *connection;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    gnutls_datum_t ticket; /* session that a server issued, and the parameters that it then had */
    ngtcp2_transport_params remembered;
    nghttp3_conn *http; /* NULL without HTTP/3, and before it begins */
    int before_run;     /* 1 at an end of a connection that only obtains a session */
    struct sockaddr_in own, peer;
    uint64_t random, ack_threshold, now_ps;
    uint32_t most_bytes;
    struct stream *streams; /* those that send concurrently: as many as the application's */
    uint64_t current;       /* the one that sends next */
    uint64_t opened;        /* streams of the workload that were opened */
    int over;
    uint8_t datagram[MOST_DATAGRAM]; /* one that waits for a packet, of `waiting` bytes */
    size_t waiting;
    uint64_t sent_bytes, datagrams, sent_packets, lost_packets, lost_bytes;
    struct packet_log log;
    struct lengths lengths[SPACES];
    char line[65536]; /* of the qlog, up to `line_bytes` */
    size_t line_bytes;
    uint8_t packet[65536];
};

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *reference) { return ((struct end *)reference->user_data)->connection; }

static ngtcp2_tstamp nanoseconds(uint64_t ps) { return ps / PS_PER_NS; }

static ngtcp2_path path_of(struct end *e) {
    return (ngtcp2_path){.local = {(struct sockaddr *)&e->own, sizeof e->own},
                         .remote = {(struct sockaddr *)&e->peer, sizeof e->peer}};
}

/* The packets of a connection, read from its qlog: no other interface of ngtcp2 reports losses. */

static const char *after(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? at + strlen(name) : NULL;
}

static enum longpipe_packet_type type_of(const char *record) {
    const char *name = after(record, "\"packet_type\":\"");
    if (!name) return LONGPIPE_NO_TYPE;
    if (!strncmp(name, "1RTT", 4)) return LONGPIPE_1RTT;
    if (!strncmp(name, "0RTT", 4)) return LONGPIPE_0RTT;
    if (!strncmp(name, "initial", 7)) return LONGPIPE_INITIAL;
    return strncmp(name, "handshake", 9) ? LONGPIPE_NO_TYPE : LONGPIPE_HANDSHAKE;
}

/* Returns the place of a packet's length; memory for all lower numbers is allocated, which a connection uses without gaps. */
static uint16_t *length_of(struct end *e, const struct longpipe_packet *packet) {
    struct lengths *of = &e->lengths[packet->packet_type];
    if (packet->first >= of->room) {
        size_t room = of->room ? 2 * of->room : 1024;
        while (packet->first >= room) room *= 2;
        uint16_t *all = realloc(of->all, room * sizeof *all);
        if (!all) abort();
        memset(all + of->room, 0, (room - of->room) * sizeof *all);
        *of = (struct lengths){all, room};
    }
    return &of->all[packet->first];
}

static void read_record(struct end *e, const char *record) {
    const char *name = after(record, "\"name\":\""), *digits = after(record, "\"packet_number\":");
    if (!name || !digits) return;
    struct longpipe_packet packet = {.at_ps = e->now_ps, .first = strtoull(digits, NULL, 10), .packet_type = type_of(record)};
    packet.last = packet.first;
    const char *length = after(record, "\"raw\":{\"length\":");
    if (length) packet.length = (uint32_t)strtoul(length, NULL, 10);
    if (!strncmp(name, "transport:packet_sent", 21)) {
        e->sent_packets++;
        packet.kind = LONGPIPE_SENT;
        *length_of(e, &packet) = (uint16_t)packet.length;
    } else if (!strncmp(name, "recovery:packet_lost", 20)) {
        packet.kind = LONGPIPE_LOST;
        packet.length = *length_of(e, &packet);
        e->lost_packets++;
        e->lost_bytes += packet.length;
    } else if (!strncmp(name, "transport:packet_received", 25)) {
        packet.kind = LONGPIPE_RECEIVED;
    } else {
        return;
    }
    log_packet(&e->log, packet);
    const char *ranges = packet.kind == LONGPIPE_RECEIVED && e->log.on ? after(record, "\"acked_ranges\":[") : NULL;
    while (ranges && *ranges == '[') {
        char *rest;
        uint64_t first = strtoull(ranges + 1, &rest, 10), last = *rest == ',' ? strtoull(rest + 1, &rest, 10) : first;
        struct longpipe_packet range = packet;
        range.kind = LONGPIPE_ACKNOWLEDGED;
        range.first = first < last ? first : last;
        range.last = first < last ? last : first;
        range.length = 0;
        log_packet(&e->log, range);
        ranges = strchr(rest, ']');
        ranges = ranges && ranges[1] == ',' ? ranges + 2 : NULL;
    }
}

static void write_qlog(void *of, uint32_t flags, const void *data, size_t bytes) {
    struct end *e = of;
    (void)flags;
    for (const char *at = data, *last = at + bytes; at < last; at++) {
        if (*at == '\n') {
            e->line[e->line_bytes] = 0;
            read_record(e, e->line);
            e->line_bytes = 0;
        } else if (e->line_bytes < sizeof e->line - 1) {
            e->line[e->line_bytes++] = *at;
        }
    }
}

/* Callbacks of the connection */

static void random_bytes(uint8_t *to, size_t bytes, const ngtcp2_rand_ctx *context) {
    fill_random(context->native_handle, to, bytes);
}

static int new_id(ngtcp2_conn *connection, ngtcp2_cid *id, uint8_t *token, size_t bytes, void *of) {
    struct end *e = of;
    (void)connection;
    id->datalen = bytes;
    fill_random(&e->random, id->data, bytes);
    fill_random(&e->random, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

/* Returns 1 if the peer permits no stream yet. */
static int open_stream(struct end *e, uint64_t index, uint64_t bytes) {
    struct application *a = &e->app;
    struct stream *stream = &e->streams[index];
    int failed = a->requests || a->web ? ngtcp2_conn_open_bidi_stream(e->connection, &stream->id, NULL)
                             : ngtcp2_conn_open_uni_stream(e->connection, &stream->id, NULL);
    if (failed) stream->id = -1;
    if (failed) return 1;
    stream->blocked = 0;
    a->outgoing[index] = bytes;
    return 0;
}

/* HTTP/3 */

static nghttp3_nv field(const char *name, const char *value) {
    return (nghttp3_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP3_NV_FLAG_NONE};
}

static nghttp3_ssize read_body(nghttp3_conn *http, int64_t stream, nghttp3_vec *to, size_t room, uint32_t *flags, void *of, void *data) {
    struct end *e = of;
    uint64_t *left = &e->app.outgoing[index_of(&e->app, (uint64_t)stream)];
    (void)http, (void)room, (void)data;
    *to = (nghttp3_vec){(uint8_t *)zeros, *left < CHUNK_BYTES ? (size_t)*left : CHUNK_BYTES};
    *left -= to->len;
    if (!*left) {
        *flags |= NGHTTP3_DATA_FLAG_EOF;
        e->app.finished++;
    }
    return 1;
}

static int on_body(nghttp3_conn *http, int64_t stream, const uint8_t *data, size_t bytes, void *of, void *stream_data) {
    struct end *e = of;
    (void)http, (void)data, (void)stream_data;
    on_data(&e->app, e->now_ps, (uint64_t)stream, bytes, 0);
    return 0;
}

/* Answers a request. */
static int on_message_end(nghttp3_conn *http, int64_t stream, void *of, void *stream_data) {
    struct end *e = of;
    (void)stream_data;
    if (!on_data(&e->app, e->now_ps, (uint64_t)stream, 0, 1)) return 0;
    char length[32];
    snprintf(length, sizeof length, "%llu", (unsigned long long)e->app.outgoing[index_of(&e->app, (uint64_t)stream)]);
    const nghttp3_nv fields[] = {field(":status", "200"), field("content-length", length)};
    const nghttp3_data_reader reader = {read_body};
    return nghttp3_conn_submit_response(http, stream, fields, sizeof fields / sizeof *fields, &reader) ? NGHTTP3_ERR_CALLBACK_FAILURE : 0;
}

/* Begins HTTP/3, unless it has begun. Returns 1 if the peer permits no streams yet. */
static int begin_http(struct end *e) {
    static const nghttp3_callbacks http_callbacks = {.recv_data = on_body, .end_stream = on_message_end};
    int64_t control, encoder, decoder;
    nghttp3_settings settings;
    if (e->http) return 0;
    if (ngtcp2_conn_get_streams_uni_left(e->connection) < 3) return 1;
    nghttp3_settings_default(&settings);
    int failed = e->app.connects ? nghttp3_conn_client_new(&e->http, &http_callbacks, &settings, NULL, e)
                                 : nghttp3_conn_server_new(&e->http, &http_callbacks, &settings, NULL, e);
    if (!failed && !e->app.connects) nghttp3_conn_set_max_client_streams_bidi(e->http, 100);
    if (failed || ngtcp2_conn_open_uni_stream(e->connection, &control, NULL) || ngtcp2_conn_open_uni_stream(e->connection, &encoder, NULL) ||
        ngtcp2_conn_open_uni_stream(e->connection, &decoder, NULL) || nghttp3_conn_bind_control_stream(e->http, control) ||
        nghttp3_conn_bind_qpack_streams(e->http, encoder, decoder))
        abort();
    return 0;
}

static void submit_request(struct end *e, int64_t stream) {
    char path[32];
    snprintf(path, sizeof path, "/%lld", (long long)stream / 4);
    const nghttp3_nv fields[] = {field(":method", "GET"), field(":scheme", "https"), field(":authority", "longpipe.test"),
                                 field(":path", path)};
    if (nghttp3_conn_submit_request(e->http, stream, fields, sizeof fields / sizeof *fields, NULL, NULL)) abort();
}

/* Opens a stream for each request of the web client that is due. */
static void open_web_streams(struct end *e) {
    struct application *a = &e->app;
    if (a->http3 && begin_http(e)) return;
    for (uint64_t index; web_is_due(a, e->now_ps, &index) && !open_stream(e, index, a->web[index].request); a->web_sent++) {
        if (!a->http3) continue;
        submit_request(e, e->streams[index].id);
        e->streams[index].id = -1;
    }
}

/* Opens the streams of the transfer, or that of the next request, or begins to send datagrams. */
static void open_streams(struct end *e) {
    struct application *a = &e->app;
    if (!a->connects || e->before_run || (a->handshake_ps == LONGPIPE_UNKNOWN && !a->early_data)) return;
    if (a->web) {
        open_web_streams(e);
    } else if (a->datagram) {
        if (a->next_ps == LONGPIPE_UNKNOWN && !a->datagrams_sent) start_datagrams(a, e->now_ps);
    } else if (!a->requests) {
        while (e->opened < a->streams && !open_stream(e, e->opened, share_of(a, e->opened))) e->opened++;
    } else if (a->responses < a->count && e->opened == a->responses && !open_stream(e, 0, a->request)) {
        e->opened++;
        a->requested_ps = e->now_ps;
        a->finished = 0;
    }
}

/* Returns the next stream that can send, in turn, or NULL. */
static struct stream *next_stream(struct end *e) {
    for (uint64_t i = 0; i < e->app.streams; i++) {
        struct stream *stream = &e->streams[e->current];
        if (stream->id >= 0 && !stream->blocked) return stream;
        e->current = (e->current + 1) % e->app.streams;
    }
    return NULL;
}

static int on_handshake(ngtcp2_conn *connection, void *of) {
    (void)connection;
    struct end *e = of;
    e->app.handshake_ps = e->now_ps;
    if (!e->app.early_data) return 0;
    if (!e->app.connects) return gnutls_session_ticket_send(e->session, 1, 0) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
    int accepted = e->before_run || (gnutls_session_get_flags(e->session) & GNUTLS_SFLAGS_EARLY_DATA);
    return accepted ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

static int on_stream_data(ngtcp2_conn *connection, uint32_t flags, int64_t stream, uint64_t offset, const uint8_t *data, size_t bytes,
                          void *of, void *user_data) {
    struct end *e = of;
    (void)offset, (void)user_data;
    ngtcp2_conn_extend_max_stream_offset(connection, stream, bytes);
    ngtcp2_conn_extend_max_offset(connection, bytes);
    int over = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
    if (e->app.http3) {
        if (begin_http(e)) return NGTCP2_ERR_CALLBACK_FAILURE;
        return nghttp3_conn_read_stream(e->http, stream, data, bytes, over) < 0 ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
    }
    if (on_data(&e->app, e->now_ps, (uint64_t)stream, bytes, over) && e->app.sends)
        e->streams[index_of(&e->app, (uint64_t)stream)] = (struct stream){stream, 0};
    return 0;
}

static int on_stream_acknowledged(ngtcp2_conn *connection, int64_t stream, uint64_t offset, uint64_t bytes, void *of, void *user_data) {
    struct end *e = of;
    (void)connection, (void)offset, (void)user_data;
    return e->http && nghttp3_conn_add_ack_offset(e->http, stream, bytes) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_credit(ngtcp2_conn *connection, int64_t stream, uint64_t limit, void *of, void *user_data) {
    struct end *e = of;
    (void)connection, (void)limit, (void)user_data;
    if (e->http) nghttp3_conn_unblock_stream(e->http, stream);
    for (uint64_t i = 0; i < e->app.streams; i++)
        if (e->streams[i].id == stream) e->streams[i].blocked = 0;
    return 0;
}

static int on_datagram_frame(ngtcp2_conn *connection, uint32_t flags, const uint8_t *data, size_t bytes, void *of) {
    struct end *e = of;
    (void)connection, (void)flags;
    on_datagram(&e->app, e->now_ps, data, bytes);
    return 0;
}

static int on_stream_close(ngtcp2_conn *connection, uint32_t flags, int64_t stream, uint64_t code, void *of, void *user_data) {
    struct end *e = of;
    (void)user_data;
    if (e->http) nghttp3_conn_close_stream(e->http, stream, flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET ? code : NGHTTP3_H3_NO_ERROR);
    if (ngtcp2_conn_is_local_stream(connection, stream)) return 0;
    if (ngtcp2_is_bidi_stream(stream))
        ngtcp2_conn_extend_max_streams_bidi(connection, 1);
    else
        ngtcp2_conn_extend_max_streams_uni(connection, 1);
    return 0;
}

static const ngtcp2_callbacks callbacks = {
    .client_initial = ngtcp2_crypto_client_initial_cb,
    .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
    .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
    .handshake_completed = on_handshake,
    .encrypt = ngtcp2_crypto_encrypt_cb,
    .decrypt = ngtcp2_crypto_decrypt_cb,
    .hp_mask = ngtcp2_crypto_hp_mask_cb,
    .recv_stream_data = on_stream_data,
    .acked_stream_data_offset = on_stream_acknowledged,
    .stream_close = on_stream_close,
    .recv_retry = ngtcp2_crypto_recv_retry_cb,
    .rand = random_bytes,
    .get_new_connection_id = new_id,
    .update_key = ngtcp2_crypto_update_key_cb,
    .extend_max_stream_data = on_credit,
    .recv_datagram = on_datagram_frame,
    .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
    .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
    .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
    .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
};

/* Creation */

/* Keeps the session that the server has issued. */
static int on_ticket(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming, const gnutls_datum_t *message) {
    struct end *e = ((ngtcp2_crypto_conn_ref *)gnutls_session_get_ptr(session))->user_data;
    (void)type, (void)when, (void)incoming, (void)message;
    gnutls_free(e->ticket.data);
    return gnutls_session_get_data2(session, &e->ticket);
}

static int accept_replay(void *of, time_t expires, const gnutls_datum_t *key_of, const gnutls_datum_t *data) {
    (void)of, (void)expires, (void)key_of, (void)data;
    return 0;
}

/* Lets a session use early data. All servers share one register of sessions, which begins before the first is issued. */
static int enable_early_data(struct end *e, int client) {
    static gnutls_anti_replay_t replays;
    const gnutls_datum_t shared_key = {ticket_key, sizeof ticket_key};
    if (!replays) {
        int failed = gnutls_anti_replay_init(&replays);
        if (failed < 0) return failed;
        gnutls_anti_replay_set_add_function(replays, accept_replay);
        gnutls_anti_replay_set_window(replays, TICKET_MS);
    }
    if (client) {
        gnutls_handshake_set_hook_function(e->session, GNUTLS_HANDSHAKE_NEW_SESSION_TICKET, GNUTLS_HOOK_POST, on_ticket);
        return 0;
    }
    gnutls_anti_replay_enable(e->session, replays);
    int failed = gnutls_session_ticket_enable_server(e->session, &shared_key);
    return failed < 0 ? failed : gnutls_record_set_max_early_data_size(e->session, 0xffffffffu);
}

/* Creates the session of TLS. Returns 1 with a line in `problem` if GnuTLS refuses it. */
static int create_session(struct end *e, char *problem) {
    const char *name = e->app.http3 ? "h3" : "longpipe";
    const gnutls_datum_t protocol = {(uint8_t *)name, (unsigned)strlen(name)};
    int client = e->app.connects;
    unsigned tickets =
        e->app.early_data ? GNUTLS_ENABLE_EARLY_DATA | GNUTLS_NO_END_OF_EARLY_DATA | GNUTLS_NO_AUTO_SEND_TICKET : GNUTLS_NO_TICKETS;
    int failed = gnutls_certificate_allocate_credentials(&e->credentials);
    if (!failed && !client) {
        gnutls_datum_t certificate_file = {(uint8_t *)certificate, (unsigned)(certificate_end - certificate)};
        gnutls_datum_t key_file = {(uint8_t *)key, (unsigned)(key_end - key)};
        failed = gnutls_certificate_set_x509_key_mem(e->credentials, &certificate_file, &key_file, GNUTLS_X509_FMT_DER);
    }
    if (failed >= 0) failed = gnutls_init(&e->session, (client ? GNUTLS_CLIENT : GNUTLS_SERVER) | tickets);
    if (failed >= 0 && e->app.early_data) failed = enable_early_data(e, client);
    if (failed >= 0)
        failed = client ? ngtcp2_crypto_gnutls_configure_client_session(e->session)
                        : ngtcp2_crypto_gnutls_configure_server_session(e->session);
    if (failed >= 0)
        failed = gnutls_priority_set_direct(
            e->session, "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-X25519:%DISABLE_TLS13_COMPAT_MODE",
            NULL);
    if (failed >= 0) failed = gnutls_alpn_set_protocols(e->session, &protocol, 1, GNUTLS_ALPN_MANDATORY);
    if (failed >= 0) failed = gnutls_credentials_set(e->session, GNUTLS_CRD_CERTIFICATE, e->credentials);
    if (failed < 0) {
        snprintf(problem, LONGPIPE_LINE, "ngtcp2: GnuTLS: %s", gnutls_strerror(failed));
        return 1;
    }
    gnutls_session_set_ptr(e->session, &e->reference);
    return 0;
}

/* Creates the connection: a client's, or, with the header of its first packet, a server's. */
static int create_connection(struct end *e, const ngtcp2_pkt_hd *header, char *problem) {
    const struct application *a = &e->app;
    ngtcp2_settings settings;
    ngtcp2_transport_params parameters;
    ngtcp2_settings_default(&settings);
    ngtcp2_transport_params_default(&parameters);
    settings.initial_ts = nanoseconds(e->now_ps);
    settings.rand_ctx.native_handle = &e->random;
    settings.qlog.write = write_qlog;
    settings.max_tx_udp_payload_size = e->most_bytes;
    settings.ack_thresh = (size_t)e->ack_threshold;
    for (size_t i = 0; controls[i]; i++)
        if (a->congestion == controls[i]) settings.cc_algo = algorithms[i];
    uint64_t window = a->window ? a->window : WINDOW_BYTES;
    parameters.initial_max_data = window;
    parameters.initial_max_stream_data_uni = window;
    parameters.initial_max_stream_data_bidi_local = window;
    parameters.initial_max_stream_data_bidi_remote = window;
    parameters.initial_max_streams_uni = a->streams > 100 ? a->streams : 100;
    if (a->datagram) parameters.max_datagram_frame_size = 65535;
    parameters.initial_max_streams_bidi = 100;
    parameters.max_idle_timeout = IDLE_TIMEOUT;
    ngtcp2_cid id = {.datalen = ID_BYTES}, other = {.datalen = NGTCP2_MIN_INITIAL_DCIDLEN};
    fill_random(&e->random, id.data, id.datalen);
    fill_random(&e->random, other.data, other.datalen);
    ngtcp2_path path = path_of(e);
    int failed;
    if (header) {
        parameters.original_dcid = header->dcid;
        parameters.stateless_reset_token_present = 1;
        fill_random(&e->random, parameters.stateless_reset_token, sizeof parameters.stateless_reset_token);
        failed = ngtcp2_conn_server_new(&e->connection, &header->scid, &id, &path, header->version, &callbacks, &settings, &parameters,
                                        NULL, e);
    } else {
        failed = ngtcp2_conn_client_new(&e->connection, &other, &id, &path, NGTCP2_PROTO_VER_V1, &callbacks, &settings, &parameters, NULL,
                                        e);
    }
    if (failed) {
        snprintf(problem, LONGPIPE_LINE, "ngtcp2: %s", ngtcp2_strerror(failed));
        return 1;
    }
    ngtcp2_conn_set_tls_native_handle(e->connection, e->session);
    if (e->ticket.data && !header) ngtcp2_conn_set_early_remote_transport_params(e->connection, &e->remembered);
    return 0;
}

static void destroy(void *of) {
    struct end *e = of;
    if (e->http) nghttp3_conn_del(e->http);
    if (e->connection) ngtcp2_conn_del(e->connection);
    gnutls_free(e->ticket.data);
    if (e->session) gnutls_deinit(e->session);
    if (e->credentials) gnutls_certificate_free_credentials(e->credentials);
    free(e->log.all);
    free(e->streams);
    free_application(&e->app);
    for (size_t i = 0; i < SPACES; i++) free(e->lengths[i].all);
    free(e);
}

/* Operation */

static void observe(struct end *e) {
    ngtcp2_conn_stat stat;
    ngtcp2_conn_get_conn_stat(e->connection, &stat);
    observe_window(&e->app, stat.cwnd, e->lost_packets);
}

static void end_connection(struct end *e, int code) {
    e->over = 1;
    on_close(&e->app, e->now_ps, code == NGTCP2_ERR_IDLE_CLOSE ? "timed out" : ngtcp2_strerror(code));
}

static uint64_t due(void *of) {
    struct end *e = of;
    if (!e->connection) return e->app.connects ? e->app.start_ps : LONGPIPE_UNKNOWN;
    ngtcp2_tstamp expiry = e->over ? UINT64_MAX : ngtcp2_conn_get_expiry(e->connection);
    uint64_t expiry_ps = expiry > UINT64_MAX / PS_PER_NS ? LONGPIPE_UNKNOWN : expiry * PS_PER_NS;
    uint64_t next_ps = next_due(&e->app);
    return !e->over && !e->waiting && next_ps < expiry_ps ? next_ps : expiry_ps;
}

static uint32_t receive(void *of, uint64_t now, const uint8_t *payload, uint32_t bytes, uint32_t ecn, char *problem) {
    struct end *e = of;
    e->now_ps = now;
    if (e->over) return 0;
    if (!e->connection) {
        ngtcp2_pkt_hd header;
        if (e->app.connects || ngtcp2_accept(&header, payload, bytes)) return 0;
        if (create_connection(e, &header, problem)) return 1;
    }
    ngtcp2_path path = path_of(e);
    ngtcp2_pkt_info info = {.ecn = (uint8_t)(ecn & 3)};
    int failed = ngtcp2_conn_read_pkt(e->connection, &path, &info, payload, bytes, nanoseconds(now));
    observe(e);
    if (failed && failed != NGTCP2_ERR_DISCARD_PKT) end_connection(e, failed);
    return 0;
}

/* Writes the next packet with data of HTTP/3, if there are any. Returns what `write_packet` does. */
static ngtcp2_ssize write_http_packet(struct end *e, ngtcp2_pkt_info *info, ngtcp2_tstamp now) {
    for (;;) {
        nghttp3_vec data[MOST_VECTORS];
        int64_t stream = -1;
        int over = 0;
        nghttp3_ssize count = nghttp3_conn_writev_stream(e->http, &stream, &over, data, MOST_VECTORS);
        if (count < 0) return NGTCP2_ERR_INTERNAL;
        ngtcp2_ssize taken = -1;
        ngtcp2_ssize bytes = ngtcp2_conn_writev_stream(e->connection, NULL, info, e->packet, e->most_bytes, &taken,
                                                       over ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE, stream,
                                                       (const ngtcp2_vec *)data, (size_t)count, now);
        if (bytes == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
            nghttp3_conn_block_stream(e->http, stream);
        } else if (bytes == NGTCP2_ERR_STREAM_SHUT_WR || bytes == NGTCP2_ERR_STREAM_NOT_FOUND) {
            nghttp3_conn_shutdown_stream_write(e->http, stream);
        } else {
            if (taken >= 0 && nghttp3_conn_add_write_offset(e->http, stream, (size_t)taken)) return NGTCP2_ERR_INTERNAL;
            return bytes;
        }
    }
}

/* Writes the next packet, which can contain the datagram that waits, or data of a stream. Returns its length; 0 if the connection
 * may send no more, and a negative number if it has ended. */
static ngtcp2_ssize write_packet(struct end *e, ngtcp2_pkt_info *info, ngtcp2_tstamp now) {
    struct application *a = &e->app;
    for (;;) {
        if (!e->waiting) e->waiting = next_datagram(a, e->now_ps, e->datagram);
        if (e->waiting) {
            int taken = 0;
            ngtcp2_vec data = {e->datagram, e->waiting};
            ngtcp2_ssize bytes = ngtcp2_conn_writev_datagram(e->connection, NULL, info, e->packet, e->most_bytes, &taken,
                                                             NGTCP2_WRITE_DATAGRAM_FLAG_NONE, a->datagrams_sent, &data, 1, now);
            if (taken) e->waiting = 0;
            return bytes;
        }
        if (e->http) return write_http_packet(e, info, now);
        struct stream *stream = next_stream(e);
        uint64_t *outgoing = &a->outgoing[e->current];
        size_t offered = !stream ? 0 : *outgoing < CHUNK_BYTES ? (size_t)*outgoing : CHUNK_BYTES;
        int last = stream && offered == *outgoing;
        ngtcp2_vec data = {(uint8_t *)zeros, offered};
        ngtcp2_ssize taken = -1;
        ngtcp2_ssize bytes =
            ngtcp2_conn_writev_stream(e->connection, NULL, info, e->packet, e->most_bytes, &taken,
                                      last ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE, stream ? stream->id : -1, &data, 1, now);
        if (stream && bytes == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
            stream->blocked = 1;
            continue;
        }
        int is_over = bytes == NGTCP2_ERR_STREAM_SHUT_WR || bytes == NGTCP2_ERR_STREAM_NOT_FOUND;
        if (stream && taken >= 0 && *outgoing != ENDLESS) *outgoing -= (uint64_t)taken;
        if (stream && (is_over || (last && taken >= 0 && (size_t)taken == offered))) {
            stream->id = -1;
            a->finished++;
        }
        if (stream && taken >= 0) e->current = (e->current + 1) % a->streams;
        if (!stream || !is_over) return bytes;
    }
}

/* Sends what the connection allows, in bursts of its send quantum: it paces from the time that `update_pkt_tx_time` tells it. */
static void transmit(struct end *e, const struct longpipe_outbox *outbox) {
    ngtcp2_tstamp now = nanoseconds(e->now_ps);
    size_t quantum = 0;
    while (!e->over) {
        if (quantum >= ngtcp2_conn_get_send_quantum(e->connection)) {
            ngtcp2_conn_update_pkt_tx_time(e->connection, now);
            quantum = 0;
        }
        open_streams(e);
        ngtcp2_pkt_info info = {0};
        ngtcp2_ssize bytes = write_packet(e, &info, now);
        if (bytes < 0) {
            end_connection(e, (int)bytes);
            return;
        }
        if (bytes == 0) break;
        outbox->send(outbox->host, e->packet, (uint32_t)bytes, info.ecn);
        quantum += (size_t)bytes;
        e->datagrams++;
        e->sent_bytes += (uint64_t)bytes;
    }
    if (!e->over) ngtcp2_conn_update_pkt_tx_time(e->connection, now);
}

static uint32_t wake(void *of, uint64_t now, const struct longpipe_outbox *outbox, char *problem) {
    struct end *e = of;
    e->now_ps = now;
    e->app.acted_ps = now;
    if (!e->connection) {
        if (!e->app.connects || now < e->app.start_ps) return 0;
        if (create_connection(e, NULL, problem)) return 1;
    }
    for (int calls = 0; !e->over && calls < MOST_EXPIRIES && ngtcp2_conn_get_expiry(e->connection) <= nanoseconds(now); calls++) {
        int failed = ngtcp2_conn_handle_expiry(e->connection, nanoseconds(now));
        observe(e);
        if (failed) end_connection(e, failed);
        transmit(e, outbox);
    }
    transmit(e, outbox);
    return 0;
}

/* Returns an end, or NULL with a line in `problem`. */
static struct end *new_end(const struct longpipe_end_setup *setup, char *problem) {
    struct end *e = calloc(1, sizeof *e);
    if (!e) abort();
    e->ack_threshold = 2;
    if (set_up(&e->app, setup, controls, own_settings, problem) || number(setup, "ack_threshold", &e->ack_threshold, problem) ||
        create_session(e, problem)) {
        destroy(e);
        return NULL;
    }
    e->reference = (ngtcp2_crypto_conn_ref){connection_of, e};
    e->own.sin_family = e->peer.sin_family = AF_INET;
    e->own.sin_port = e->peer.sin_port = htons(443);
    e->own.sin_addr.s_addr = htonl(0x0a000001u + !e->app.connects);
    e->peer.sin_addr.s_addr = htonl(0x0a000001u + e->app.connects);
    e->random = setup->seed;
    e->most_bytes = setup->most_bytes;
    e->log.on = (int)setup->logs_packets;
    e->streams = calloc(e->app.streams, sizeof *e->streams);
    if (!e->streams) abort();
    for (uint64_t i = 0; i < e->app.streams; i++) e->streams[i].id = -1;
    return e;
}

/* Datagrams of an end before the run. */
struct flight {
    size_t count, lengths[MOST_BEFORE_RUN];
    uint8_t payloads[MOST_BEFORE_RUN][2048];
};

static void keep_datagram(void *host, const uint8_t *payload, uint32_t bytes, enum longpipe_ecn ecn) {
    struct flight *flight = host;
    (void)ecn;
    if (flight->count == MOST_BEFORE_RUN || bytes > sizeof *flight->payloads) return;
    memcpy(flight->payloads[flight->count], payload, bytes);
    flight->lengths[flight->count++] = bytes;
}

/* Connects a client to a server once before the run, without a path. The client of the run then resumes the session. Returns 1, with
 * a line in `problem`, if there is none. */
static int obtain_session(struct end *e, const struct longpipe_end_setup *setup, char *problem) {
    struct longpipe_end_setup setups[2] = {*setup, *setup};
    struct end *ends[2];
    struct flight *flight = malloc(sizeof *flight);
    if (!flight) abort();
    setups[1].sends = !setup->sends;
    setups[1].seed = ~setup->seed;
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        setups[i].start_ps = 0;
        setups[i].logs_packets = 0;
        ends[i] = new_end(&setups[i], problem);
        failed |= !ends[i];
        if (ends[i]) ends[i]->before_run = 1;
    }
    for (int step = 0; step < 2 * FLIGHTS_BEFORE_RUN && !failed; step++) {
        uint64_t now = (uint64_t)step * FLIGHT_PS;
        const struct longpipe_outbox outbox = {.host = flight, .send = keep_datagram};
        flight->count = 0;
        failed = (int)wake(ends[step % 2], now, &outbox, problem);
        for (size_t i = 0; i < flight->count && !failed; i++)
            failed = (int)receive(ends[1 - step % 2], now, flight->payloads[i], (uint32_t)flight->lengths[i], LONGPIPE_NOT_ECT, problem);
    }
    if (!failed && !ends[0]->ticket.data) {
        snprintf(problem, LONGPIPE_LINE, "ngtcp2: no session before the run");
        failed = 1;
    }
    if (!failed) {
        e->remembered = *ngtcp2_conn_get_remote_transport_params(ends[0]->connection);
        e->ticket = ends[0]->ticket;
        ends[0]->ticket.data = NULL;
        failed = gnutls_session_set_data(e->session, e->ticket.data, e->ticket.size) < 0;
    }
    for (int i = 0; i < 2; i++)
        if (ends[i]) destroy(ends[i]);
    free(flight);
    return failed;
}

static uint32_t create(const char *stack, const struct longpipe_end_setup *setup, void **end, char *problem) {
    if (strcmp(stack, "ngtcp2")) {
        snprintf(problem, LONGPIPE_LINE, "stack: %.100s; needs ngtcp2", stack);
        return 1;
    }
    struct end *e = new_end(setup, problem);
    if (!e) return 1;
    if (e->app.early_data && e->app.connects && obtain_session(e, setup, problem)) {
        destroy(e);
        return 1;
    }
    *end = e;
    return 0;
}

static void state(void *of, struct longpipe_end_state *state) {
    struct end *e = of;
    memset(state, 0xff, sizeof *state);
    state->sent_packets = e->sent_packets;
    state->lost_packets = e->lost_packets;
    if (!e->connection) return;
    ngtcp2_conn_stat stat;
    ngtcp2_conn_get_conn_stat(e->connection, &stat);
    state->cwnd = stat.cwnd;
    if (stat.ssthresh != UINT64_MAX) state->ssthresh = stat.ssthresh;
    if (stat.first_rtt_sample_ts != UINT64_MAX) {
        state->srtt_ps = stat.smoothed_rtt * PS_PER_NS;
        state->min_rtt_ps = stat.min_rtt * PS_PER_NS;
    }
    /* Bytes per nanosecond; 0 if the control sets no rate. */
    if (stat.pacing_rate > 0) state->pacing_bps = (uint64_t)(stat.pacing_rate * 8e9);
}

static void report(void *of, struct longpipe_end_report *report, longpipe_tell *tell, void *host) {
    struct end *e = of;
    report_application(&e->app, report, tell, host);
    report->sent_packets = e->sent_packets;
    report->sent_bytes = e->sent_bytes;
    report->lost_packets = e->lost_packets;
    report->lost_bytes = e->lost_bytes;
    if (!e->connection) return;
    ngtcp2_conn_stat stat;
    ngtcp2_conn_get_conn_stat(e->connection, &stat);
    int sampled = stat.first_rtt_sample_ts != UINT64_MAX;
    tell(host, "cwnd_bytes", (double)stat.cwnd);
    tell(host, "srtt_s", sampled ? (double)stat.smoothed_rtt / 1e9 : NAN);
    tell(host, "min_rtt_s", sampled ? (double)stat.min_rtt / 1e9 : NAN);
    tell(host, "mtu_bytes", (double)ngtcp2_conn_get_path_max_tx_udp_payload_size(e->connection));
    tell(host, "datagrams", (double)e->datagrams);
}

static void packets(void *of, longpipe_tell_packet *tell, void *host) { tell_packets(&((struct end *)of)->log, tell, host); }

const struct longpipe_ends longpipe_ends = {
    .version = LONGPIPE_END_VERSION,
    .size = sizeof(struct longpipe_ends),
    .stacks = "ngtcp2 " NGTCP2_VERSION,
    .create = create,
    .destroy = destroy,
    .due = due,
    .wake = wake,
    .receive = receive,
    .state = state,
    .report = report,
    .packets = packets,
};
