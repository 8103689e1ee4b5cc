#!/bin/sh
# What every node has besides its engine. Python and curl serve the bake too.
set -eu
export DEBIAN_FRONTEND=noninteractive
# Arrays are assembled by the agent, which knows whose they are. Written before the package is there, whose installation
# makes the initramfs that this goes into.
mkdir -p /etc/mdadm
if command -v mdadm >/dev/null && ! grep -q '^AUTO -all$' /etc/mdadm/mdadm.conf; then
    again=yes
fi
printf 'AUTO -all\n' >/etc/mdadm/mdadm.conf
apt-get update --quiet
apt-get install --yes --quiet --no-install-recommends \
    ca-certificates chrony curl ethtool fio gnupg libjemalloc2 mdadm prometheus-node-exporter python3 udev xfsprogs
if [ -n "${again:-}" ]; then
    update-initramfs -u
fi
