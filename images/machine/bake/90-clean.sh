#!/bin/sh
# Nothing of the bake stays, and nothing that two machines must not share.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get clean
rm -rf /var/lib/apt/lists/* /var/lib/ringmaster/* /tmp/ringmaster/*
rm -f /etc/ssh/ssh_host_* /var/lib/systemd/random-seed
# Whoever baked it must not get into what runs from it. Packer's connection stays.
rm -f /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys
truncate --size 0 /etc/machine-id
if command -v cloud-init >/dev/null; then
    cloud-init clean --logs
fi
