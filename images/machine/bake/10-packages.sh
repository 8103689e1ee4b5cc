#!/bin/sh
# What every node has besides its engine. Python and curl serve the bake too.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet
apt-get install --yes --quiet --no-install-recommends \
    ca-certificates chrony curl ethtool fio gnupg libjemalloc2 mdadm prometheus-node-exporter python3 udev xfsprogs
# Arrays are assembled by the agent, which knows whose they are.
mkdir -p /etc/mdadm
printf 'AUTO -all\n' >/etc/mdadm/mdadm.conf
if command -v update-initramfs >/dev/null; then
    update-initramfs -u
fi
