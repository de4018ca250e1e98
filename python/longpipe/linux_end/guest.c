// First process of the guest: creates the hosts of a simulation, each in a network namespace, and runs their applications.
//
// The simulation controls this process by frames of the type CONTROL on the device vec0. One frame answers each request.
// The hosts' devices are macvlans on vec0, so that the simulation identifies a host by its Ethernet address: 02:00:00:00,
// followed by the host's number, counted from 1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONTROL 0x88b5
#define PORT 5001
#define BILLION 1000000000ull
#define UNKNOWN UINT64_MAX
#define MOST_HOSTS 512
#define CHUNK (1 << 20)
// Length of a control frame's Ethernet header [byte].
#define HEAD 14
// Maximum length of a program's text, and of the part of this text or of the program's output in one frame [byte].
#define MOST_TEXT (1 << 16)
#define PART 1000
// Directory with the output of programs, their temporary files, and their /etc/hosts.
#define WRITABLE "/run/longpipe"

enum { ADD_HOST = 1, START = 2, READ_HOST = 3, ADD_TEXT = 4, STOP = 5, READ_OUTPUT = 6 };

// Request that creates a host. At time `start` [ns], a host with `sends` begins to send `bytes` bytes; UNKNOWN means without
// end. If `program` is set, the host instead starts the program whose text ADD_TEXT adds, or nothing without such a text.
struct add_host {
    uint16_t request, host;
    uint16_t sends, ecn;
    uint32_t mtu, program;
    uint64_t start, bytes;
    char congestion[16], modules[256];
};
struct short_request {
    uint16_t request, host;
};
// Request that appends bytes to the text of a host's program. The text consists of NUL-terminated strings: the working
// directory, the PATH, the contents of /etc/hosts, and the words of the command.
struct add_text {
    uint16_t request, host;
    uint32_t bytes;
    char text[PART];
};
// Request for the bytes from `offset` on that a host's program has written to descriptor 1 or 2.
struct read_output {
    uint16_t request, host;
    uint32_t descriptor;
    uint64_t offset;
};

// Beginning of each answer. `failed` is an error in one line, or empty. Times in answers are nanoseconds since START.
struct answer {
    uint16_t request, host;
    uint32_t reserved;
    char failed[160];
};
struct host_answer {
    struct answer head;
    // Values of a receiver; a sender has `connected` and `closed`, too. Absent times are UNKNOWN.
    uint64_t delivered, completed, connected, closed;
    // Values of a sender, from TCP_INFO and the counters of its namespace.
    uint64_t cwnd, ssthresh, mss, srtt_us, rttvar_us, min_rtt_us, pacing_rate;
    uint64_t sent_segments, sent_bytes, retransmitted_segments, retransmitted_bytes, recoveries, timeouts;
    // Values of a program. `status` is the exit code, or 128 plus the number of the signal that ended the program.
    uint64_t started, ended, status;
};
struct output_answer {
    struct answer head;
    uint64_t bytes;
    char text[PART];
};

// Memory that the process of an application shares with the first process.
struct shared {
    volatile uint64_t delivered, completed, connected, closed, started, ended, status;
    volatile int error, group;
};
// A host. `space` is its network namespace, `counters` is the namespace's netstat file, and `text` is the text of its program,
// if it has one.
struct host {
    struct add_host wanted;
    int socket, counters, space;
    struct shared *shared;
    char *text;
    size_t text_bytes;
};

static struct host hosts[MOST_HOSTS];
static uint64_t zero;
static char buffer[CHUNK];
static char problem[160];

static uint64_t clock_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * BILLION + time.tv_nsec;
}

static uint64_t since_start(void) { return clock_now() - zero; }

#define FAIL(...) return snprintf(problem, sizeof problem, __VA_ARGS__), -1
#define NEED(call, what) \
    if ((call) < 0) FAIL("%s: %s", what, strerror(errno))

static int set(const char *file, const char *value) {
    char path[128];
    snprintf(path, sizeof path, "/proc/sys/net/%s", file);
    int opened = open(path, O_WRONLY);
    NEED(opened, file);
    ssize_t done = write(opened, value, strlen(value));
    close(opened);
    NEED(done, file);
    return 0;
}

// Loads a kernel module from the folder, after the module that it depends on.
static int load(const char *folder, const char *name) {
    char path[512];
    if (!strcmp(name, "net/ipv4/tcp_yeah") && load(folder, "net/ipv4/tcp_vegas") < 0) return -1;
    snprintf(path, sizeof path, "%s/kernel/%s.ko", folder, name);
    int file = open(path, O_RDONLY);
    NEED(file, name);
    int done = syscall(SYS_finit_module, file, "", 0);
    close(file);
    if (done < 0 && errno != EEXIST) FAIL("%s: %s", name, strerror(errno));
    return 0;
}

static void add(struct nlmsghdr *head, int kind, const void *value, int bytes) {
    struct rtattr *at = (struct rtattr *)((char *)head + NLMSG_ALIGN(head->nlmsg_len));
    at->rta_type = kind;
    at->rta_len = RTA_LENGTH(bytes);
    if (bytes) memcpy(RTA_DATA(at), value, bytes);
    head->nlmsg_len = NLMSG_ALIGN(head->nlmsg_len) + RTA_ALIGN(at->rta_len);
}

static struct rtattr *end_of(struct nlmsghdr *head) {
    return (struct rtattr *)((char *)head + NLMSG_ALIGN(head->nlmsg_len));
}

static void close_nested(struct nlmsghdr *head, struct rtattr *nested) {
    nested->rta_len = (char *)end_of(head) - (char *)nested;
}

static void address_of(int host, unsigned char *address) {
    memcpy(address, (unsigned char[]){2, 0, 0, 0, (host + 1) >> 8, (host + 1) & 255}, 6);
}

// Creates the macvlan `eth0` of a host in the namespace `space`. Without segmentation offload, each packet is one segment.
static int add_device(int host, int space, uint32_t mtu) {
    struct {
        struct nlmsghdr head;
        struct ifinfomsg link;
        char rest[512];
    } message = {{sizeof(struct nlmsghdr) + sizeof(struct ifinfomsg), RTM_NEWLINK,
                  NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, 1, 0},
                 {0},
                 {0}};
    unsigned char address[6];
    uint32_t below = if_nametoindex("vec0"), one = 1, mode = MACVLAN_MODE_VEPA;
    address_of(host, address);
    add(&message.head, IFLA_IFNAME, "eth0", 5);
    add(&message.head, IFLA_LINK, &below, sizeof below);
    add(&message.head, IFLA_ADDRESS, address, sizeof address);
    add(&message.head, IFLA_MTU, &mtu, sizeof mtu);
    add(&message.head, IFLA_GSO_MAX_SEGS, &one, sizeof one);
    add(&message.head, IFLA_NET_NS_FD, &space, sizeof space);
    struct rtattr *information = end_of(&message.head);
    add(&message.head, IFLA_LINKINFO, 0, 0);
    add(&message.head, IFLA_INFO_KIND, "macvlan", 7);
    struct rtattr *data = end_of(&message.head);
    add(&message.head, IFLA_INFO_DATA, 0, 0);
    add(&message.head, IFLA_MACVLAN_MODE, &mode, sizeof mode);
    close_nested(&message.head, data);
    close_nested(&message.head, information);
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    NEED(netlink, "netlink");
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[1024];
    } answer;
    int done = send(netlink, &message, message.head.nlmsg_len, 0);
    if (done >= 0) done = recv(netlink, &answer, sizeof answer, 0);
    close(netlink);
    NEED(done, "netlink");
    if (answer.error.error) FAIL("macvlan: %s", strerror(-answer.error.error));
    return 0;
}

// Returns the address of a host: 10.F.F.1 for the sender of flow F, whose number has two bytes, and 10.F.F.2 for its receiver.
static struct sockaddr_in internet(int host, int port) {
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(port)};
    made.sin_addr.s_addr = htonl(10u << 24 | (host / 2) << 8 | (1 + host % 2));
    return made;
}

static void name_device(struct ifreq *request) {
    memset(request, 0, sizeof *request);
    strcpy(request->ifr_name, "eth0");
}

// Configures the device of this namespace. A permanent ARP entry for the flow's other host avoids ARP requests.
static int configure(int host) {
    int control = socket(AF_INET, SOCK_DGRAM, 0);
    NEED(control, "socket");
    struct ifreq device;
    name_device(&device);
    struct sockaddr_in own = internet(host, 0), other = internet(host ^ 1, 0), mask = own;
    memcpy(&device.ifr_addr, &own, sizeof own);
    NEED(ioctl(control, SIOCSIFADDR, &device), "address");
    mask.sin_addr.s_addr = htonl(0xffffff00);
    memcpy(&device.ifr_netmask, &mask, sizeof mask);
    NEED(ioctl(control, SIOCSIFNETMASK, &device), "netmask");
    name_device(&device);
    device.ifr_flags = IFF_UP;
    NEED(ioctl(control, SIOCSIFFLAGS, &device), "device");
    struct arpreq neighbor = {.arp_flags = ATF_PERM | ATF_COM};
    memcpy(&neighbor.arp_pa, &other, sizeof other);
    neighbor.arp_ha.sa_family = ARPHRD_ETHER;
    address_of(host ^ 1, (unsigned char *)neighbor.arp_ha.sa_data);
    strcpy(neighbor.arp_dev, "eth0");
    NEED(ioctl(control, SIOCSARP, &neighbor), "neighbor");
    strcpy(device.ifr_name, "lo");
    NEED(ioctl(control, SIOCSIFFLAGS, &device), "loopback");
    close(control);
    return 0;
}

static int settings(const struct add_host *wanted) {
    return set("ipv4/tcp_no_metrics_save", "1") < 0 || set("ipv4/tcp_wmem", "4096 4194304 67108864") < 0 ||
                   set("ipv4/tcp_rmem", "4096 131072 67108864") < 0 || (wanted->ecn && set("ipv4/tcp_ecn", "1") < 0)
               ? -1
               : 0;
}

static int open_socket(const struct host *host, int number) {
    int made = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    NEED(made, "socket");
    const char *congestion = host->wanted.congestion;
    if (setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion)) < 0)
        FAIL("congestion: %s; this kernel cannot use it (%s)", congestion, strerror(errno));
    struct sockaddr_in own = internet(number, host->wanted.sends ? 0 : PORT);
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    NEED(bind(made, (struct sockaddr *)&own, sizeof own), "bind");
    if (!host->wanted.sends) NEED(listen(made, 1), "listen");
    return made;
}

// Sets the default congestion control of this namespace; its module is loaded.
static int use_congestion(const char *name) {
    if (set("ipv4/tcp_congestion_control", name) < 0)
        FAIL("congestion: %s; this kernel cannot use it", name);
    return 0;
}

static int add_host(const struct add_host *wanted) {
    char module[64];
    if (wanted->host >= MOST_HOSTS) FAIL("hosts: %d; needs at most %d", wanted->host + 1, MOST_HOSTS);
    struct host *host = &hosts[wanted->host];
    host->wanted = *wanted;
    snprintf(module, sizeof module, "net/ipv4/tcp_%s", wanted->congestion);
    if (load(wanted->modules, "drivers/net/macvlan") < 0) return -1;
    if (strcmp(wanted->congestion, "cubic") && strcmp(wanted->congestion, "reno") &&
        load(wanted->modules, module) < 0)
        FAIL("congestion: %s; this kernel cannot load tcp_%s", wanted->congestion, wanted->congestion);
    int first = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    NEED(first, "namespace");
    NEED(unshare(CLONE_NEWNET), "namespace");
    int space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    NEED(setns(first, CLONE_NEWNET), "namespace");
    if (add_device(wanted->host, space, wanted->mtu) < 0) return -1;
    NEED(setns(space, CLONE_NEWNET), "namespace");
    int done = settings(wanted) < 0 || configure(wanted->host) < 0 ? -1 : 0;
    host->socket = -1;
    if (!done && wanted->program) done = use_congestion(wanted->congestion);
    else if (!done && (host->socket = open_socket(host, wanted->host)) < 0) done = -1;
    host->counters = open("/proc/self/net/netstat", O_RDONLY | O_CLOEXEC);
    NEED(setns(first, CLONE_NEWNET), "namespace");
    close(first);
    if (wanted->program) host->space = space;
    else close(space);
    host->shared = mmap(0, sizeof *host->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    host->shared->completed = host->shared->connected = host->shared->closed = UNKNOWN;
    host->shared->started = host->shared->ended = host->shared->status = UNKNOWN;
    return done;
}

// Mounts file systems in memory to which programs can write, because the machine's files are read-only.
static int make_writable(void) {
    static int is_made;
    if (is_made) return 0;
    NEED(mkdir(WRITABLE, 0755), WRITABLE);
    NEED(mount("tmpfs", WRITABLE, "tmpfs", 0, "size=128m"), WRITABLE);
    // The kernel has mounted its own file system at /dev, so that /dev/shm can be created.
    if (mkdir("/dev/shm", 0777) == 0) mount(WRITABLE, "/dev/shm", 0, MS_BIND, 0);
    is_made = 1;
    return 0;
}

static int add_text(const struct add_text *added) {
    if (added->host >= MOST_HOSTS || !hosts[added->host].shared) FAIL("host %d is absent", added->host);
    struct host *host = &hosts[added->host];
    if (added->bytes > PART || host->text_bytes + added->bytes > MOST_TEXT)
        FAIL("program of host %d: more than %d bytes", added->host, MOST_TEXT);
    if (make_writable() < 0) return -1;
    // The additional byte terminates the last string.
    if (!host->text && !(host->text = calloc(1, MOST_TEXT + 1))) FAIL("command: %s", strerror(errno));
    memcpy(host->text + host->text_bytes, added->text, added->bytes);
    host->text_bytes += added->bytes;
    return 0;
}

// Opens a file in WRITABLE whose name contains the number of a host.
static int open_writable(const char *kind, int host, int flags) {
    char path[64];
    snprintf(path, sizeof path, WRITABLE "/%s-%d", kind, host);
    return open(path, flags | O_CLOEXEC, 0644);
}

static int output_of(int host, int descriptor, int flags) {
    return open_writable(descriptor == 1 ? "output" : "errors", host, flags);
}

static void lost(struct host *host) {
    host->shared->error = errno;
    host->shared->closed = since_start();
    _exit(1);
}

// Connects at the start time, sends all data, and then closes the sending direction.
static void send_all(struct host *host, int number) {
    uint64_t start = zero + host->wanted.start, left = host->wanted.bytes;
    struct timespec at = {start / BILLION, start % BILLION};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0);
    struct sockaddr_in other = internet(number ^ 1, PORT);
    if (connect(host->socket, (struct sockaddr *)&other, sizeof other) < 0) lost(host);
    host->shared->connected = since_start();
    while (left) {
        ssize_t done = send(host->socket, buffer, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);
        if (done < 0) lost(host);
        if (left != UNKNOWN) left -= done;
    }
    shutdown(host->socket, SHUT_WR);
    _exit(0);
}

// Accepts one connection, and reads data as soon as they arrive.
static void receive_all(struct host *host) {
    int connection = accept(host->socket, 0, 0);
    if (connection < 0) lost(host);
    host->shared->connected = since_start();
    for (;;) {
        ssize_t done = recv(connection, buffer, CHUNK, MSG_TRUNC);
        if (done < 0) lost(host);
        if (!done) break;
        host->shared->delivered += done;
        if (host->shared->delivered == host->wanted.bytes) host->shared->completed = since_start();
    }
    close(connection);
    _exit(0);
}

// Ends the process of a program that cannot be run. The reason becomes part of the program's standard error.
static void cannot_run(const char *what) {
    dprintf(2, "longpipe: %s: %s\n", what, strerror(errno));
    _exit(127);
}

// Moves this process into the host's network namespace, and replaces /etc/hosts for it by `names`.
static void enter_host(const struct host *host, int number, const char *names) {
    char path[64];
    int file = open_writable("hosts", number, O_WRONLY | O_CREAT);
    if (file < 0 || write(file, names, strlen(names)) < 0) cannot_run("hosts");
    close(file);
    snprintf(path, sizeof path, WRITABLE "/hosts-%d", number);
    if (setns(host->space, CLONE_NEWNET) < 0 || unshare(CLONE_NEWNS) < 0) cannot_run("namespace");
    if (mount(0, "/", 0, MS_REC | MS_PRIVATE, 0) < 0) cannot_run("/");
    if (mount(path, "/etc/hosts", 0, MS_BIND, 0) < 0) cannot_run("/etc/hosts");
}

static void run_words(char *directory, char *search, char **words, int number) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, WRITABLE "/files-%d", number);
    if (mkdir(folder, 0755) < 0) cannot_run(folder);
    if (chdir(directory) < 0) cannot_run(directory);
    clearenv();
    setenv("PATH", search, 1);
    setenv("HOME", folder, 1);
    setenv("TMPDIR", folder, 1);
    setenv("LANG", "C.UTF-8", 1);
    // Python cannot write its caches, because the machine's files are read-only.
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    execvp(words[0], words);
    cannot_run(words[0]);
}

// Runs the program of a host at its start time, and stores when and how it ended.
static void run_program(struct host *host, int number) {
    static char *words[MOST_TEXT / 2];
    char *end = host->text + host->text_bytes, *at = host->text, *texts[3] = {at, at, at};
    for (int i = 0; i < 3 && at < end; i++, at += strlen(at) + 1) texts[i] = at;
    for (int count = 0; at < end && count < MOST_TEXT / 2 - 1; at += strlen(at) + 1) words[count++] = at;
    int none = open("/dev/null", O_RDONLY);
    if (none < 0) cannot_run("/dev/null");
    // A program must not inherit a second descriptor of /dev/null.
    if (none > 0) {
        dup2(none, 0);
        close(none);
    }
    for (int descriptor = 1; descriptor <= 2; descriptor++)
        dup2(output_of(number, descriptor, O_WRONLY | O_CREAT | O_APPEND), descriptor);
    setpgid(0, 0);
    enter_host(host, number, texts[2]);
    uint64_t start = zero + host->wanted.start;
    struct timespec when = {start / BILLION, start % BILLION};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, 0);
    host->shared->started = since_start();
    int child = fork(), status = 0;
    if (child < 0) cannot_run("fork");
    if (!child) {
        setpgid(0, 0);
        run_words(texts[0], texts[1], words, number);
    }
    host->shared->group = child;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    host->shared->ended = since_start();
    host->shared->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    _exit(0);
}

// Sends SIGTERM to all programs that still run. Text that they write in response is part of their output.
static int stop(void) {
    for (int number = 0; number < MOST_HOSTS; number++) {
        const struct shared *shared = hosts[number].shared;
        if (shared && shared->group > 0 && shared->ended == UNKNOWN) kill(-shared->group, SIGTERM);
    }
    return 0;
}

static int read_output(const struct read_output *wanted, struct output_answer *answer) {
    int file = output_of(wanted->host, wanted->descriptor, O_RDONLY);
    if (file < 0) return 0;
    ssize_t done = pread(file, answer->text, sizeof answer->text, wanted->offset);
    close(file);
    NEED(done, "output");
    answer->bytes = done;
    return 0;
}

static int start(void) {
    zero = clock_now();
    for (int number = 0; number < MOST_HOSTS; number++) {
        struct host *host = &hosts[number];
        if (!host->shared || (host->wanted.program && !host->text)) continue;
        int child = fork();
        NEED(child, "fork");
        if (child) continue;
        if (host->text) run_program(host, number);
        if (host->wanted.sends) send_all(host, number);
        receive_all(host);
    }
    return 0;
}

// Returns the counter with this name from a line "TcpExt: NAMES" and a line "TcpExt: VALUES", or 0 if it is absent.
static uint64_t counter(char *text, const char *name) {
    char *names = strtok_r(text, "\n", &text), *values = strtok_r(0, "\n", &text);
    if (!names || !values) return 0;
    for (;;) {
        char *known = strsep(&names, " "), *value = strsep(&values, " ");
        if (!known || !value) return 0;
        if (!strcmp(known, name)) return strtoull(value, 0, 10);
    }
}

static uint64_t counted(const struct host *host, const char *name) {
    static char text[16384];
    ssize_t bytes = pread(host->counters, text, sizeof text - 1, 0);
    if (bytes < 0) return 0;
    text[bytes] = 0;
    return counter(text, name);
}

static int read_host(int number, struct host_answer *answer) {
    if (number >= MOST_HOSTS || !hosts[number].shared) FAIL("host %d is absent", number);
    struct host *host = &hosts[number];
    answer->delivered = host->shared->delivered;
    answer->completed = host->shared->completed;
    answer->connected = host->shared->connected;
    answer->closed = host->shared->closed;
    answer->started = host->shared->started;
    answer->ended = host->shared->ended;
    answer->status = host->shared->status;
    if (host->shared->error) snprintf(answer->head.failed, sizeof answer->head.failed, "%s", strerror(host->shared->error));
    if (!host->wanted.sends) return 0;
    answer->recoveries = counted(host, "TCPSackRecovery") + counted(host, "TCPRenoRecovery");
    answer->timeouts = counted(host, "TCPTimeouts");
    if (host->wanted.program) return 0;
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    NEED(getsockopt(host->socket, IPPROTO_TCP, TCP_INFO, &info, &bytes), "TCP_INFO");
    answer->cwnd = info.tcpi_snd_cwnd;
    answer->ssthresh = info.tcpi_snd_ssthresh;
    answer->mss = info.tcpi_snd_mss;
    answer->srtt_us = info.tcpi_rtt;
    answer->rttvar_us = info.tcpi_rttvar;
    answer->min_rtt_us = info.tcpi_min_rtt;
    // TCP_INFO has this rate in byte/s.
    answer->pacing_rate = info.tcpi_pacing_rate;
    answer->sent_segments = info.tcpi_data_segs_out;
    answer->sent_bytes = info.tcpi_bytes_sent;
    answer->retransmitted_segments = info.tcpi_total_retrans;
    answer->retransmitted_bytes = info.tcpi_bytes_retrans;
    return 0;
}

static int prepare(void) {
    mount("proc", "/proc", "proc", 0, 0);
    mount("sysfs", "/sys", "sysfs", 0, 0);
    mount("tmpfs", "/run", "tmpfs", 0, 0);
    if (set("core/wmem_max", "67108864") < 0 || set("core/rmem_max", "67108864") < 0) return -1;
    if (set("ipv4/tcp_mem", "100000 100000 100000") < 0) return -1;
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    int control = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq device = {.ifr_name = "vec0", .ifr_flags = IFF_UP};
    NEED(ioctl(control, SIOCSIFFLAGS, &device), "vec0");
    close(control);
    return 0;
}

int main(void) {
    static unsigned char in[2048], out[2048];
    if (prepare() < 0) return fprintf(stderr, "longpipe: %s\n", problem), 1;
    int device = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(CONTROL));
    struct sockaddr_ll place = {.sll_family = AF_PACKET, .sll_protocol = htons(CONTROL)};
    place.sll_ifindex = if_nametoindex("vec0");
    if (device < 0 || bind(device, (struct sockaddr *)&place, sizeof place) < 0)
        return fprintf(stderr, "longpipe: control: %s\n", strerror(errno)), 1;
    union {
        struct answer head;
        struct host_answer host;
        struct output_answer output;
    } answer = {0};
    size_t bytes = sizeof answer.host;
    // The first answer reports that the guest is ready. It contains the kernel's version.
    struct utsname name;
    uname(&name);
    snprintf(answer.head.failed, sizeof answer.head.failed, "%s", name.release);
    for (;;) {
        memset(out, 0, HEAD);
        out[HEAD - 2] = CONTROL >> 8;
        out[HEAD - 1] = CONTROL & 255;
        memcpy(out + HEAD, &answer, bytes);
        if (send(device, out, HEAD + bytes, 0) < 0) return 1;
        if (recv(device, in, sizeof in, 0) < HEAD + (int)sizeof(struct short_request)) return 1;
        union {
            struct short_request head;
            struct add_host host;
            struct add_text text;
            struct read_output output;
        } wanted;
        memcpy(&wanted, in + HEAD, sizeof wanted);
        memset(&answer, 0, sizeof answer);
        answer.head.request = wanted.head.request;
        answer.head.host = wanted.head.host;
        bytes = wanted.head.request == READ_OUTPUT ? sizeof answer.output : sizeof answer.host;
        int done = -1;
        if (wanted.head.request == ADD_HOST) done = add_host(&wanted.host);
        else if (wanted.head.request == ADD_TEXT) done = add_text(&wanted.text);
        else if (wanted.head.request == START) done = start();
        else if (wanted.head.request == READ_HOST) done = read_host(wanted.head.host, &answer.host);
        else if (wanted.head.request == STOP) done = stop();
        else if (wanted.head.request == READ_OUTPUT) done = read_output(&wanted.output, &answer.output);
        if (done < 0) snprintf(answer.head.failed, sizeof answer.head.failed, "%s", problem);
    }
}
