#!/bin/sh
# The power of one machine of the local provider: runs the agent, again whenever it ends, until told to power off.
#
#   init.sh FOLDER AGENT-BINARY
#
# It holds a lock on FOLDER/init.pid for as long as the machine has power, so a second one cannot start and others see
# at once, also after a crash or a reboot, whether it runs. The environment carries RINGMASTER_MACHINE=FOLDER: that is
# how a power loss finds every process. What the agent and all it starts carry besides, RINGMASTER_WORKLOAD=FOLDER, is
# how an orderly power-off finds them without itself.
#
# SIGTERM is the power button: the agent ends first, so that it does not take the engine's end for a crash; then the
# engine is asked to end and gets a minute for it.
set -u

folder=$1
binary=$2
engine_seconds=60

exec 9<>"$folder/init.pid"
flock -w 2 9 || exit 0
: >"$folder/init.pid"
echo "$$" >&9

workload() {
  grep -lszxF "RINGMASTER_WORKLOAD=$folder" /proc/[0-9]*/environ 9>&- | cut -d / -f 3
}

# wait_for_end TENTHS: true as soon as nothing of the machine's workload runs, false when the time is over.
wait_for_end() {
  tenths=$1
  while [ -n "$(workload)" ]; do
    [ "$tenths" -gt 0 ] || return 1
    tenths=$((tenths - 1))
    sleep 0.1 9>&-
  done
}

agent=
stopping=
trap 'stopping=1; [ -z "$agent" ] || kill -TERM "$agent" 2>/dev/null' TERM
trap '' HUP INT

while [ -z "$stopping" ]; do
  if [ "$(stat -c %s "$folder/agent.log" 2>/dev/null || echo 0)" -gt 10485760 ]; then
    mv "$folder/agent.log" "$folder/agent.log.1"
  fi
  RINGMASTER_WORKLOAD="$folder" "$binary" run --state-dir "$folder/data" --user-data "$folder/user-data.json" \
    >>"$folder/agent.log" 2>&1 </dev/null 9>&- &
  agent=$!
  # A power button pressed before the agent had a number.
  [ -z "$stopping" ] || kill -TERM "$agent" 2>/dev/null
  wait "$agent"
  # The pause keeps an agent that cannot start from taking a whole CPU.
  [ -n "$stopping" ] || sleep 1 9>&-
done

# The agent leaves within moments; if not, it must go before the engine does.
tenths=50
while kill -0 "$agent" 2>/dev/null && [ "$tenths" -gt 0 ]; do
  tenths=$((tenths - 1))
  sleep 0.1 9>&-
done
kill -KILL "$agent" 2>/dev/null
wait "$agent" 2>/dev/null

# Unquoted on purpose: one argument per process.
# shellcheck disable=SC2046
kill -TERM $(workload) 2>/dev/null
if ! wait_for_end $((engine_seconds * 10)); then
  # shellcheck disable=SC2046
  kill -KILL $(workload) 2>/dev/null
  wait_for_end 50
fi
exit 0
