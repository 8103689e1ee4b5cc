#!/bin/sh
# Copies one node's snapshot to a folder, laid out as an import reads it: docs/migration.md.
#
#   nodetool snapshot -t move shop
#   copy-snapshot.sh /var/lib/cassandra/data move /mnt/backups/org_…/old/$(hostname)
#   nodetool clearsnapshot -t move
set -eu
if [ $# -ne 3 ]; then
  echo "usage: $0 DATA-FOLDER SNAPSHOT TO" >&2
  exit 2
fi
data=$1 snapshot=$2 to=$3
cd "$data"
folders=$(find . -mindepth 4 -maxdepth 4 -type d -path "./*/*/snapshots/$snapshot" | sed 's|^\./||')
if [ -z "$folders" ]; then
  echo "There is no snapshot $snapshot below $data." >&2
  exit 1
fi
for folder in $folders; do
  mkdir -p "$to/$folder"
  cp -R "$folder/." "$to/$folder/"
done
sync
