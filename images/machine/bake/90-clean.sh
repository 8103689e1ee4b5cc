#!/bin/sh
# Nothing of the bake stays, and nothing that two machines must not share.
set -eu
export DEBIAN_FRONTEND=noninteractive
if [ "$ENGINE" = cassandra ]; then
    apt-get purge --yes --quiet maven
    rm -rf /root/.m2
fi
apt-get clean
rm -rf /var/lib/apt/lists/* /var/lib/ringmaster/* /tmp/ringmaster/*
rm -f /etc/ssh/ssh_host_* /var/lib/systemd/random-seed
truncate --size 0 /etc/machine-id
if command -v cloud-init >/dev/null; then
    cloud-init clean --logs
fi
