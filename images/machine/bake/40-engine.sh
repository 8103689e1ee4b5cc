#!/bin/sh
# The engine, at exactly the version asked for. It is started by nobody but the agent.
set -eu
export DEBIAN_FRONTEND=noninteractive
case "$ENGINE" in
cassandra)
    apt-get install --yes --quiet --no-install-recommends maven openjdk-17-jdk-headless
    # Jars come through a repository of their own, so that none has to be looked for and removed afterwards.
    repository=$(mktemp -d)
    MAVEN_OPTS="-Dmaven.repo.local=$repository" python3 "$BAKE_FILES/cassandra/bake" "$ENGINE_VERSION" /opt/ringmaster/engines
    rm -rf "$repository"
    apt-get purge --yes --quiet --autoremove maven
    ;;
scylla)
    branch=$(printf '%s' "$ENGINE_VERSION" | cut -d. -f1,2)
    mkdir -p /etc/apt/keyrings
    if [ ! -s /etc/apt/keyrings/scylladb.gpg ]; then
        home=$(mktemp -d)
        gpg --homedir "$home" --no-default-keyring --keyring /etc/apt/keyrings/scylladb.gpg \
            --keyserver hkps://keyserver.ubuntu.com --recv-keys A43E06657BAC99E3
        rm -rf "$home"
    fi
    curl --fail --silent --show-error --location --output /etc/apt/sources.list.d/scylla.list \
        "https://downloads.scylladb.com/deb/debian/scylla-$branch.list"
    apt-get update --quiet
    version=$(apt-cache madison scylla | awk -v wanted="$ENGINE_VERSION" 'index($3, wanted "-") == 1 { print $3; exit }')
    if [ -z "$version" ]; then
        echo "ScyllaDB's repository for $branch has no version $ENGINE_VERSION" >&2
        exit 1
    fi
    apt-get install --yes --quiet --no-install-recommends "scylla=$version"
    apt-mark hold scylla
    systemctl disable scylla-server.service
    ;;
none) ;;
*)
    echo "ENGINE is cassandra, scylla or none, not $ENGINE" >&2
    exit 1
    ;;
esac
