# One TCP connection over a bottleneck that may drop packets by number; prints the trace of the three links of the data
# and then "end" and the numbers of timeouts and of retransmitted segments.
# Arguments: sender_class receiver_class rate_bps access_bps delay_s packet_bytes ack_bytes window queue segments tick_s
# drops {agent options} [1: also what the sender receives and how its variables change, else 0]
# [{instant_s delay_s ...}: the bottleneck's delay from then on, both ways]
lassign $argv sender_class receiver_class rate access delay packet_bytes ack_bytes window queue segments tick drops \
    options watch moves

source [file join [file dirname [info script]] ns2_path.tcl]
if {$queue > 0} {
    # A packet that is sent upon an ACK arrives exactly when another packet leaves, and rounding would determine the order of
    # the two events. The link's rate rises by a billionth every half RTT, so that the departure is first.
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
