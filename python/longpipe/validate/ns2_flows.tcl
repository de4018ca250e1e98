# Flows that arrive at one bottleneck, each with a TCP connection of its own. Prints "flow", number and time of each flow whose
# sender has received the last ACK, and "end" after the last one.
# Arguments: sender_class receiver_class rate_bps access_bps delay_s packet_bytes ack_bytes window queue tick_s {agent options} file
# The file has a line for each flow: its arrival time [s] and its number of packets.
lassign $argv sender_class receiver_class rate access delay packet_bytes ack_bytes window queue tick options file

# Behaviour before 2001, as in ns2.tcl.
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
# A DropTail queue holds one packet less than its limit, besides the one in service.
$ns queue-limit $switch1 $switch2 [expr $queue + 1]

proc arrive {number packets} {
    global ns source sink sender_class receiver_class options
    set tcp [new $sender_class]
    foreach {name value} $options {
        $tcp set $name $value
    }
    set receiver [new $receiver_class]
    $ns attach-agent $source $tcp
    $ns attach-agent $sink $receiver
    $ns connect $tcp $receiver
    $tcp proc done {} "complete $number"
    $tcp advanceby $packets
}

proc complete {number} {
    global ns left
    puts "flow $number [format %.12f [$ns now]]"
    incr left -1
    if {$left == 0} {
        puts "end"
        exit 0
    }
}

set left 0
set flows [open $file]
while {[gets $flows line] >= 0} {
    lassign $line at packets
    $ns at $at "arrive $left $packets"
    incr left
}
close $flows
$ns run
