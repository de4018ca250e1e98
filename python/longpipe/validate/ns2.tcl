# One TCP connection over a bottleneck that may drop packets by number; prints the trace of the three links of the data
# and then "end", the timeouts and the segments sent again.
# Arguments: sender_class receiver_class rate_bps access_bps delay_s packet_bytes ack_bytes window queue segments tick_s
# drops {agent options} [1: also what the sender receives and how its variables change, else 0]
# [{instant_s delay_s ...}: the bottleneck's delay from then on, both ways]
lassign $argv sender_class receiver_class rate access delay packet_bytes ack_bytes window queue segments tick drops \
    options watch moves

# Behaviour before 2001, as far as the defaults of later releases changed it.
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
    # What an ACK clocks out arrives just when another packet leaves, and the rounding of times would say which is first.
    # On a link that is a billionth faster every half round trip, the packet that leaves is.
    set trunk [[$ns link $switch1 $switch2] link]
    proc speed_up {} {
        global ns trunk delay packet_bytes access
        $trunk set bandwidth_ [expr [$trunk set bandwidth_] * (1 + 1e-9)]
        $ns at [expr [$ns now] + $delay + 8.0 * $packet_bytes / $access] speed_up
    }
    speed_up
}
foreach link [list [[$ns link $switch1 $switch2] link] [[$ns link $switch2 $switch1] link]] {
    foreach {at moved} $moves {
        $ns at $at "$link set delay_ $moved"
    }
}
set losses [new ErrorModel/List]
$losses droplist $drops
$ns lossmodel $losses $switch1 $switch2

set tcp [new $sender_class]
foreach {name value} $options {
    $tcp set $name $value
}
set receiver [new $receiver_class]
$ns attach-agent $source $tcp
$ns attach-agent $sink $receiver
$ns connect $tcp $receiver
set trace [open /dev/stdout w]
foreach {from to} [list $source $switch1 $switch1 $switch2 $switch2 $sink] {
    $ns trace-queue $from $to $trace
}
if {$watch == 1} {
    $ns trace-queue $switch1 $source $trace
    $tcp attach $trace
    foreach variable {cwnd_ dupacks_ backoff_} {
        $tcp trace $variable
    }
}

$tcp proc done {} {
    global trace tcp
    puts $trace "end [$tcp set nrexmit_] [$tcp set nrexmitpack_]"
    close $trace
    exit 0
}
$ns at 0 "$tcp advanceby $segments"
$ns at 10000 "exit 0"
$ns run
