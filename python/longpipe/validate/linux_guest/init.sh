#!/bin/sh
# The guest's first process: file systems, then the load. It lies in the folder that guest and host share, beside `settings`;
# the host process works in that folder, so that no name of it is on the kernel's command line, which seeds its randomness.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /proc/self/cwd
. ./settings
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir /run/share /run/bpf
mount -t bpf bpf /run/bpf
mount -t hostfs -o /proc/self/cwd none /run/share
"$WITNESS_PYTHON" -S -s -m longpipe.validate.linux_guest.load "$WITNESS_MODULES" /run/share 2>/run/share/errors.txt
echo o > /proc/sysrq-trigger
sleep 5
