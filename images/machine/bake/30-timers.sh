#!/bin/sh
# Nothing starts by itself beside a database: updates come as new images.
set -eu
for timer in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer man-db.timer \
    mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer; do
    systemctl mask "$timer"
done
