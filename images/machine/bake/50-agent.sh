#!/bin/sh
# The agent, its units, and what it reads: the presets of disks, and what this image is.
set -eu
install -D --mode 0755 "$BAKE_FILES/ringmaster-agent" /usr/local/bin/ringmaster-agent
install -D --mode 0644 "$BAKE_FILES/data/io-params.json" /opt/ringmaster/data/io-params.json
install -d --mode 0700 /var/lib/ringmaster
install -d --mode 0755 /etc/ringmaster
for unit in ringmaster-firstboot.service ringmaster-agent.service; do
    install --mode 0644 "$BAKE_FILES/systemd/$unit" "/etc/systemd/system/$unit"
    systemctl enable "$unit"
done
cat >/etc/ringmaster/image.json <<IMAGE
{"engine": "$ENGINE", "engine_version": "$ENGINE_VERSION", "agent": "$AGENT_VERSION", "base": "$BASE",
 "build_id": "$BUILD_ID", "sbom": "/opt/ringmaster/sbom.spdx.json"}
IMAGE
