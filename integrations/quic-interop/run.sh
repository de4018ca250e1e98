#!/bin/sh
# Takes SCENARIO and WAITFORSERVER from the environment, as quic-interop-runner sets them; packets of both networks are kept in /logs.
set -e

# What the kernel forwards would go past the path.
for tables in iptables ip6tables; do
    $tables -A FORWARD -i eth0 -o eth1 -j DROP
    $tables -A FORWARD -i eth1 -o eth0 -j DROP
done

dumpcap -q -i eth0 -s 0 -w /logs/trace_node_left.pcap &
dumpcap -q -i eth1 -s 0 -w /logs/trace_node_right.pcap &

exec /made/bin/longpipe live quic --between eth0 eth1
