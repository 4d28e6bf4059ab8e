#!/bin/sh
# Boots the machine's own systemd with one unit, in namespaces of its own, on a file system that is
# thrown away: boot.sh FOLDER, in which up/ lies above the machine's files and out/ is shared.
set -e
cd "$1"
mkdir -p root work
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount -t cgroup2 cgroup2 root/sys/fs/cgroup
mount -t tmpfs tmpfs root/run
mount -t tmpfs tmpfs root/tmp
mount --rbind /dev root/dev
mkdir root/out root/run/machine
mount --bind out root/out
cd root
pivot_root . run/machine
exec chroot . /bin/sh -c '
    umount -l /run/machine
    exec env -i container=other /lib/systemd/systemd --system --unit=probe.target'
