# Defaults of TCP and a path from source over switch1 and switch2 to sink, for ns2.tcl and ns2_flows.tcl.
# Reads the variables rate, access [bit/s], delay, tick [s], packet_bytes, ack_bytes, window [packets] and queue, the limit of
# the bottleneck's buffer [packets], or 0 for no limit. Sets ns and the nodes.

# The behavior before 2001, where the defaults of later releases differ.
foreach {name value} {
    windowInit_ 1 syn_ false delay_growth_ false useHeaders_ false singledup_ 0 precisionReduce_ false
    overhead_ 0 minrto_ 0.2 maxrto_ 64 rtxcur_init_ 3.0
} {
    Agent/TCP set $name $value
}
Agent/TCP set tcpTick_ $tick
Agent/TCP set packetSize_ $packet_bytes
Agent/TCP set window_ $window
Agent/TCPSink set packetSize_ $ack_bytes
Queue set limit_ 1000000

set ns [new Simulator]
foreach node {source switch1 switch2 sink} {
    set $node [$ns node]
}
$ns duplex-link $source $switch1 $access 0 DropTail
$ns duplex-link $switch1 $switch2 $rate $delay DropTail
$ns duplex-link $switch2 $sink $access 0 DropTail
if {$queue > 0} {
    # A DropTail queue holds one packet less than its limit, besides the one in service.
    $ns queue-limit $switch1 $switch2 [expr $queue + 1]
}
