#!/bin/sh
# Reads SCENARIO and WAITFORSERVER from the environment, as set by quic-interop-runner, and captures both networks in /logs.
set -e

# Packets forwarded by the kernel would bypass the simulated path.
for tables in iptables ip6tables; do
    $tables -A FORWARD -i eth0 -o eth1 -j DROP
    $tables -A FORWARD -i eth1 -o eth0 -j DROP
done

dumpcap -q -i eth0 -s 0 -w /logs/trace_node_left.pcap &
dumpcap -q -i eth1 -s 0 -w /logs/trace_node_right.pcap &

exec /made/bin/longpipe live quic --between eth0 eth1
