# Greedy SACK flows over drop-tail routers; prints delivered packets, and user CPU and peak memory at three moments.
# Arguments: flows host_pairs mss_bytes access_bps trunk_bps delay_s buffer_packets window_packets duration_s
lassign $argv flows pairs mss access trunk delay buffer window duration

# User CPU seconds and the peak memory in bytes of this process.
proc used {} {
    set stat [open /proc/self/stat]
    set ticks [lindex [read $stat] 13]
    close $stat
    set status [open /proc/self/status]
    regexp {VmHWM:\s+(\d+) kB} [read $status] line kilobytes
    close $status
    return "[expr $ticks / 100.0] [expr $kilobytes * 1024]"
}

set loaded [used]
remove-all-packet-headers
add-packet-header IP TCP Flags
foreach {name value} {
    windowInit_ 1 syn_ false delay_growth_ false singledup_ 0 tcpTick_ 0.01 minrto_ 0.2 rtxcur_init_ 1.0
} {
    Agent/TCP set $name $value
}
Agent/TCP set packetSize_ $mss
Agent/TCP set window_ $window
Queue set limit_ 1000000

set ns [new Simulator]
$ns rtproto Manual
set switch1 [$ns node]
set switch2 [$ns node]
$ns duplex-link $switch1 $switch2 $trunk $delay DropTail
# The limit counts the packet in service.
$ns queue-limit $switch1 $switch2 $buffer
[$switch1 get-module Manual] add-route-to-adj-node -default $switch2
[$switch2 get-module Manual] add-route-to-adj-node -default $switch1
for {set pair 0} {$pair < $pairs} {incr pair} {
    foreach {side switch} [list source $switch1 sink $switch2] {
        set host [$ns node]
        $ns duplex-link $host $switch $access 0 DropTail
        [$host get-module Manual] add-route-to-adj-node -default $switch
        [$switch get-module Manual] add-route-to-adj-node $host
        set ${side}($pair) $host
    }
}
for {set flow 0} {$flow < $flows} {incr flow} {
    set sender($flow) [new Agent/TCP/Sack1]
    set receiver [new Agent/TCPSink/Sack1]
    $ns attach-agent $source([expr $flow % $pairs]) $sender($flow)
    $ns attach-agent $sink([expr $flow % $pairs]) $receiver
    $ns connect $sender($flow) $receiver
    set application [new Application/FTP]
    $application attach-agent $sender($flow)
    $ns at [expr double($flow) / $flows] "$application start"
}

proc finish {} {
    global flows sender loaded ready
    set delivered 0
    for {set flow 0} {$flow < $flows} {incr flow} {
        # The number of the last packet acknowledged, from 0.
        incr delivered [expr [$sender($flow) set ack_] + 1]
    }
    puts "$delivered $loaded $ready [used]"
    exit 0
}

$ns at 0 {set ready [used]}
$ns at $duration finish
$ns run
