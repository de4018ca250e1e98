# A name for reports
# Accepts text.
name = "lan"
# Simulated time [time]; ATM Forum/96-1761 section 3.1 (LAN)
# Accepts 1 ps to 2400 h.
duration = "10 s"
# Engine for cells: moves whole frames where that is exact, or cells one by one; both give bit-identical results
# Accepts trains, reference.
engine = "trains"
# What links carry: aal5 (cells, through ATM switches) or ip (packets, through routers)
# Accepts aal5, ip.
framing = "aal5"
# Time at which the applications stop writing: at a given time, or some time after their start; never if absent
# Accepts at, after.
# stop: absent
# Initial part of the run that counters and means exclude [time], or automatic: chosen by MSER-5
# Accepts less than the duration, or automatic.
warm_up = "0 s"

# One of dumbbell, graph.
[network]
kind = "dumbbell"
# Number of sources, in total with groups; ATM Forum/96-1761 figure 1
# Accepts a whole number, at least 1, at most 100000.
sources = 5
# Groups of flows, as in [{name = 'web', count = 20, traffic = 'web'}]; all flows equal if absent
# Accepts a list: a table.
# group: absent
# Rate of the hosts' links [bit/s]; ATM Forum/96-1761
# Accepts 1 kbit/s to 10 Tbit/s.
access_rate = "155.52 Mbit/s"
# Rate of the shared link [bit/s]; ATM Forum/96-1761
# Accepts 1 kbit/s to 10 Tbit/s.
trunk_rate = "155.52 Mbit/s"
# Propagation delay from source to switch1 [time]; ATM Forum/96-1761
# Accepts 0 s to 1000 s.
access_delay = "5 us"
# Propagation delay from switch1 to switch2 [time]; ATM Forum/96-1761
# Accepts 0 s to 1000 s.
trunk_delay = "5 us"
# Propagation delay from switch2 to sink [time]; ATM Forum/96-1761
# Accepts 0 s to 1000 s.
exit_delay = "5 us"
# Rate of the trunk from switch2 to switch1 [bit/s]; trunk_rate if absent
# Accepts 1 kbit/s to 10 Tbit/s.
# return_rate: absent
# Propagation delay from switch2 to switch1 [time]; trunk_delay if absent
# Accepts 0 s to 1000 s.
# return_delay: absent
# Buffer of the port from switch2 to switch1 [cells, packets, bytes, BDP or time]; switch.buffer if absent
# Accepts one full packet to 1000000000 cells or packets, in bytes, BDP or time too, or unlimited.
# return_buffer: absent
# Policy of the port from switch2 to switch1; switch.policy if absent
# Accepts tail-drop, partial-packet-discard, epd, selective-drop, fba, red, pie, step-marking, blue, codel, fq-codel, drr, sfq, fq, strict-priority, weighted-priority, dualpi2, ack-filter, head-drop, cake.
# return_policy: absent
# Send jitter: each host delays each packet by a uniform random time below this [time]
# Accepts 0 s to 1000 s.
send_jitter = "0 s"
# Queue discipline of the hosts' interfaces; tail drop if absent
# Accepts tail-drop, partial-packet-discard, epd, selective-drop, fba, red, pie, step-marking, blue, codel, fq-codel, drr, sfq, fq, strict-priority, weighted-priority, dualpi2, ack-filter, head-drop, cake.
# host_policy: absent
# Buffer of the hosts' interfaces [packets, bytes, BDP or time]; unlimited if absent
# Accepts one full packet to 1000000000 cells or packets, in bytes, BDP or time too, or unlimited.
# host_buffer: absent
# Policers, shaper, jitter, reordering, duplication, batches of the trunk, switch1 to switch2: [{kind = 'policer', rate = '10 Mbit/s', burst = '125 KB'}]
# Accepts a list: policer, tbf, jitter, reordering, duplication, aggregation.
conditioners = []
# Policers, shaper, jitter, reordering, duplication, batches of the trunk, switch2 to switch1
# Accepts a list: policer, tbf, jitter, reordering, duplication, aggregation.
return_conditioners = []
# Variation of the trunk over time, switch1 to switch2; static if absent
# Accepts moving, file, coded, satellites, elements.
# path: absent
# Variation of the trunk over time, switch2 to switch1; equal to path if absent
# Accepts moving, file, coded, satellites, elements.
# return_path: absent
# Split-TCP proxy at one of the switches (RFC 3135); none if absent
# Accepts a table.
# pep: absent
# VBR source over the trunk, from a host at switch1 to a host at switch2; none if absent 
# Accepts a table.
# vbr: absent

# One of none, packets, at-times, bernoulli, over-time, gilbert-elliott-in-time, gilbert-elliott, bit-errors.
[network.trunk_loss]
kind = "none"

# One of none, packets, at-times, bernoulli, over-time, gilbert-elliott-in-time, gilbert-elliott, bit-errors.
[network.return_loss]
kind = "none"

[switch]
# Size of the buffer for UBR cells or IP packets, including the one in service [cells, packets, bytes, BDP or time], or 'unlimited'; ATM Forum/96-1761 table 1 (1 BDP with framing ip)
# Accepts one full packet to 1000000000 cells or packets, in bytes, BDP or time too, or unlimited.
buffer = "1000 cells"
# Order of cells or packets that reach a switch at the same time
# Accepts port-order, rotating, random.
ties = "random"
# Offset of output slots from the slots in which cells arrive [cell times]; not used by IP
# Accepts a number, at least 0, less than 1.
slot_phase = 0.5

# One of tail-drop, partial-packet-discard, epd, selective-drop, fba, red, pie, step-marking, blue, codel, fq-codel, drr, sfq, fq, strict-priority, weighted-priority, dualpi2, ack-filter, head-drop, cake.
[switch.policy]
kind = "tail-drop"

# One of fifo, priority, guaranteed-rate.
[switch.scheduler]
kind = "fifo"

[tcp]
# Defaults of the other fields: 'classic' for the listed default of each field, or 'linux-6' for those of Linux 6: CUBIC, RACK-TLP, timestamps, an initial window of 10 segments
# Accepts classic, linux-6.
profile = "classic"
# Payload of a full segment [bytes]; ATM Forum/96-1761 section 3.1
# Accepts 1 B to 65000 B.
mss = "512 B"
# Advertised window [bytes], or 'auto': twice the sum of the path's BDP and buffer; ATM Forum/96-1761 section 3.1 (LAN; 600 KB on the WAN)
# Accepts 1 B to 1 GiB, or auto.
receiver_window = "64 KiB"
# Shift of the 16-bit window field, or 'as needed'; RFC 7323 section 2
# Accepts 0 to 14, or as needed.
window_scale = "as needed"
# Initial cwnd [segments]; RFC 2001
# Accepts 1 segment to 1000000 segments.
initial_window = "1 segment"
# Initial ssthresh [bytes] or 'unlimited'; RFC 5681 section 3.1
# Accepts 1 B to 1 GiB, or unlimited.
initial_ssthresh = "unlimited"
# Lower ssthresh to the first RTT divided by the spacing of the second and third ACK; Hoe 1996
# Accepts true, false.
estimate_ssthresh = false
# Duplicate ACKs that trigger a fast retransmit; RFC 5681 section 3.2
# Accepts a whole number, at least 1, at most 1000.
duplicate_ack_threshold = 3
# A fast retransmit restarts the retransmission timer, as in 4.4BSD and ns-2; if false, only ACKs of new data do; RFC 6298 section 5
# Accepts true, false.
fast_retransmit_restarts_timer = true
# Minimum time between fast retransmits [time]; earlier duplicates trigger none
# Accepts 0 s to 100000 s.
fast_retransmit_interval = "0 s"
# Option of AIMD: grow by acknowledged bytes instead of ACKs
# Accepts true, false.
byte_counting = false
# Delay a short segment while more data waits to be sent; RFC 1122 section 4.2.3.4
# Accepts true, false.
silly_window_avoidance = true
# Return to the initial window after an idle period of one RTO; RFC 5681 section 4.1
# Accepts true, false.
idle_restart = false
# RTT known before the first segment [time], as from a handshake; '0 s': none. It initializes SRTT, BBR's rate and Hybla's window
# Accepts 0 s to 1000 s.
initial_rtt = "0 s"
# Time for which the connection is established and idle before its first segment [time]; Westwood and BBR of Linux measure from the handshake
# Accepts 0 s to 1000 s.
preconnect = "0 s"
# SYN and SYN-ACK cross the path before data, and give the first RTT sample; a lost one is retransmitted after the initial RTO; RFC 9293 section 3.5, RFC 6298 section 5
# Accepts true, false.
handshake = false
# Pace segments at 2 cwnd/SRTT in early slow start and 1.2 cwnd/SRTT later, as in Linux; if false, transmission is ACK-clocked; BBR always paces, at its own rate
# Accepts true, false.
pacing = false
# Maximum burst of a paced sender [segments]; 'unlimited': the data of 1/1024 s, at least two segments
# Accepts 1 segment to 65535 segments, or unlimited.
pacing_burst = "unlimited"
# Ticks per second of the kernel clock: of congestion controls by Linux's rules (CUBIC, BIC, H-TCP, Westwood), RACK's reordering timer, delayed ACKs with ack = 'linux', and modules; Linux CONFIG_HZ
# Accepts a whole number, at least 24, at most 1024.
hz = 250

# One of vanilla, tahoe, reno, newreno, sack, rfc6675, rack.
[tcp.recovery]
# Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5
# Accepts true, false.
guard = false
# After a timeout, set ssthresh to half of the window without its inflation; 4.4BSD includes the inflation
# Accepts true, false.
deflate_on_timeout = false
# Apply 'guard' only after a timeout, so that several fast retransmits may occur in a row; ns-2 of 2000
# Accepts true, false.
guard_timeouts_only = false
# Duplicate ACKs beyond the threshold inflate the window even without a fast retransmit, until the next ACK of new data deflates it; 4.4BSD
# Accepts true, false.
inflate_always = false
kind = "reno"

# One of aimd, bbr, bbr3, bic, copa, cubic, dctcp, highspeed, htcp, hybla, illinois, ledbat, linux-reno, module, prague, python, scalable, vegas, veno, westwood.
[tcp.congestion]
# An ACK increases cwnd by the bytes that it acknowledges, at most one segment (RFC 5681 section 3.1); if false, by one segment, as in 4.4BSD
# Accepts true, false.
byte_counting = false
kind = "aimd"

[tcp.vegas]
# Queued data below which cwnd grows [segments]; Brakmo, Peterson 1995
# Accepts a number, more than 0, at most 1000000.0.
alpha = 1.0
# Queued data above which cwnd shrinks [segments]; Brakmo, Peterson 1995
# Accepts a number, more than 0, at most 1000000.0.
beta = 3.0
# Queued data above which slow start ends [segments]; Brakmo, Peterson 1995
# Accepts a number, more than 0, at most 1000000.0.
gamma = 1.0
# Rules of the paper, as in ns-2, or of Linux's tcp_vegas.c, which uses the minimum RTT sample of each RTT and doubles cwnd in every RTT of slow start; 'linux', with alpha 2 and beta 4, in the profile linux-6
# Accepts brakmo-1995, linux.
rules = "brakmo-1995"

# One of off, previous, saved.
[tcp.careful_resume]
kind = "off"

[tcp.tahoe]
# Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5
# Accepts true, false.
guard = false

[tcp.reno]
# Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5
# Accepts true, false.
guard = false
# After a timeout, set ssthresh to half of the window without its inflation; 4.4BSD includes the inflation
# Accepts true, false.
deflate_on_timeout = false
# Apply 'guard' only after a timeout, so that several fast retransmits may occur in a row; ns-2 of 2000
# Accepts true, false.
guard_timeouts_only = false
# Duplicate ACKs beyond the threshold inflate the window even without a fast retransmit, until the next ACK of new data deflates it; 4.4BSD
# Accepts true, false.
inflate_always = false

[tcp.newreno]
# In recovery send one new segment per two duplicate ACKs; if false, as the inflated window allows; ATM Forum/98-0876 section 3.1
# Accepts true, false.
flywheel = true
# Maximum number of new segments per ACK during recovery [segments]; RFC 2582
# Accepts 1 segment to 65535 segments, or unlimited.
max_burst = "unlimited"
# A partial ACK deflates the window by the acknowledged data minus one segment (RFC 2582); if false, it sets the window to ssthresh; ATM Forum/98-0876 section 3.1
# Accepts true, false.
partial_deflation = false
# Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5
# Accepts true, false.
guard = false
# Which partial ACKs restart the retransmission timer: first or every; ATM Forum/98-0876 section 3.1
# Accepts first, every.
timer_restart = "every"

[tcp.sack]
# Maximum number of SACK blocks per ACK; 3 fit with a timestamp, RFC 2018 section 3
# Accepts a whole number, at least 1, at most 3.
blocks = 3
# Initial PIPE at a fast retransmit: the window or the outstanding data, less one segment per duplicate ACK; ATM Forum/98-0876 section 3.2
# Accepts window, outstanding.
pipe = "window"
# Avoid a second fast retransmit for data sent before the last recovery; RFC 2582 section 5
# Accepts true, false.
guard = true
# Which partial ACKs restart the retransmission timer: first or every; RFC 2582
# Accepts first, every.
timer_restart = "every"

# One of coarse, fine.
[tcp.timer]
kind = "coarse"
# Length of a tick [time]; ATM Forum/96-1761 section 3.1
# Accepts 1 us to 100 s.
tick = "100 ms"
# Minimum RTO [ticks]; BSD's slow timer
# Accepts 1 tick to 1000000 ticks.
min_rto = "2 ticks"
# Maximum RTO [ticks], 64 s with ticks of 100 ms; BSD's TCPTV_REXMTMAX, 64 s (128 ticks of 500 ms)
# Accepts 1 tick to 1000000 ticks.
max_rto = "640 ticks"
# RTO before the first RTT sample [ticks], 3 s with ticks of 100 ms; RFC 1122 section 4.2.3.1
# Accepts 1 tick to 1000000 ticks.
initial_rto = "30 ticks"
# Count the first RTT sample as one tick more, as in BSD; if false, samples are at least one tick
# Accepts true, false.
count_from_one = true
# Expire on a tick, as in BSD; if false, exactly one RTO after the timer was set, as in ns-2
# Accepts true, false.
expires_on_tick = true

# One of fixed, common, per-flow.
[tcp.timer.phase]
kind = "fixed"
# First tick; less than one tick [time]
# Accepts 0 s to 100000 s.
at = "0 s"

# One of immediate, delayed, linux.
[tcp.ack]
kind = "immediate"

# One of off, classic, dctcp, accurate.
[tcp.ecn]
kind = "off"

# One of greedy, transfer, stream, flow-arrivals, web, adaptive-video, cbr, poisson, on-off, voice, video, arrivals, stack, stack-path, own-stack.
[traffic]
kind = "greedy"

# One of fixed, staggered, random.
[start]
kind = "fixed"
# Start time [time]; ATM Forum/96-1761 section 3.1
# Accepts 0 s to 100000 s.
at = "0 s"

[traces]
# cwnd and ssthresh of each flow at each change
# Accepts true, false.
cwnd = false
# Queue of each switch port [cells or packets], sampled when the first cell of each frame arrives
# Accepts true, false.
queue = false
# Queue of each switch port by flow [cells or packets], sampled at regular intervals
# Accepts true, false.
vc_queue = false
# Sampling interval of vc_queue [time]
# Accepts 1 us to 1000 s.
vc_queue_interval = "1 ms"
# Segments sent, ACKs and SACK blocks received by each sender
# Accepts true, false.
sequence = false
# RTT samples and RTO of each sender
# Accepts true, false.
rtt = false
# Queueing delay of each packet at each router port, and quantiles in the results; IP only
# Accepts true, false.
delay = false
# Lost packets with port, flow, first data byte and cause, and packets marked by router ports
# Accepts true, false.
drops = false
# State of each sender at each change: BBR's state and bandwidth estimate, the pacing rate, the recovery state
# Accepts true, false.
control = false
# Lost data segments, and each sender's retransmissions, declared losses, timeouts, window reductions, undos and state changes, with causes
# Accepts true, false.
events = false
# Data received by each receiver, each byte at its first arrival
# Accepts true, false.
arrivals = false
# Bytes in flight of each sender, and what limits it, at each change
# Accepts true, false.
flight = false
# Packets that each real stack sends, receives and declares lost at the flow's sender
# Accepts true, false.
packets = false
