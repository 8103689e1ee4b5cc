#!/bin/sh
# The kernel's command line, limits, and huge pages: what must be so from the first second of a boot.
set -eu
wanted="clocksource=tsc tsc=reliable intel_idle.max_cstate=1 processor.max_cstate=1"
if [ "$ARCHITECTURE" != x86_64 ]; then
    wanted="" # these are about x86
fi
if [ -d /etc/default/grub.d ] || [ -f /etc/default/grub ]; then
    mkdir -p /etc/default/grub.d
    # Images may set the line in files of their own; the last one, by name, adds to it.
    # shellcheck disable=SC2016
    printf 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX %s"\n' "$wanted" >/etc/default/grub.d/99-ringmaster.cfg
    update-grub
fi
mkdir -p /etc/security/limits.d /etc/tmpfiles.d
cat >/etc/security/limits.d/99-ringmaster.conf <<'LIMITS'
* - memlock unlimited
* - nofile 800000
LIMITS
printf 'w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n' >/etc/tmpfiles.d/ringmaster.conf
# Cloud images have no swap; one that has must not bring it back.
sed -i '/[[:space:]]swap[[:space:]]/d' /etc/fstab
