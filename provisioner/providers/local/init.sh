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

agent=
stopping=
trap 'stopping=1; [ -z "$agent" ] || kill -TERM "$agent" 2>/dev/null' TERM
trap '' HUP INT

exec 9<>"$folder/init.pid"
flock -w 2 9 || exit 0
: >"$folder/init.pid"
echo "$$" >&9

workload() {
  grep -lszxF "RINGMASTER_WORKLOAD=$folder" /proc/[0-9]*/environ 9>&- | cut -d / -f 3 9>&-
}

# Whether the agent has not ended. Neither `kill -0`, which is true of the dead too, nor the environment, which the
# moment between fork and exec does not have yet.
agent_lives() {
  [ -n "$agent" ] || return 1
  case $(sed -n 's/.*) //; s/ .*//; p' "/proc/$agent/stat" 2>/dev/null 9>&-) in
    '' | Z | X) return 1 ;;
  esac
}

while [ -z "$stopping" ]; do
  if [ "$(stat -c %s "$folder/agent.log" 2>/dev/null || echo 0)" -gt 10485760 ]; then
    mv "$folder/agent.log" "$folder/agent.log.1"
  fi
  RINGMASTER_WORKLOAD="$folder" "$binary" run --state-dir "$folder/data" --user-data "$folder/user-data.json" \
    >>"$folder/agent.log" 2>&1 </dev/null 9>&- &
  agent=$!
  # Unless the power button was pressed before the agent had a number; the loop below sees to it then.
  [ -n "$stopping" ] || wait "$agent"
  # The pause keeps an agent that cannot start from taking a whole CPU.
  [ -n "$stopping" ] || sleep 1 9>&-
done

# The agent leaves within moments; if not, it must go before the engine does. It is asked again and again, because it may
# not have been listening yet.
tenths=50
while agent_lives && [ "$tenths" -gt 0 ]; do
  kill -TERM "$agent" 2>/dev/null
  tenths=$((tenths - 1))
  sleep 0.1 9>&-
done
if [ -n "$agent" ]; then
  kill -KILL "$agent" 2>/dev/null
  wait "$agent" 2>/dev/null
fi

# Everything else is asked once, also what the agent was just starting; then there is no more asking.
asked=' '
tenths=$((engine_seconds * 10))
while running=$(workload) && [ -n "$running" ]; do
  for process in $running; do
    if [ "$tenths" -le 0 ]; then
      kill -KILL "$process" 2>/dev/null
    elif [ "${asked#* "$process" }" = "$asked" ]; then
      kill -TERM "$process" 2>/dev/null
      asked="$asked$process "
    fi
  done
  tenths=$((tenths - 1))
  sleep 0.1 9>&-
done
exit 0
