/*
 * Runs a congestion control module of Linux as a controller of longpipe (longpipe_control.h). Compiled together with the
 * module into one shared object; written from scratch, without text of the kernel.
 *
 * Order of the calls within one ACK, as in tcp_ack() of Linux 6.1.192: pkts_acked, in_ack_event, loss recovery (ssthresh,
 * set_state, undo_cwnd), then cong_control, or cong_avoid if the window may grow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "longpipe_linux.h"

#include <math.h>
#include <stdio.h>

#define PS_PER_US UINT64_C(1000000)
#define PS_PER_NS UINT64_C(1000)
/* How long the machine has been running when the simulation begins [s], because a time stamp of 0 means none. */
#define UPTIME_S 1
/*
 * Ticks begin 300 s before they overflow 32 bits, as in the kernel, so that a tick of 0 is long ago: tcp_htcp measures its first
 * throughput since then.
 */
#define FIRST_JIFFIES ((u64)(u32)(-300 * (s64)longpipe_hz) + UPTIME_S * (u64)longpipe_hz)

u32 longpipe_hz = 250;
static u64 now_ps, tick_ps;
static struct longpipe_module_parameter *parameters;
static struct tcp_congestion_ops *ops;
static char name[TCP_CA_NAME_MAX + 1];

/* --- The state of a connection -------------------------------------------------------------------------------------- */

struct flow {
	/* First, so that a pointer to the socket is one to the flow. */
	struct tcp_sock tp;
	struct longpipe_connection connection;
	u64 delivered, marked, lost;
	/* Window that the latest ACK advertised; 0 before the first one, whose field differs from the unscaled one of a SYN-ACK. */
	u64 window;
	/* Windows that the sender has, and whether the module has changed them where it could not answer. */
	u32 shown_cwnd, shown_ssthresh;
	bool keeps_cwnd, keeps_ssthresh;
	/* Whether init ran before the first segment, and after the first ACK, which shows when the connection began. */
	bool started, established;
	/* Whether nothing is in flight, so that the next segment starts a transmission. */
	bool idle;
	/*
	 * Whether the module itself asked for the reduction in progress (tcp_enter_cwr), which ends beyond cwr_end, the end of the
	 * data sent before; segments delivered since.
	 */
	bool own_cwr;
	u64 cwr_end;
	u32 prr_delivered;
	/* Offset of the timestamps of the receiver, which is drawn at random for each connection. */
	bool has_ts_offset;
	u32 ts_offset;
};

/* The connection whose operation is in progress. */
static struct flow *current;

static struct sock *sk_of(struct flow *f) { return (struct sock *)f; }

/* The module may replace its operations in init, as DCTCP does without ECN. */
static const struct tcp_congestion_ops *ops_of(const struct flow *f) { return f->tp.inet_conn.icsk_ca_ops; }

static u32 segments(u64 bytes, u32 mss) { return (u32)((bytes + mss - 1) / mss); }

/* A duration as the difference of two readings of a clock in microseconds, the later one now. */
static s32 micros(u64 now, int64_t span)
{
	if (span < 0)
		return -1;
	if ((u64)span > now)
		return (s32)((u64)span / PS_PER_US);
	return (s32)(now / PS_PER_US - (now - (u64)span) / PS_PER_US);
}

static u32 timestamp(u64 at) { return (u32)(at / PS_PER_US / USEC_PER_MSEC + (u64)UPTIME_S * MSEC_PER_SEC); }

static void set_state(struct flow *f, u8 state)
{
	if (ops_of(f)->set_state)
		ops_of(f)->set_state(sk_of(f), state);
	f->tp.inet_conn.icsk_ca_state = state;
}

static void event(struct flow *f, enum tcp_ca_event which)
{
	if (which == CA_EVENT_TX_START && ops_of(f)->cwnd_event_tx_start)
		ops_of(f)->cwnd_event_tx_start(sk_of(f));
	else if (ops_of(f)->cwnd_event)
		ops_of(f)->cwnd_event(sk_of(f), which);
}

/* Returns an instant after the first segment left by the clock of the module, which starts when the connection is established. */
static u64 by_clock(const struct flow *f, u64 at) { return at + f->connection.preconnect_ps; }

/* Takes the module's clock, sequence numbers and windows from the sender. */
static void refresh(struct flow *f, u64 now, const struct longpipe_flight *flight)
{
	struct tcp_sock *tp = &f->tp;
	double ssthresh = flight->ssthresh / flight->mss;

	current = f;
	now_ps = now;
	tp->tcp_mstamp = longpipe_now_ns() / NSEC_PER_USEC;
	tp->tcp_clock_cache = longpipe_now_ns();
	tp->snd_una = (u32)flight->una;
	tp->snd_nxt = tp->write_seq = (u32)flight->nxt;
	tp->bytes_acked = flight->una;
	tp->mss_cache = tp->advmss = flight->mss;
	tp->snd_wnd = (u32)min(flight->rwnd, (uint64_t)U32_MAX);
	f->shown_cwnd = max((u32)(flight->cwnd / flight->mss), 1U);
	f->shown_ssthresh = ssthresh < TCP_INFINITE_SSTHRESH ? (u32)ssthresh : TCP_INFINITE_SSTHRESH;
	if (!f->keeps_cwnd)
		tp->snd_cwnd = f->shown_cwnd;
	if (!f->keeps_ssthresh)
		tp->snd_ssthresh = f->shown_ssthresh;
	tp->packets_out = segments(flight->max - flight->una, flight->mss);
}

/* Sets the counts behind tcp_packets_in_flight(): all that is not in flight counts as SACKed. */
static void set_in_flight(struct flow *f, u64 bytes)
{
	u32 in_flight = segments(bytes, f->tp.mss_cache);

	f->tp.sacked_out = f->tp.packets_out > in_flight ? f->tp.packets_out - in_flight : 0;
	f->tp.retrans_out = in_flight > f->tp.packets_out ? in_flight - f->tp.packets_out : 0;
}

/* Keeps windows that the module changed in a call that has no answer, up to the next one that has. */
static void keep(struct flow *f)
{
	f->keeps_cwnd = f->tp.snd_cwnd != f->shown_cwnd;
	f->keeps_ssthresh = f->tp.snd_ssthresh != f->shown_ssthresh;
}

static void init(struct flow *f)
{
	if (f->tp.inet_conn.icsk_ca_ops && ops_of(f)->release)
		ops_of(f)->release(sk_of(f));
	memset(f->tp.inet_conn.icsk_ca_priv, 0, sizeof f->tp.inet_conn.icsk_ca_priv);
	f->tp.inet_conn.icsk_ca_ops = ops;
	if (ops_of(f)->init)
		ops_of(f)->init(sk_of(f));
}

/*
 * Initializes the module once, as before the first segment left at `sent`; `una` was SND.UNA then. Without a handshake the
 * initial window has already left, so that only the threshold can still follow the module.
 */
static void establish(struct flow *f, u64 sent, u64 una, const struct longpipe_flight *flight)
{
	if (f->established)
		return;
	f->established = true;
	refresh(f, sent, flight);
	f->tp.snd_una = f->tp.snd_nxt = (u32)una;
	init(f);
	now_ps = by_clock(f, sent);
	f->tp.first_tx_mstamp = f->tp.delivered_mstamp = longpipe_now_ns() / NSEC_PER_USEC;
	f->keeps_ssthresh = !f->started && f->tp.snd_ssthresh != f->shown_ssthresh;
}

static double bytes_of(u32 ssthresh, u32 mss)
{
	return ssthresh >= TCP_INFINITE_SSTHRESH ? INFINITY : (double)ssthresh * mss;
}

/* Answers with the windows; those that did not change keep fractions of a segment. */
static void answer(struct flow *f, const struct longpipe_flight *flight, struct longpipe_grant *grant)
{
	const struct tcp_sock *tp = &f->tp;

	if (tp->snd_cwnd != f->shown_cwnd)
		grant->window = (double)tp->snd_cwnd * flight->mss;
	if (tp->snd_ssthresh != f->shown_ssthresh)
		grant->ssthresh = bytes_of(tp->snd_ssthresh, flight->mss);
	f->keeps_cwnd = f->keeps_ssthresh = false;
}

/*
 * The rate that the kernel sets for modules without cong_control after every ACK: 200 % of a window per RTT in early slow start,
 * 120 % later. Modules read it even where segments leave as ACKs arrive.
 */
static void update_rate(struct flow *f)
{
	struct tcp_sock *tp = &f->tp;
	struct sock *sk = sk_of(f);
	u64 rate = (u64)tp->mss_cache * ((USEC_PER_SEC / 100) << 3);

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	rate *= max(tp->snd_cwnd, tp->packets_out);
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = min(rate, sk->sk_max_pacing_rate);
}

static void answer_rate(struct flow *f, struct longpipe_grant *grant)
{
	const struct sock *sk = sk_of(f);

	if (sk->sk_pacing_status == SK_PACING_NONE || sk->sk_pacing_rate == ~(u64)0)
		return;
	grant->pacing_bps = 8.0 * (double)min(sk->sk_pacing_rate, sk->sk_max_pacing_rate);
	grant->burst_segments = ops_of(f)->min_tso_segs ? ops_of(f)->min_tso_segs(sk_of(f)) : 2;
}

/* --- Operations of longpipe_control ----------------------------------------------------------------------------------- */

static void *create(const struct longpipe_connection *connection)
{
	struct flow *f = calloc(1, sizeof *f);
	struct tcp_sock *tp = &f->tp;
	struct sock *sk = sk_of(f);

	if (!f)
		return 0;
	f->connection = *connection;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = ~0U;
	tp->reordering = 3;
	tp->rtt_min.s[0].v = tp->rtt_min.s[1].v = tp->rtt_min.s[2].v = ~0U;
	tp->ecn_flags = connection->ecn ? TCP_ECN_OK : 0;
	tp->rx_opt.saw_tstamp = tp->rx_opt.tstamp_ok = tp->rx_opt.sack_ok = 1;
	sk->sk_pacing_rate = sk->sk_max_pacing_rate = ~(u64)0;
	sk->sk_pacing_shift = 10;
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_gso_max_size = GSO_MAX_SIZE;
	sk->sk_gso_max_segs = 65535;
	return f;
}

static void destroy(void *state)
{
	struct flow *f = state;

	current = f;
	if (f->tp.inet_conn.icsk_ca_ops && ops_of(f)->release)
		ops_of(f)->release(sk_of(f));
	current = 0;
	free(f);
}

static void on_start(void *state, uint64_t rtt_ps, const struct longpipe_flight *flight, struct longpipe_grant *grant)
{
	struct flow *f = state;
	u32 us = (u32)(rtt_ps / PS_PER_US);

	refresh(f, 0, flight);
	f->tp.srtt_us = (u32)(rtt_ps * 8 / PS_PER_US);
	minmax_reset(&f->tp.rtt_min, 0, us);
	init(f);
	f->started = true;
	answer(f, flight, grant);
	if (ops_of(f)->cong_control)
		answer_rate(f, grant);
	else
		update_rate(f);
}

static void on_acked(void *state, const struct longpipe_sample *sample, const struct longpipe_flight *flight,
		     struct longpipe_grant *grant)
{
	struct flow *f = state;
	struct tcp_sock *tp = &f->tp;
	u64 now = flight->now_ps, rtt = sample->rtt_ps > 0 ? (u64)sample->rtt_ps : 0;
	u64 sent = now > rtt ? now - rtt : 0, una = flight->una - sample->acked;
	bool window_changed = flight->rwnd != f->window;
	u32 flags = 0;

	f->window = flight->rwnd;
	establish(f, sent, una, flight);
	if (f->idle) {
		f->idle = false;
		refresh(f, by_clock(f, sent), flight);
		tp->snd_una = tp->snd_nxt = (u32)una;
		event(f, CA_EVENT_TX_START);
		keep(f);
	}
	refresh(f, by_clock(f, now), flight);
	if (!ops_of(f)->cong_control)
		sk_of(f)->sk_pacing_status = sample->paced ? SK_PACING_FQ : SK_PACING_NONE;
	f->delivered += sample->delivered;
	f->marked += sample->marked;
	tp->delivered = segments(f->delivered, flight->mss);
	tp->delivered_ce = segments(f->marked, flight->mss);
	if (sample->delivered)
		tp->delivered_mstamp = tp->tcp_mstamp;
	if (sample->delay_ps >= 0) {
		/* The echoed timestamp by the clock of tcp_time_stamp(), and the receiver's, whose clock has any offset. */
		if (!f->has_ts_offset) {
			f->has_ts_offset = true;
			f->ts_offset = longpipe_draw(0);
		}
		tp->rx_opt.rcv_tsecr = timestamp(by_clock(f, sent));
		tp->rx_opt.rcv_tsval = timestamp(by_clock(f, sent + (u64)sample->delay_ps)) + f->ts_offset;
	}
	if (ops_of(f)->pkts_acked) {
		struct ack_sample acked = {
			.pkts_acked = segments(sample->acked, flight->mss),
			.rtt_us = micros(now, sample->rtt_ps),
			.in_flight = (u32)sample->delivered_since_sent,
		};
		ops_of(f)->pkts_acked(sk_of(f), &acked);
	}
	if (ops_of(f)->in_ack_event) {
		/* Header prediction fails if the window field has changed, which is also the case when a hole is filled. */
		if (window_changed || sample->has_sack_blocks || sample->acked == 0 || tp->inet_conn.icsk_ca_state != TCP_CA_Open)
			flags |= CA_ACK_SLOWPATH;
		if (flags && sample->marked)
			flags |= CA_ACK_ECE;
		ops_of(f)->in_ack_event(sk_of(f), flags);
	}
	answer(f, flight, grant);
	if (flight->max == flight->una) {
		f->idle = true;
		tp->lsndtime = (u32)(by_clock(f, sent) / tick_ps + FIRST_JIFFIES);
	}
}

/* Returns the congestion state after an ACK, by what loss recovery reports and what was reduced before. */
static u8 state_after(const struct flow *f, const struct longpipe_ack *ack)
{
	u8 state = f->tp.inet_conn.icsk_ca_state;

	if (ack->phase == LONGPIPE_RECOVERY)
		return TCP_CA_Recovery;
	if (ack->phase == LONGPIPE_LOSS)
		return TCP_CA_Loss;
	if (f->own_cwr)
		return TCP_CA_CWR;
	if (ack->open)
		return TCP_CA_Open;
	return state == TCP_CA_CWR || state == TCP_CA_Recovery ? state : TCP_CA_Disorder;
}

/* A reduction that the module asked for ends when all that was in flight then is acknowledged, or by a loss. */
static void end_own_cwr(struct flow *f, const struct longpipe_ack *ack, const struct longpipe_flight *flight)
{
	if (!f->own_cwr || (flight->una <= f->cwr_end && ack->phase == LONGPIPE_OPEN))
		return;
	f->own_cwr = false;
	if (ack->phase == LONGPIPE_OPEN && !ops_of(f)->cong_control) {
		f->tp.snd_cwnd = f->tp.snd_ssthresh;
		event(f, CA_EVENT_COMPLETE_CWR);
	}
}

/* Moves the window toward the threshold in proportion to what arrives (RFC 6937), while nothing is lost. */
static void reduce(struct flow *f, const struct longpipe_ack *ack, const struct longpipe_flight *flight)
{
	struct tcp_sock *tp = &f->tp;
	s64 in_flight = segments(ack->in_flight, flight->mss), delivered = segments(ack->delivered, flight->mss);
	s64 out = flight->max > f->cwr_end ? segments(flight->max - f->cwr_end, flight->mss) : 0;
	s64 room = (s64)tp->snd_ssthresh - in_flight, more;

	f->prr_delivered += (u32)delivered;
	if (room < 0)
		more = (s64)DIV_ROUND_UP((u64)tp->snd_ssthresh * f->prr_delivered, (u64)max(tp->prior_cwnd, 1U)) - out;
	else
		more = min(room, max((s64)f->prr_delivered - out, delivered) + 1);
	tp->snd_cwnd = (u32)(in_flight + max(more, (s64)(out ? 0 : 1)));
}

static void control(struct flow *f, const struct longpipe_ack *ack, const struct longpipe_flight *flight)
{
	struct tcp_sock *tp = &f->tp;
	struct rate_sample rs = {
		.delivered = -1,
		.interval_us = -1,
		.rtt_us = micros(flight->now_ps, ack->rtt_ps),
		.losses = (int)segments(ack->lost, flight->mss),
		.acked_sacked = segments(ack->delivered, flight->mss),
		.prior_in_flight = segments(ack->in_flight_before, flight->mss),
		.is_ece = ack->marked > 0,
	};

	if (ack->rate_interval_ps > 0 && ack->rate_interval_ps >= ack->min_rtt_ps) {
		rs.prior_delivered = segments(ack->rate_prior_delivered, flight->mss);
		rs.delivered = (s32)segments(ack->rate_delivered, flight->mss);
		rs.interval_us = micros(flight->now_ps, ack->rate_interval_ps);
		rs.snd_interval_us = rs.rcv_interval_us = (u32)rs.interval_us;
		rs.prior_mstamp = tp->tcp_mstamp - (u64)rs.interval_us;
		rs.is_app_limited = ack->rate_app_limited;
		rs.tx_in_flight = segments(ack->rate_in_flight, flight->mss);
		rs.lost = segments(ack->rate_lost, flight->mss);
	}
#if LONGPIPE_LINUX >= 610
	{
		int flag = ack->acked ? FLAG_DATA_ACKED | FLAG_SND_UNA_ADVANCED : 0;

		if (ack->delivered > ack->acked)
			flag |= FLAG_DATA_SACKED | FLAG_SLOWPATH;
		if (ack->marked)
			flag |= FLAG_ECE;
		ops_of(f)->cong_control(sk_of(f), tp->snd_una, flag, &rs);
	}
#else
	ops_of(f)->cong_control(sk_of(f), &rs);
#endif
}

static void on_ack(void *state, const struct longpipe_ack *ack, const struct longpipe_flight *flight,
		   struct longpipe_grant *grant)
{
	struct flow *f = state;
	struct tcp_sock *tp = &f->tp;
	u8 after;

	refresh(f, by_clock(f, flight->now_ps), flight);
	set_in_flight(f, ack->in_flight);
	f->lost += ack->lost;
	tp->lost = segments(f->lost, flight->mss);
	tp->srtt_us = ack->srtt_ps < 0 ? 0 : (u32)((u64)ack->srtt_ps * 8 / PS_PER_US);
	if (ack->min_rtt_ps >= 0)
		minmax_reset(&tp->rtt_min, 0, (u32)((u64)ack->min_rtt_ps / PS_PER_US));
	tp->is_cwnd_limited = ack->window_was_full;
	tp->max_packets_out = segments(ack->most_in_flight, flight->mss);
	tp->tcp_wstamp_ns = longpipe_now_ns() + ack->held_ps / PS_PER_NS;
	tp->app_limited = ack->rate_app_limited ? max(tp->delivered + tcp_packets_in_flight(tp), 1U) : 0;
	end_own_cwr(f, ack, flight);
	after = state_after(f, ack);
	if (after != tp->inet_conn.icsk_ca_state)
		set_state(f, after);
	if (ops_of(f)->cong_control) {
		control(f, ack, flight);
		answer_rate(f, grant);
	} else {
		if (f->own_cwr)
			reduce(f, ack, flight);
		else if (ack->grows)
			ops_of(f)->cong_avoid(sk_of(f), tp->snd_una, segments(ack->delivered, flight->mss));
		update_rate(f);
	}
	answer(f, flight, grant);
}

static void on_sent(void *state, const struct longpipe_sent *sent, const struct longpipe_flight *flight,
		    struct longpipe_grant *grant)
{
	struct flow *f = state;

	if (sent->in_flight == sent->end - sent->sequence && f->established) {
		refresh(f, by_clock(f, flight->now_ps), flight);
		f->tp.packets_out = 0;
		set_in_flight(f, 0);
		f->tp.app_limited = sent->app_limited;
		event(f, CA_EVENT_TX_START);
		answer_rate(f, grant);
		keep(f);
		f->idle = false;
	}
	f->tp.lsndtime = (u32)(by_clock(f, flight->now_ps) / tick_ps + FIRST_JIFFIES);
}

static void on_reduction(void *state, enum longpipe_cause cause, const struct longpipe_flight *flight,
			 struct longpipe_grant *grant)
{
	struct flow *f = state;
	struct tcp_sock *tp = &f->tp;

	establish(f, flight->now_ps, flight->una, flight);
	refresh(f, by_clock(f, flight->now_ps), flight);
	f->own_cwr = false;
	tp->snd_cwnd_cnt = 0;
	tp->prior_cwnd = tp->snd_cwnd;
	tp->prior_ssthresh = tp->snd_ssthresh;
	tp->high_seq = tp->snd_nxt;
	tp->snd_ssthresh = ops_of(f)->ssthresh(sk_of(f));
	if (cause == LONGPIPE_TIMEOUT) {
		event(f, CA_EVENT_LOSS);
		set_in_flight(f, 0);
		set_state(f, TCP_CA_Loss);
		/* All that was in flight counts as lost, so that the retransmission starts a transmission. */
		if (!ops_of(f)->cong_control)
			event(f, CA_EVENT_TX_START);
	} else {
		set_state(f, cause == LONGPIPE_FAST_RETRANSMIT ? TCP_CA_Recovery : TCP_CA_CWR);
	}
	answer(f, flight, grant);
	grant->ssthresh = bytes_of(tp->snd_ssthresh, flight->mss);
	if (cause == LONGPIPE_TIMEOUT)
		grant->window = flight->mss;
	else if (!ops_of(f)->cong_control)
		grant->window = grant->ssthresh;
}

static void on_recovered(void *state, int spurious, const struct longpipe_flight *flight, struct longpipe_grant *grant)
{
	struct flow *f = state;
	struct tcp_sock *tp = &f->tp;
	u8 before_end = tp->inet_conn.icsk_ca_state;

	refresh(f, by_clock(f, flight->now_ps), flight);
	if (spurious)
		tcp_snd_cwnd_set(tp, ops_of(f)->undo_cwnd(sk_of(f)));
	else if ((before_end == TCP_CA_CWR || before_end == TCP_CA_Recovery) && !ops_of(f)->cong_control)
		event(f, CA_EVENT_COMPLETE_CWR);
	set_state(f, TCP_CA_Open);
	answer(f, flight, grant);
}

/* --- The module ---------------------------------------------------------------------------------------------------------- */

#define MOST_MODULES 8
#define MOST_PARAMETERS 64

static int (*inits[MOST_MODULES])(void);
static u32 init_count;
static struct longpipe_parameter listed[MOST_PARAMETERS + 1];
static u32 listed_count;

void longpipe_list_init(int (*init_of_module)(void))
{
	if (init_count < MOST_MODULES)
		inits[init_count++] = init_of_module;
}

static int set_parameter(const struct longpipe_parameter *self, const void *value)
{
	const struct longpipe_module_parameter *p = self->at;
	s64 number = *(const s64 *)value;

	if (p->ops) {
		struct kernel_param described = {p->name, p->ops, p->at};
		char text[24];

		snprintf(text, sizeof text, "%lld", (long long)number);
		return p->ops->set && p->ops->set(text, &described) == 0 ? 0 : -1;
	}
#define SET(word, variable, low, high)                                  \
	if (strcmp(p->type, word) == 0) {                               \
		if (number < (s64)(low) || number > (s64)(high))        \
			return -1;                                      \
		*(variable *)p->at = (variable)number;                  \
		return 0;                                               \
	}
	SET("int", int, INT_MIN, INT_MAX)
	SET("uint", unsigned int, 0, UINT_MAX)
	SET("bool", bool, 0, 1)
	SET("byte", u8, 0, U8_MAX)
	SET("short", short, SHRT_MIN, SHRT_MAX)
	SET("ushort", unsigned short, 0, USHRT_MAX)
	SET("long", long, LONG_MIN, LONG_MAX)
	SET("ulong", unsigned long, 0, S64_MAX)
	SET("ullong", unsigned long long, 0, S64_MAX)
#undef SET
	return -1;
}

void longpipe_list_parameter(struct longpipe_module_parameter *p)
{
	p->next = parameters;
	parameters = p;
	if (listed_count < MOST_PARAMETERS)
		listed[listed_count++] = (struct longpipe_parameter){p->name, LONGPIPE_INTEGER, 0, set_parameter, p};
}

static const struct longpipe_parameter *all_parameters(void) { return listed; }

int tcp_register_congestion_control(struct tcp_congestion_ops *registered)
{
	if (!registered->ssthresh || !registered->undo_cwnd || !(registered->cong_avoid || registered->cong_control))
		return -EINVAL;
	/* Of several modules in one object the first one controls; the others only lend it functions. */
	if (!ops)
		ops = registered;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *registered) { (void)registered; }

static const char *open_module(uint32_t hz)
{
	longpipe_hz = hz;
	tick_ps = LONGPIPE_PS_PER_SECOND / hz;
	for (u32 i = 0; i < init_count; i++) {
		if (inits[i]() != 0)
			return "its module_init() fails: struct tcp_congestion_ops needs ssthresh, undo_cwnd, and cong_avoid or "
			       "cong_control";
	}
	if (!ops)
		return "it registers no congestion control in module_init()";
	memcpy(name, ops->name, TCP_CA_NAME_MAX);
	return 0;
}

static uint32_t wants(void)
{
	uint32_t found = LONGPIPE_RECORDS;

	if (ops->cong_control)
		found |= LONGPIPE_RATES | LONGPIPE_SENDING | LONGPIPE_PACING | LONGPIPE_OWNS_WINDOW;
#ifdef LONGPIPE_USES_TIMESTAMPS
	found |= LONGPIPE_DELAYS;
#endif
#ifdef LONGPIPE_USES_IN_FLIGHT
	found |= LONGPIPE_RATES;
#endif
	return found;
}

#ifdef LONGPIPE_SOURCE
LONGPIPE_FACT(source, "source=" LONGPIPE_SOURCE)
#endif
LONGPIPE_CONTROL(.name = name, .open = open_module, .parameters = all_parameters, .wants = wants, .create = create,
		 .destroy = destroy, .on_start = on_start, .on_ack = on_ack, .on_sent = on_sent, .on_reduction = on_reduction,
		 .on_recovered = on_recovered, .on_acked = on_acked);

/* --- Functions that modules call ------------------------------------------------------------------------------------------ */

u64 longpipe_now_ns(void) { return now_ps / PS_PER_NS + (u64)UPTIME_S * NSEC_PER_SEC; }

u64 longpipe_now_jiffies(void) { return now_ps / tick_ps + FIRST_JIFFIES; }

u32 longpipe_draw(u32 bound) { return current->connection.draw(current->connection.source, bound); }

void get_random_bytes(void *to, int bytes)
{
	for (u8 *at = to; bytes-- > 0; at++)
		*at = (u8)longpipe_draw(256);
}

unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0;

	for (unsigned long bit = 1UL << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= x)
			root |= bit;
	return root;
}

static int parse(const char *text, s64 *number)
{
	char *end;

	*number = strtoll(text, &end, 0);
	return *text && (*end == 0 || *end == '\n') ? 0 : -EINVAL;
}

int kstrtouint(const char *text, unsigned int base, unsigned int *to)
{
	s64 number;

	(void)base;
	if (parse(text, &number) || number < 0 || number > U32_MAX)
		return -EINVAL;
	*to = (unsigned int)number;
	return 0;
}

int kstrtoint(const char *text, unsigned int base, int *to)
{
	s64 number;

	(void)base;
	if (parse(text, &number) || number < INT_MIN || number > INT_MAX)
		return -EINVAL;
	*to = (int)number;
	return 0;
}

int param_set_int(const char *value, const struct kernel_param *p) { return kstrtoint(value, 0, p->arg); }

int param_set_uint(const char *value, const struct kernel_param *p) { return kstrtouint(value, 0, p->arg); }

int param_set_uint_minmax(const char *value, const struct kernel_param *p, unsigned int low, unsigned int high)
{
	unsigned int number;

	if (kstrtouint(value, 0, &number) || number < low || number > high)
		return -EINVAL;
	*(unsigned int *)p->arg = number;
	return 0;
}

int param_get_int(char *to, const struct kernel_param *p) { return sprintf(to, "%d\n", *(int *)p->arg); }

int param_get_uint(char *to, const struct kernel_param *p) { return sprintf(to, "%u\n", *(unsigned int *)p->arg); }

/*
 * The best, second best and third best values of a window of time, each later than the one before, so that the best value that
 * is left is known when the best one leaves the window.
 */
u32 minmax_reset(struct minmax *m, u32 now, u32 value)
{
	m->s[0] = m->s[1] = m->s[2] = (struct minmax_sample){now, value};
	return value;
}

/* `better` counts how many of the three values, from the last, the new one is at least as good as. */
static u32 running(struct minmax *m, u32 window, struct minmax_sample new, u32 better)
{
	u32 age = new.t - m->s[0].t;

	if (better == 3 || new.t - m->s[2].t > window)
		return minmax_reset(m, new.t, new.v);
	if (better == 2)
		m->s[1] = m->s[2] = new;
	else if (better == 1)
		m->s[2] = new;
	if (age > window) {
		/* The best value is too old: the others move up. */
		m->s[0] = m->s[1];
		m->s[1] = m->s[2];
		m->s[2] = new;
		if (new.t - m->s[0].t > window) {
			m->s[0] = m->s[1];
			m->s[1] = m->s[2];
		}
	} else if (m->s[1].t == m->s[0].t && age > window / 4) {
		/* A quarter of the window passed without a second value, or half of it without a third. */
		m->s[1] = m->s[2] = new;
	} else if (m->s[2].t == m->s[1].t && age > window / 2) {
		m->s[2] = new;
	}
	return m->s[0].v;
}

u32 minmax_running_max(struct minmax *m, u32 window, u32 now, u32 v)
{
	u32 better = v >= m->s[0].v ? 3 : v >= m->s[1].v ? 2 : v >= m->s[2].v;

	return running(m, window, (struct minmax_sample){now, v}, better);
}

u32 minmax_running_min(struct minmax *m, u32 window, u32 now, u32 v)
{
	u32 better = v <= m->s[0].v ? 3 : v <= m->s[1].v ? 2 : v <= m->s[2].v;

	return running(m, window, (struct minmax_sample){now, v}, better);
}

/* Adds a segment per segment acknowledged, up to the threshold; returns those that are left. */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh), grown = cwnd - tp->snd_cwnd;

	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked - grown;
}

/* Adds a segment per `per` segments acknowledged. Credit that a larger `per` left over is worth one segment. */
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked)
{
	if (tp->snd_cwnd_cnt >= per) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= per) {
		u32 more = tp->snd_cwnd_cnt / per;

		tp->snd_cwnd_cnt -= more * per;
		tp->snd_cwnd += more;
	}
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

u32 tcp_reno_ssthresh(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd / 2, 2U); }

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_reno_undo_cwnd(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd); }

u32 tcp_tso_autosize(const struct sock *sk, unsigned int mss, int least)
{
	u64 bytes = min(sk->sk_pacing_rate >> sk->sk_pacing_shift, (u64)sk->sk_gso_max_size - 1 - MAX_TCP_HEADER);

	return max((u32)(bytes / mss), (u32)least);
}

void tcp_enter_cwr(struct sock *sk)
{
	struct flow *f = (struct flow *)sk;
	struct tcp_sock *tp = &f->tp;

	if (tp->inet_conn.icsk_ca_state >= TCP_CA_CWR)
		return;
	tp->prior_cwnd = tp->snd_cwnd;
	tp->snd_cwnd_cnt = 0;
	tp->high_seq = tp->snd_nxt;
	tp->snd_ssthresh = ops_of(f)->ssthresh(sk);
	set_state(f, TCP_CA_CWR);
	f->own_cwr = true;
	f->cwr_end = tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una);
	f->prr_delivered = 0;
}
