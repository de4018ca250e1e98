#!/bin/sh
# The guest's first process: mounts file systems, then starts the load. Guest and host share the folder of this file and of
# `settings`. It is the working directory of the host process, so that the kernel's command line, which seeds the guest's
# randomness, does not contain the folder's name.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /proc/self/cwd
. ./settings
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir /run/share /run/bpf
mount -t bpf bpf /run/bpf
mount -t hostfs -o /proc/self/cwd none /run/share
"$WITNESS_PYTHON" -S -s -m longpipe_evidence.validate.linux_guest.load "$WITNESS_MODULES" /run/share 2>/run/share/errors.txt
echo o > /proc/sysrq-trigger
sleep 5
