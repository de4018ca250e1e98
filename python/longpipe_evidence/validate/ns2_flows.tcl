# Flows that arrive at one bottleneck, one TCP connection per flow. Prints "flow", number and time of each flow whose
# sender has received the last ACK, and "end" after the last one.
# Arguments: sender_class receiver_class rate_bps access_bps delay_s packet_bytes ack_bytes window queue tick_s {agent options} file
# The file has a line for each flow: its arrival time [s] and its number of packets.
lassign $argv sender_class receiver_class rate access delay packet_bytes ack_bytes window queue tick options file

source [file join [file dirname [info script]] ns2_path.tcl]

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
