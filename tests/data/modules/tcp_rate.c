// SPDX-License-Identifier: Apache-2.0
/*
 * A controller by rate for the tests, with the interface of Linux 6.10: cong_control has four arguments. It sends at the best
 * delivery rate of the last ten round trips times gain/256, with a window of two bandwidth-delay products.
 */
#include <linux/module.h>
#include <linux/win_minmax.h>
#include <net/tcp.h>

static uint gain = 320;
/* 1: a rate of 0. */
static uint misbehaves;

module_param(gain, uint, 0644);
module_param(misbehaves, uint, 0644);

struct rate {
	struct minmax best;
	u32 min_rtt_us;
	u32 round;
	u32 next_delivered;
};

static void rate_init(struct sock *sk)
{
	struct rate *ca = inet_csk_ca(sk);

	ca->min_rtt_us = ~0U;
	minmax_reset(&ca->best, 0, 0);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void rate_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rate *ca = inet_csk_ca(sk);
	u64 packets_per_s, window;

	if (rs->delivered <= 0 || rs->interval_us <= 0 || !(flag & FLAG_SND_UNA_ADVANCED) || ack != tp->snd_una)
		return;
	if (!before(rs->prior_delivered, ca->next_delivered)) {
		ca->next_delivered = tp->delivered;
		ca->round++;
	}
	if (rs->rtt_us > 0 && rs->rtt_us < ca->min_rtt_us)
		ca->min_rtt_us = rs->rtt_us;
	packets_per_s = div64_u64((u64)rs->delivered * USEC_PER_SEC, rs->interval_us);
	minmax_running_max(&ca->best, 10, ca->round, packets_per_s);
	packets_per_s = minmax_get(&ca->best);
	sk->sk_pacing_rate = misbehaves ? 0 : (packets_per_s * tp->mss_cache * gain) >> 8;
	window = div64_u64(2 * packets_per_s * ca->min_rtt_us, USEC_PER_SEC) + 4;
	tcp_snd_cwnd_set(tp, min_t(u64, window, tp->snd_cwnd + rs->acked_sacked));
}

static u32 rate_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 rate_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static struct tcp_congestion_ops rate_ops = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "rate",
	.owner		= THIS_MODULE,
	.init		= rate_init,
	.cong_control	= rate_main,
	.ssthresh	= rate_ssthresh,
	.undo_cwnd	= rate_undo_cwnd,
};

static int __init rate_register(void)
{
	return tcp_register_congestion_control(&rate_ops);
}

static void __exit rate_unregister(void)
{
	tcp_unregister_congestion_control(&rate_ops);
}

module_init(rate_register);
module_exit(rate_unregister);

MODULE_LICENSE("Dual BSD/GPL");
