// Preloaded into user-mode Linux: virtual time, randomness from a seed, and registers of any size.
//
// Time: while the kernel works, the clock advances only by VT_STEP ns per reading; when the kernel is idle, the clock jumps to
// the next timer. Randomness: random bytes that the kernel requests from the host are generated from VT_SEED. Both make runs
// reproducible. Registers: processors with AMX have more state than Linux 6.1 supports; the unsupported part is preserved.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000ull
#define EXTENDED_STATE 0x202
#define LARGEST_STATE 65536
// PTRACE_SETOPTIONS of old kernels, which Linux 6.1 still uses.
#define OLD_SETOPTIONS 21
// Real-time clock at the start [s], an arbitrary date.
#define DAY_CLOCK 1700000000ull

static uint64_t now = BILLION, due, period;

static uint64_t setting(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : fallback;
}

static uint64_t nanoseconds(const struct timespec *time) { return time->tv_sec * BILLION + time->tv_nsec; }

static void store(struct timespec *time, uint64_t value) {
    time->tv_sec = value / BILLION;
    time->tv_nsec = value % BILLION;
}

static void fire_if_due(void) {
    if (due && now >= due) {
        due = period ? now + period : 0;
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGALRM);
    }
}

// Defined in lockstep.c, if that is linked: lets a simulation advance the clock while the guest reads it without ever being idle.
__attribute__((weak)) void wait_if_busy(uint64_t *clock, uint64_t timer);

int clock_gettime(clockid_t clock, struct timespec *time) {
    static uint64_t step;
    if (!step) step = setting("VT_STEP", 100);
    now += step;
    if (wait_if_busy) wait_if_busy(&now, due);
    fire_if_due();
    store(time, now + (clock == CLOCK_REALTIME ? DAY_CLOCK * BILLION : 0));
    return 0;
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *wanted, struct itimerspec *old) {
    (void)timer, (void)old;
    uint64_t value = nanoseconds(&wanted->it_value);
    period = nanoseconds(&wanted->it_interval);
    due = value ? (flags & TIMER_ABSTIME ? value : now + value) : 0;
    return 0;
}

int timer_gettime(timer_t timer, struct itimerspec *left) {
    (void)timer;
    store(&left->it_value, due > now ? due - now : due != 0);
    store(&left->it_interval, period);
    return 0;
}

// Defined in lockstep.c, if that is linked: lets a simulation advance the clock.
__attribute__((weak)) void wait_for_simulation(uint64_t *clock, uint64_t timer);

int sigsuspend(const sigset_t *mask) {
    static int (*idle)(const sigset_t *);
    if (wait_for_simulation) {
        wait_for_simulation(&now, due);
        fire_if_due();
        errno = EINTR;
        return -1;
    }
    if (!idle) idle = (int (*)(const sigset_t *))dlsym(RTLD_NEXT, "sigsuspend");
    if (due) {
        if (due > now) now = due;
        fire_if_due();
    }
    return idle(mask);
}

// SplitMix64 (Steele, Lea, Flood 2014), a byte of each number.
ssize_t getrandom(void *to, size_t length, unsigned flags) {
    static uint64_t state;
    (void)flags;
    if (!state) state = setting("VT_SEED", 1);
    for (size_t at = 0; at < length; at++) {
        uint64_t z = state += 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        ((unsigned char *)to)[at] = z >> 24;
    }
    return length;
}

static long trace(long request, long process, long address, long data) {
    return syscall(SYS_ptrace, request, process, address, data);
}

long ptrace(enum __ptrace_request request, ...) {
    va_list rest;
    va_start(rest, request);
    pid_t process = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *), *data = va_arg(rest, void *);
    va_end(rest);
    // The guest's processes must not survive the kernel, because they would continue as processes of the host.
    if (request == PTRACE_SETOPTIONS || (int)request == OLD_SETOPTIONS) {
        request = PTRACE_SETOPTIONS;
        data = (void *)((long)data | PTRACE_O_EXITKILL);
    }
    if (request == PTRACE_SETREGSET && (long)address == EXTENDED_STATE) {
        static char state[LARGEST_STATE];
        struct iovec whole = {state, sizeof state}, *known = data;
        long done = trace(PTRACE_GETREGSET, process, EXTENDED_STATE, (long)&whole);
        if (done < 0) return done;
        memcpy(state, known->iov_base, known->iov_len < whole.iov_len ? known->iov_len : whole.iov_len);
        return trace(PTRACE_SETREGSET, process, EXTENDED_STATE, (long)&whole);
    }
    // These requests return the word read, as the wrapper of the C library does.
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        long word, done = trace(request, process, (long)address, (long)&word);
        return done < 0 ? done : word;
    }
    return trace(request, process, (long)address, (long)data);
}

// The host loads the kernel at a random address, on which the sizes of its tables depend. Disables that and restarts the kernel.
__attribute__((constructor)) static void settle(int count, char **arguments, char **environment) {
    (void)count;
    int was = personality(0xffffffff);
    if (was != -1 && !(was & ADDR_NO_RANDOMIZE) && personality(was | ADDR_NO_RANDOMIZE) != -1)
        execve("/proc/self/exe", arguments, environment);
}
