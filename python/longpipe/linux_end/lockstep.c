// Keeps the guest in lockstep with a simulation: the guest's clock advances to the times that the simulation sends, and the
// connection to the simulation, descriptor 0, carries the frames of the guest's vector device (transport=fd, fd=DEVICE).
//
// An exchange consists of a message in each direction. The guest sends its message when the kernel is idle, and waits for
// the answer:
//
//   guest       clock [ns], next timer [ns] (0: none), number of bytes that follow, whether more messages follow at once
//   simulation  clock [ns], whether time passes while the guest is busy (0 or 1), number of bytes that follow, 0
//
// The bytes that follow are frames, each preceded by its length (32 bits). All numbers are little-endian.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CONNECTION 0
#define DEVICE 100
// Maximum total length of the frames in a message, in either direction [byte].
#define MOST_BYTES (1 << 20)
// Number of readings of the clock without idle time after which the guest counts as busy, and the time that each further
// reading takes [ns]. A program that polls until a packet arrives makes the guest busy. The kernel itself reads the clock
// about 10 times per tick of 10 ms.
#define MOST_READINGS 2000
#define BUSY_STEP 20000

struct head {
    uint64_t now, due;
    uint32_t bytes, more;
};

static struct {
    struct head head;
    unsigned char bytes[MOST_BYTES];
} sent;
// Frames for the kernel. A busy guest may not have read all of them when further frames arrive.
static unsigned char received[4 * MOST_BYTES];
static size_t received_bytes, taken_bytes;
static uint64_t readings, passes_if_busy;

// Writes all bytes to the connection. The guest ends if the connection is closed, because the simulation has then ended; the
// guest's processes end with the kernel, their tracer.
static void put(const void *from, size_t bytes) {
    for (const char *at = from; bytes;) {
        ssize_t done = syscall(SYS_write, CONNECTION, at, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) _exit(0);
        at += done;
        bytes -= done;
    }
}

static void get(void *to, size_t bytes) {
    for (char *at = to; bytes;) {
        ssize_t done = syscall(SYS_read, CONNECTION, at, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) _exit(0);
        at += done;
        bytes -= done;
    }
}

static void flush(uint32_t more) {
    sent.head.more = more;
    put(&sent, sizeof sent.head + sent.head.bytes);
    sent.head.bytes = 0;
}

// Sends the time `*now` and that of the next timer, `due`, and waits for the simulation, which sets `*now`. Received frames
// raise SIGIO.
static void exchange(uint64_t *now, uint64_t due) {
    struct head head;
    sent.head.now = *now;
    sent.head.due = due;
    flush(0);
    get(&head, sizeof head);
    if (head.bytes > MOST_BYTES) _exit(1);
    received_bytes -= taken_bytes;
    memmove(received, received + taken_bytes, received_bytes);
    taken_bytes = 0;
    if (received_bytes + head.bytes > sizeof received) _exit(1);
    get(received + received_bytes, head.bytes);
    passes_if_busy = head.due;
    received_bytes += head.bytes;
    if (head.now > *now) *now = head.now;
    if (head.bytes) {
        uint64_t one = 1;
        syscall(SYS_write, DEVICE, &one, sizeof one);
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGIO);
    }
}

// Called when the guest is idle.
void wait_for_simulation(uint64_t *now, uint64_t due) {
    readings = 0;
    exchange(now, due);
}

// Called when the guest reads its clock. Time passes if the guest is busy and the simulation permits it.
void wait_if_busy(uint64_t *now, uint64_t due) {
    if (!passes_if_busy || ++readings < MOST_READINGS) return;
    uint64_t next = *now + BUSY_STEP;
    exchange(now, due > *now && due < next ? due : next);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (file != DEVICE) return syscall(SYS_writev, file, parts, count);
    uint32_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += parts[i].iov_len;
    if (bytes > MOST_BYTES - sizeof bytes) return bytes;
    if (sent.head.bytes + sizeof bytes + bytes > MOST_BYTES) flush(1);
    memcpy(sent.bytes + sent.head.bytes, &bytes, sizeof bytes);
    sent.head.bytes += sizeof bytes;
    for (int i = 0; i < count; i++) {
        memcpy(sent.bytes + sent.head.bytes, parts[i].iov_base, parts[i].iov_len);
        sent.head.bytes += parts[i].iov_len;
    }
    return bytes;
}

ssize_t readv(int file, const struct iovec *parts, int count) {
    if (file != DEVICE) return syscall(SYS_readv, file, parts, count);
    if (taken_bytes >= received_bytes) {
        errno = EAGAIN;
        return -1;
    }
    uint32_t bytes, done = 0;
    memcpy(&bytes, received + taken_bytes, sizeof bytes);
    const unsigned char *frame = received + taken_bytes + sizeof bytes;
    taken_bytes += sizeof bytes + bytes;
    for (int i = 0; i < count && done < bytes; i++) {
        uint32_t part = parts[i].iov_len < bytes - done ? parts[i].iov_len : bytes - done;
        memcpy(parts[i].iov_base, frame + done, part);
        done += part;
    }
    return done;
}

// Opens an eventfd as DEVICE, which the kernel polls; each write to it is an event. Disables core files, also for a panic.
__attribute__((constructor)) static void open_device(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    int made = eventfd(0, EFD_NONBLOCK);
    if (made < 0 || dup2(made, DEVICE) < 0) abort();
    close(made);
}
