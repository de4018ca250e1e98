// SPDX-License-Identifier: Apache-2.0
/* Additive increase, multiplicative decrease, for the tests: a cut of beta/1024, and ways to misbehave. */
#include <linux/mm.h>
#include <linux/module.h>
#include <net/tcp.h>

static int beta __read_mostly = 512;
static int initial_ssthresh __read_mostly;
/* 1: a window of 0; 2: the largest number; 3: a crash; 4: an endless loop; all after the first loss. */
static uint misbehaves __read_mostly;
/* The connection of this number crashes, if any: shared statics show. */
static uint crashes_at __read_mostly;
/* Whether a loss leaves HZ/1024 of the window. */
static bool beta_is_hz __read_mostly;
static u32 connections;

module_param(beta, int, 0644);
MODULE_PARM_DESC(beta, "what a loss leaves of the window, in 1024ths");
module_param(initial_ssthresh, int, 0644);
module_param(misbehaves, uint, 0644);
module_param(crashes_at, uint, 0644);
module_param(beta_is_hz, bool, 0644);

struct aimd {
	u32 losses;
	u32 number;
};

static void aimd_init(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);

	ca->losses = 0;
	/* A simulated connection is initialized twice: before its first segment, and with its first ACK. */
	ca->number = ++connections;
	if (crashes_at && ca->number == 2 * crashes_at)
		*(volatile u32 *)8 = ca->number;
	if (initial_ssthresh)
		tcp_sk(sk)->snd_ssthresh = initial_ssthresh;
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aimd *ca = inet_csk_ca(sk);

	if (ca->losses && misbehaves == 1) {
		tcp_snd_cwnd_set(tp, 0);
		return;
	}
	if (ca->losses && misbehaves == 2) {
		tcp_snd_cwnd_set(tp, U32_MAX);
		return;
	}
	if (ca->losses && misbehaves == 3)
		*(volatile u32 *)8 = acked;
	while (ca->losses && READ_ONCE(misbehaves) == 4)
		barrier();
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static u32 aimd_ssthresh(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);

	ca->losses++;
	return max((tcp_snd_cwnd(tcp_sk(sk)) * (beta_is_hz ? HZ : beta)) / 1024, 2U);
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.init		= aimd_init,
	.ssthresh	= aimd_ssthresh,
	.cong_avoid	= aimd_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "aimd",
};

static int __init aimd_register(void)
{
	BUILD_BUG_ON(sizeof(struct aimd) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("AIMD for the tests of longpipe");
