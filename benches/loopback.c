/* Transfers data between both ends of a stack over UDP sockets of the loopback interface, in real time.
 *
 * The stack is an object with the interface of longpipe_end.h. One thread runs both ends: it passes each datagram on as soon as it
 * arrives, and sleeps until a datagram arrives or an end must be woken. benches/more_stacks.py compiles and calls it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <longpipe_end.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES 1452
#define BUFFER_BYTES (4 << 20)
#define PS_PER_NS 1000u
#define NS_PER_S 1000000000u
/* Interval at which it is asked whether the transfer is complete. */
#define CHECKED_NS 10000000u

struct side {
    void *end;
    int socket;
};

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "loopback: %s\n", what);
    exit(1);
}

/* A datagram that the socket's full buffer refuses is lost, as on a network. */
static void transmit(void *host, const uint8_t *payload, uint32_t bytes, uint32_t ecn) {
    (void)ecn;
    if (send(((struct side *)host)->socket, payload, bytes, 0) < 0) return;
}

static void ignore(void *host, const char *name, double value) { (void)host, (void)name, (void)value; }

static int open_socket(void) {
    int made = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), bytes = BUFFER_BYTES;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof address)) fail("no socket");
    return made;
}

static void connect_to(int made, int other) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    if (getsockname(other, (struct sockaddr *)&address, &length) || connect(made, (struct sockaddr *)&address, length)) fail("no connection");
}

/* Lets an end receive what has arrived and act, if there is anything to do. */
static void serve(const struct longpipe_ends *table, struct side *side, uint64_t now) {
    char problem[LONGPIPE_LINE] = "";
    uint8_t packet[65536];
    const struct longpipe_outbox outbox = {side, transmit};
    int arrived = 0;
    for (ssize_t bytes; (bytes = recv(side->socket, packet, sizeof packet, 0)) >= 0; arrived = 1)
        if (table->receive(side->end, now, packet, (uint32_t)bytes, LONGPIPE_NOT_ECT, problem)) fail(problem);
    if ((arrived || table->due(side->end) <= now) && table->wake(side->end, now, &outbox, problem)) fail(problem);
}

/* Transfers `size` bytes. Writes the number of packets that the sender sent, the CPU time of the process [s], and the duration [s]. */
void transfer(const char *file, const char *stack, const char *size, double results[3]) {
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object) fail(dlerror());
    const struct longpipe_ends *table = dlsym(object, "longpipe_ends");
    if (!table) fail("no table longpipe_ends");
    const struct longpipe_setting settings[] = {{"size", size}};
    struct side sides[2];
    char problem[LONGPIPE_LINE] = "";
    for (uint32_t i = 0; i < 2; i++) {
        const struct longpipe_end_setup setup = {.seed = i + 1, .settings = settings, .count = 1, .sends = !i, .most_bytes = MOST_BYTES, .paths = 1};
        if (table->create(stack, &setup, &sides[i].end, problem)) fail(problem);
        sides[i].socket = open_socket();
    }
    for (int i = 0; i < 2; i++) connect_to(sides[i].socket, sides[!i].socket);
    uint64_t begin = nanoseconds(CLOCK_MONOTONIC), cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), checked = 0;
    struct longpipe_end_report receiver = {.completed_ps = LONGPIPE_UNKNOWN}, sender = {0};
    struct pollfd polled[2] = {{sides[0].socket, POLLIN, 0}, {sides[1].socket, POLLIN, 0}};
    while (receiver.completed_ps == LONGPIPE_UNKNOWN) {
        uint64_t now = nanoseconds(CLOCK_MONOTONIC) - begin, due = now + CHECKED_NS;
        for (int i = 0; i < 2; i++) {
            serve(table, &sides[i], now * PS_PER_NS);
            uint64_t of_end = table->due(sides[i].end) / PS_PER_NS;
            due = of_end < due ? of_end : due;
        }
        if (now >= checked) {
            checked = now + CHECKED_NS;
            table->report(sides[1].end, &receiver, ignore, NULL);
            table->report(sides[0].end, &sender, ignore, NULL);
            if (sender.closed_ps != LONGPIPE_UNKNOWN) fail(sender.closed);
        }
        struct timespec timeout = {.tv_nsec = due > now ? (long)(due - now) : 0};
        ppoll(polled, 2, &timeout, NULL);
    }
    results[0] = (double)sender.sent_packets;
    results[1] = (double)(nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / NS_PER_S;
    results[2] = (double)(nanoseconds(CLOCK_MONOTONIC) - begin) / NS_PER_S;
}
