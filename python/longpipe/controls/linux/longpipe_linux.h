/*
 * What a congestion control module of Linux sees of the kernel: the names of <net/tcp.h> and <linux/module.h> that modules use,
 * written from scratch for longpipe from how modules use them. This file contains no text of the kernel.
 *
 * LONGPIPE_LINUX selects the kernel whose interface the module expects: 601 (6.1 up to 6.9) or 610 (6.10 and later, where
 * cong_control has four arguments).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LONGPIPE_LINUX_H
#define LONGPIPE_LINUX_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "longpipe_control.h"

/* Raised when a change of this header or of longpipe_linux.c can change results; part of the identity of a module. */
#define LONGPIPE_LINUX_HEADER 3

#ifndef LONGPIPE_LINUX
#define LONGPIPE_LINUX 601
#endif

/* Version of the kernel, for sources that serve several. */
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
#if LONGPIPE_LINUX >= 610
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 10, 0)
#else
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 1, 192)
#endif

/* --- Types, attributes and limits ----------------------------------------------------------------------------------- */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef unsigned int gfp_t;
typedef s64 ktime_t;

#define __init
#define __exit
#define __read_mostly
#define __ro_after_init
#define __bpf_kfunc
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __must_check
#define __force
#define __rcu
#define __user
#define noinline
#ifndef __always_inline
#define __always_inline inline
#endif
#define __pure __attribute__((pure))
#define __packed __attribute__((packed))
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define ____cacheline_aligned
#define ____cacheline_aligned_in_smp
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() __asm__ __volatile__("" ::: "memory")

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define S8_MAX INT8_MAX
#define S16_MAX INT16_MAX
#define S32_MAX INT32_MAX
#define S32_MIN INT32_MIN
#define S64_MAX INT64_MAX
#define S64_MIN INT64_MIN
#define U32_C UINT32_C
#define U64_C UINT64_C
#define BITS_PER_U64 64
#define BITS_PER_LONG 64
#define BITS_PER_BYTE 8
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))

enum { EPERM = 1, ENOENT = 2, ENOMEM = 12, EBUSY = 16, EEXIST = 17, EINVAL = 22, ERANGE = 34, MAX_ERRNO = 4095 };

/* --- Small tools ---------------------------------------------------------------------------------------------------- */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG_ON(wrong) _Static_assert(!(wrong), #wrong)
#define BUILD_BUG_ON_MSG(wrong, text) _Static_assert(!(wrong), text)
#define sizeof_field(type, field) sizeof(((type *)0)->field)
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define smp_load_acquire(p) (*(p))
#define smp_store_release(p, value) (*(p) = (value))
#define cmpxchg(at, before, after) __sync_val_compare_and_swap(at, before, after)
#define xchg(at, after) __sync_lock_test_and_set(at, after)

#define WARN_ON(x) (!!(x))
#define WARN_ON_ONCE(x) (!!(x))
#define WARN_ONCE(x, ...) (!!(x))
#define WARN(x, ...) (!!(x))
#define BUG_ON(x) ((x) ? abort() : (void)0)
#define printk(...) ((void)0)
#define pr_debug(...) ((void)0)
#define pr_info(...) ((void)0)
#define pr_info_once(...) ((void)0)
#define pr_notice(...) ((void)0)
#define pr_warn(...) ((void)0)
#define pr_warn_once(...) ((void)0)
#define pr_err(...) ((void)0)
#define pr_crit(...) ((void)0)
#define net_dbg_ratelimited(...) ((void)0)
#define net_info_ratelimited(...) ((void)0)
#define net_warn_ratelimited(...) ((void)0)
#define KERN_DEBUG
#define KERN_INFO
#define KERN_NOTICE
#define KERN_WARNING
#define KERN_ERR
#ifndef KBUILD_MODNAME
#define KBUILD_MODNAME "module"
#endif

#define min(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ > b_ ? a_ : b_; })
#define min3(a, b, c) ({ __typeof__(a) ab_ = min(a, b); min(ab_, c); })
#define max3(a, b, c) ({ __typeof__(a) ab_ = max(a, b); max(ab_, c); })
#define min_not_zero(a, b) \
	({ __typeof__(a) n_ = (a); __typeof__(b) m_ = (b); n_ == 0 ? m_ : (m_ == 0 ? n_ : min(n_, m_)); })
#define clamp(v, low, high) ({ __typeof__(v) up_ = max_t(__typeof__(v), v, low); min_t(__typeof__(v), up_, high); })
#define clamp_t(type, v, low, high) ({ type up_ = max_t(type, v, low); min_t(type, up_, high); })
#define clamp_val(v, low, high) clamp_t(__typeof__(v), v, low, high)
#undef abs
#define abs(x) ({ __typeof__(x) x_ = (x); x_ < 0 ? -x_ : x_; })
#define swap(a, b) do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)

#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d) DIV_ROUND_UP((u64)(n), d)
#define DIV_ROUND_CLOSEST(n, d) (((n) + (d) / 2) / (d))
#define roundup(n, to) ((((n) + (to) - 1) / (to)) * (to))
#define rounddown(n, to) ((n) - (n) % (to))
/* Divides in place and returns the remainder. */
#define do_div(n, by) ({ u32 by_ = (by); u32 rest_ = (u32)((u64)(n) % by_); (n) = (u64)(n) / by_; rest_; })

static inline u64 div_u64(u64 n, u32 by) { return n / by; }
static inline s64 div_s64(s64 n, s32 by) { return n / by; }
static inline u64 div64_u64(u64 n, u64 by) { return n / by; }
static inline s64 div64_s64(s64 n, s64 by) { return n / by; }
static inline long div64_long(s64 n, long by) { return n / by; }
static inline unsigned long div64_ul(u64 n, unsigned long by) { return n / by; }
static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }
static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int by) { return (u64)(((unsigned __int128)a * b) >> by); }
static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int by) { return mul_u64_u64_shr(a, b, by); }
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 by) { return (u64)((unsigned __int128)a * b / by); }

/* Number of the highest bit set, counted from 1; 0 for 0. */
static inline int fls(u32 x) { return x ? 32 - __builtin_clz(x) : 0; }
static inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static inline int ffs_long(u64 x) { return x ? __builtin_ctzll(x) : 64; }
static inline int ilog2(u64 x) { return fls64(x) - 1; }
static inline bool is_power_of_2(unsigned long n) { return n != 0 && (n & (n - 1)) == 0; }
static inline unsigned int hweight32(u32 x) { return (unsigned int)__builtin_popcount(x); }
unsigned long int_sqrt(unsigned long x);

#define GFP_KERNEL 0
#define GFP_ATOMIC 0
#define GFP_NOWAIT 0
#define __GFP_NOWARN 0
#define __GFP_ZERO 0
static inline void *kmalloc(size_t bytes, gfp_t how) { (void)how; return calloc(1, bytes); }
static inline void *kzalloc(size_t bytes, gfp_t how) { return kmalloc(bytes, how); }
static inline void *kcalloc(size_t count, size_t bytes, gfp_t how) { (void)how; return calloc(count, bytes); }
static inline void *kmalloc_array(size_t count, size_t bytes, gfp_t how) { return kcalloc(count, bytes, how); }
static inline void kfree(const void *memory) { free((void *)memory); }

/* --- Clocks --------------------------------------------------------------------------------------------------------- */

/* Ticks per second of the kernel's clock: a value of the scenario, not a constant. */
extern u32 longpipe_hz;
#define HZ ((int)longpipe_hz)
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define MSEC_PER_SEC 1000L
#define TCP_TS_HZ 1000

u64 longpipe_now_ns(void);
u64 longpipe_now_jiffies(void);
#define jiffies ((unsigned long)longpipe_now_jiffies())
#define jiffies_64 longpipe_now_jiffies()
#define tcp_jiffies32 ((u32)longpipe_now_jiffies())
#define get_jiffies_64() longpipe_now_jiffies()
static inline u64 local_clock(void) { return longpipe_now_ns(); }
static inline u64 sched_clock(void) { return longpipe_now_ns(); }
static inline u64 ktime_get_ns(void) { return longpipe_now_ns(); }
static inline ktime_t ktime_get(void) { return (ktime_t)longpipe_now_ns(); }
static inline s64 ktime_to_us(ktime_t t) { return t / NSEC_PER_USEC; }
static inline s64 ktime_to_ms(ktime_t t) { return t / NSEC_PER_MSEC; }
static inline s64 ktime_to_ns(ktime_t t) { return t; }
static inline s64 ktime_us_delta(ktime_t later, ktime_t earlier) { return ktime_to_us(later - earlier); }
static inline ktime_t ktime_sub(ktime_t a, ktime_t b) { return a - b; }
/* To ticks rounds up, from ticks is exact. */
static inline unsigned long usecs_to_jiffies(unsigned int us)
{
	return (unsigned long)DIV_ROUND_UP((u64)us * longpipe_hz, (u64)USEC_PER_SEC);
}
static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return (unsigned long)DIV_ROUND_UP((u64)ms * longpipe_hz, (u64)MSEC_PER_SEC);
}
static inline unsigned long nsecs_to_jiffies(u64 ns) { return (unsigned long)(ns / ((u64)NSEC_PER_SEC / longpipe_hz)); }
static inline unsigned int jiffies_to_usecs(unsigned long j) { return (unsigned int)((u64)j * USEC_PER_SEC / longpipe_hz); }
static inline unsigned int jiffies_to_msecs(unsigned long j) { return (unsigned int)((u64)j * MSEC_PER_SEC / longpipe_hz); }
static inline u64 jiffies_to_nsecs(unsigned long j) { return (u64)j * NSEC_PER_SEC / longpipe_hz; }

/* Comparisons of counters that wrap. */
#define before(a, b) ((s32)((u32)(a) - (u32)(b)) < 0)
#define after(a, b) before(b, a)
#define between(x, low, high) ((u32)(high) - (u32)(low) >= (u32)(x) - (u32)(low))
#define time_after(a, b) ((long)((unsigned long)(b) - (unsigned long)(a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((unsigned long)(a) - (unsigned long)(b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)
#define time_after64(a, b) ((s64)((u64)(b) - (u64)(a)) < 0)
#define time_before64(a, b) time_after64(b, a)
#define time_between32(t, low, high) ((u32)(high) - (u32)(low) >= (u32)(t) - (u32)(low))

/* --- Random numbers, which follow from the seed of the run ----------------------------------------------------------- */

u32 longpipe_draw(u32 bound);
static inline u32 get_random_u32(void) { return longpipe_draw(0); }
static inline u32 get_random_u32_below(u32 bound) { return longpipe_draw(bound); }
static inline u32 prandom_u32(void) { return longpipe_draw(0); }
static inline u32 prandom_u32_max(u32 bound) { return longpipe_draw(bound); }
static inline u32 get_random_int(void) { return longpipe_draw(0); }
void get_random_bytes(void *to, int bytes);

/* --- Windowed extremes of win_minmax.h -------------------------------------------------------------------------------- */

struct minmax_sample {
	u32 t, v;
};
struct minmax {
	struct minmax_sample s[3];
};
static inline u32 minmax_get(const struct minmax *m) { return m->s[0].v; }
u32 minmax_reset(struct minmax *m, u32 now, u32 value);
u32 minmax_running_max(struct minmax *m, u32 window, u32 now, u32 value);
u32 minmax_running_min(struct minmax *m, u32 window, u32 now, u32 value);

/* --- The module --------------------------------------------------------------------------------------------------------- */

struct module;
#define THIS_MODULE ((struct module *)0)
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_VERSION(text)
#define MODULE_ALIAS(text)
#define MODULE_INFO(key, text)
#define MODULE_PARM_DESC(name, text)
#define MODULE_SOFTDEP(text)
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)

struct kernel_param_ops;
struct kernel_param {
	const char *name;
	const struct kernel_param_ops *ops;
	void *arg;
};
struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *value, const struct kernel_param *);
	int (*get)(char *to, const struct kernel_param *);
	void (*free)(void *);
};
int param_set_int(const char *value, const struct kernel_param *);
int param_set_uint(const char *value, const struct kernel_param *);
int param_set_uint_minmax(const char *value, const struct kernel_param *, unsigned int low, unsigned int high);
int param_get_int(char *to, const struct kernel_param *);
int param_get_uint(char *to, const struct kernel_param *);
int kstrtouint(const char *text, unsigned int base, unsigned int *to);
int kstrtoint(const char *text, unsigned int base, int *to);

/* A parameter of a module, listed when the object is loaded. */
struct longpipe_module_parameter {
	const char *name;
	void *at;
	/* Type of the variable as module_param() names it; null with operations. */
	const char *type;
	const struct kernel_param_ops *ops;
	struct longpipe_module_parameter *next;
};
void longpipe_list_parameter(struct longpipe_module_parameter *);
void longpipe_list_init(int (*init)(void));

#define LONGPIPE_LISTED(name, pointer, type, operations)                                                       \
	LONGPIPE_PARAMETER_FACT(name, integer)                                                                 \
	static struct longpipe_module_parameter longpipe_parameter_##name = {#name, pointer, type, operations, 0}; \
	__attribute__((constructor)) static void longpipe_list_##name(void)                                    \
	{                                                                                                      \
		longpipe_list_parameter(&longpipe_parameter_##name);                                           \
	}
#define module_param(variable, type, permissions) LONGPIPE_LISTED(variable, (void *)&variable, #type, 0)
#define module_param_named(name, variable, type, permissions) LONGPIPE_LISTED(name, (void *)&(variable), #type, 0)
#define module_param_cb(name, operations, argument, permissions) LONGPIPE_LISTED(name, (void *)(argument), 0, operations)

#define module_init(function)                                                                                  \
	static int longpipe_call_init(void) { return function(); }                                             \
	__attribute__((constructor)) static void longpipe_list_module(void) { longpipe_list_init(longpipe_call_init); }
#define module_exit(function)                                                                                  \
	__attribute__((unused)) static void longpipe_call_exit(void) { function(); }

/* Registration of functions for BPF has no effect. */
#define BTF_SET8_START(name) static const int name[] __attribute__((unused)) = {0
#define BTF_SET8_END(name) };
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) };
#define BTF_ID_FLAGS(...)
#define __bpf_kfunc_start_defs()
#define __bpf_kfunc_end_defs()
struct btf_kfunc_id_set {
	struct module *owner;
	const void *set;
};
enum { BPF_PROG_TYPE_STRUCT_OPS = 27 };
static inline int register_btf_kfunc_id_set(int type, const struct btf_kfunc_id_set *set)
{
	(void)type;
	(void)set;
	return 0;
}

/* --- Sockets ------------------------------------------------------------------------------------------------------------ */

struct net;
struct sk_buff;
struct request_sock;
struct dst_entry;
struct nlattr;

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum {
	TCPF_CA_Open = 1 << TCP_CA_Open,
	TCPF_CA_Disorder = 1 << TCP_CA_Disorder,
	TCPF_CA_CWR = 1 << TCP_CA_CWR,
	TCPF_CA_Recovery = 1 << TCP_CA_Recovery,
	TCPF_CA_Loss = 1 << TCP_CA_Loss,
};
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};
enum tcp_ca_ack_event_flags { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };
/* `flag` of cong_control from 6.10 on. */
enum {
	FLAG_DATA = 0x01,
	FLAG_WIN_UPDATE = 0x02,
	FLAG_DATA_ACKED = 0x04,
	FLAG_RETRANS_DATA_ACKED = 0x08,
	FLAG_SYN_ACKED = 0x10,
	FLAG_DATA_SACKED = 0x20,
	FLAG_ECE = 0x40,
	FLAG_LOST_RETRANS = 0x80,
	FLAG_SLOWPATH = 0x100,
	FLAG_ORIG_SACK_ACKED = 0x200,
	FLAG_SND_UNA_ADVANCED = 0x400,
	FLAG_DSACKING_ACK = 0x800,
};
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
};
enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { TCP_ECN_OK = 1, TCP_ECN_QUEUE_CWR = 2, TCP_ECN_DEMAND_CWR = 4, TCP_ECN_SEEN = 8 };
enum { ICSK_ACK_SCHED = 1, ICSK_ACK_TIMER = 2, ICSK_ACK_PUSHED = 4, ICSK_ACK_PUSHED2 = 8, ICSK_ACK_NOW = 16 };
enum {
	LINUX_MIB_TCPHYSTARTTRAINDETECT,
	LINUX_MIB_TCPHYSTARTTRAINCWND,
	LINUX_MIB_TCPHYSTARTDELAYDETECT,
	LINUX_MIB_TCPHYSTARTDELAYCWND,
};
#define NET_INC_STATS(net, field) ((void)(net))
#define NET_ADD_STATS(net, field, value) ((void)(net))

#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_CONG_MASK 3
#define TCP_CA_NAME_MAX 16
#define TCP_INIT_CWND 10
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_MIN_MSS 88U
#define MAX_TCP_HEADER 320
#define MAX_TCP_WINDOW 32767U
#define GSO_MAX_SIZE 65536
#define GSO_LEGACY_MAX_SIZE 65536
#define TCP_RACK_RECOVERY_THRESH 16

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered, prior_delivered_ce;
	s32 delivered, delivered_ce;
	long interval_us;
	u32 snd_interval_us, rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight, last_end_seq;
	bool is_app_limited, is_retrans, is_ack_delayed;
	/* Of kernels with BBRv3. */
	u32 tx_in_flight, lost;
	bool is_ece;
};

union tcp_cc_info {
	struct tcpvegas_info {
		u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
	} vegas;
	struct tcp_dctcp_info {
		u16 dctcp_enabled, dctcp_ce_state;
		u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
	} dctcp;
	struct tcp_bbr_info {
		u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
	} bbr;
};
enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };

struct sock {
	/* Bytes per second. */
	u64 sk_pacing_rate, sk_max_pacing_rate;
	u32 sk_pacing_status;
	int sk_state, sk_sndbuf;
	u32 sk_gso_max_size, sk_gso_max_segs;
	u8 sk_pacing_shift;
};

struct tcp_congestion_ops;
/* Larger than the kernel's 104 bytes, for modules of patched kernels. */
#define LONGPIPE_CA_PRIV_BYTES 512
struct inet_connection_sock {
	struct sock sk;
	const struct tcp_congestion_ops *icsk_ca_ops;
	struct {
		u8 pending, quick, pingpong;
	} icsk_ack;
	u8 icsk_ca_state, icsk_retransmits, icsk_backoff;
	u32 icsk_rto;
	u64 icsk_ca_priv[LONGPIPE_CA_PRIV_BYTES / sizeof(u64)];
};
#define ICSK_CA_PRIV_SIZE sizeof_field(struct inet_connection_sock, icsk_ca_priv)

struct tcp_options_received {
	/* Times [ms] by the clocks of the receiver and of the sender; 0 without timestamps. */
	u32 rcv_tsval, rcv_tsecr;
	u16 saw_tstamp, tstamp_ok, sack_ok, wscale_ok;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	/* Windows [segment]. */
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_cnt, snd_cwnd_clamp, snd_cwnd_used, prior_cwnd, prior_ssthresh;
	/* Sequence numbers [byte]. */
	u32 snd_una, snd_nxt, write_seq, rcv_nxt, high_seq, copied_seq, snd_wnd;
	u64 bytes_acked, bytes_sent;
	u32 mss_cache, advmss;
	/* Smoothed RTT in eighths of a microsecond, and its deviation in quarters. */
	u32 srtt_us, mdev_us, rttvar_us;
	/* Counts [segment]. */
	u32 delivered, delivered_ce, lost, lost_out, sacked_out, retrans_out, packets_out, max_packets_out, app_limited;
	u32 total_retrans, reordering, cwnd_usage_seq, rate_delivered, rate_interval_us, lsndtime, tlp_high_seq;
	/* Times [us], then [ns]. */
	u64 tcp_mstamp, delivered_mstamp, first_tx_mstamp;
	u64 tcp_wstamp_ns, tcp_clock_cache;
	struct tcp_options_received rx_opt;
	struct minmax rtt_min;
	bool is_cwnd_limited, rate_app_limited;
	u8 ecn_flags, fast_ack_mode;
};

static inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }
static inline struct inet_connection_sock *inet_csk(const struct sock *sk) { return (struct inet_connection_sock *)sk; }
static inline void *inet_csk_ca(const struct sock *sk) { return inet_csk(sk)->icsk_ca_priv; }
static inline struct net *sock_net(const struct sock *sk) { (void)sk; return 0; }
static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd) { tp->snd_cwnd = cwnd; }
static inline bool tcp_in_slow_start(const struct tcp_sock *tp) { return tp->snd_cwnd < tp->snd_ssthresh; }
static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp) { return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH; }
static inline u32 tcp_left_out(const struct tcp_sock *tp) { return tp->sacked_out + tp->lost_out; }
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tcp_left_out(tp) + tp->retrans_out;
}
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return minmax_get(&tp->rtt_min); }
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier) { return later > earlier ? (u32)(later - earlier) : 0; }
static inline u64 tcp_clock_ns(void) { return longpipe_now_ns(); }
static inline u64 tcp_clock_us(void) { return longpipe_now_ns() / NSEC_PER_USEC; }
static inline u32 tcp_time_stamp(const struct tcp_sock *tp) { return (u32)(tp->tcp_mstamp / USEC_PER_MSEC); }
static inline u32 tcp_time_stamp_raw(void) { return (u32)(longpipe_now_ns() / NSEC_PER_MSEC); }
static inline u32 tcp_time_stamp_ms(const struct tcp_sock *tp) { return tcp_time_stamp(tp); }
/* Timestamps count milliseconds, as in the kernel unless a route has the feature tcp_usec_ts. */
static inline u32 tcp_time_stamp_ts(const struct tcp_sock *tp) { return tcp_time_stamp_ms(tp); }
static inline u32 tcp_mss_to_mtu(struct sock *sk, int mss) { (void)sk; return (u32)mss + 52; }
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->is_cwnd_limited || (tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 quarters = tp->snd_cwnd / 2 + tp->snd_cwnd / 4;

	return state == TCP_CA_CWR || state == TCP_CA_Recovery ? tp->snd_ssthresh : max(tp->snd_ssthresh, quarters);
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_undo_cwnd(struct sock *sk);
u32 tcp_tso_autosize(const struct sock *sk, unsigned int mss, int least);
void tcp_enter_cwr(struct sock *sk);

/*
 * Protective load balancing has no effect: the kernel disables it by default (net.ipv4.tcp_plb_enabled), and it only changes the
 * flow label of IPv6, which longpipe's packets lack.
 */
#define TCP_PLB_SCALE 8
struct tcp_plb_state {
	u8 consec_cong_rounds;
	u32 pause_until;
};
static inline void tcp_plb_init(const struct sock *sk, struct tcp_plb_state *plb)
{
	(void)sk;
	memset(plb, 0, sizeof *plb);
}
static inline void tcp_plb_update_state(const struct sock *sk, struct tcp_plb_state *plb, int marked_share)
{
	(void)sk; (void)plb; (void)marked_share;
}
static inline void tcp_plb_check_rehash(struct sock *sk, struct tcp_plb_state *plb) { (void)sk; (void)plb; }
static inline void tcp_plb_update_state_upon_rto(struct sock *sk, struct tcp_plb_state *plb) { (void)sk; (void)plb; }

/* Answers of the receiver follow the scenario (`tcp.ecn`, `tcp.ack`), not the module. Newer kernels pass flags of the ACK, too. */
#define __tcp_send_ack(sk, ...) ((void)(sk))
static inline void tcp_enter_quickack_mode(struct sock *sk, unsigned int most) { (void)sk; (void)most; }
static inline void INET_ECN_dontxmit(struct sock *sk) { (void)sk; }
static inline void INET_ECN_xmit(struct sock *sk) { (void)sk; }
enum { BPF_SOCK_OPS_BASE_RTT = 7, BPF_SOCK_OPS_RTT_CB_FLAG = 8 };
static inline int tcp_call_bpf(struct sock *sk, int operation, u32 count, u32 *arguments)
{
	(void)sk; (void)operation; (void)count; (void)arguments;
	return -1;
}

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, u32 ack, u32 acked);
	void (*set_state)(struct sock *, u8 state);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	void (*cwnd_event_tx_start)(struct sock *);
	void (*in_ack_event)(struct sock *, u32 flags);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	u32 (*min_tso_segs)(struct sock *);
#if LONGPIPE_LINUX >= 610
	void (*cong_control)(struct sock *, u32 ack, int flag, const struct rate_sample *);
#else
	void (*cong_control)(struct sock *, const struct rate_sample *);
#endif
	u32 (*undo_cwnd)(struct sock *);
	u32 (*sndbuf_expand)(struct sock *);
	size_t (*get_info)(struct sock *, u32 extension, int *attribute, union tcp_cc_info *);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	u32 key, flags;
	void (*init)(struct sock *);
	void (*release)(struct sock *);
};

int tcp_register_congestion_control(struct tcp_congestion_ops *);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *);

#endif
