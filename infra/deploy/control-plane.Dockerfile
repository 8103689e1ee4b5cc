# The control plane: API, enrolment, worker, beat and the one-shot services, each by its verb (see control-plane/start).
# `make setup` comes first: the console and the agent are taken as built, so that images and checkout cannot differ.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE} AS packages
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY infra/local/boot-requirements.txt requirements.txt /build/
RUN python3 -m venv /build/boot \
 && /build/boot/bin/pip install --quiet --no-cache-dir --require-hashes -r /build/boot-requirements.txt \
 && python3 -m venv --without-pip /opt/ringmaster/venv \
 && /build/boot/bin/uv pip sync --quiet --no-cache --python /opt/ringmaster/venv/bin/python --require-hashes /build/requirements.txt

FROM ${BASE_IMAGE} AS control-plane
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends ca-certificates postgresql-client-15 python3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --home-dir /var/lib/ringmaster --shell /usr/sbin/nologin ringmaster \
 && install -d -o ringmaster -g ringmaster -m 0700 /var/lib/ringmaster/secrets /var/lib/ringmaster/stores \
    /var/lib/ringmaster/metrics /var/lib/ringmaster/state \
 && install -d -o ringmaster -g ringmaster /var/lib/ringmaster/engines
COPY --from=packages /opt/ringmaster/venv /opt/ringmaster/venv
COPY backend/ /opt/ringmaster/backend/
COPY provisioner/ /opt/ringmaster/provisioner/
COPY images/machine/data/ /opt/ringmaster/images/machine/data/
COPY infra/aws/ /opt/ringmaster/infra/aws/
COPY infra/gcp/ /opt/ringmaster/infra/gcp/
# Compiled here, as nobody can write there later.
RUN /opt/ringmaster/venv/bin/python -m compileall -q /opt/ringmaster/backend /opt/ringmaster/provisioner
COPY frontend/dist/ /opt/ringmaster/console/
COPY infra/deploy/control-plane/start /usr/local/bin/start
ENV PATH=/opt/ringmaster/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    RINGMASTER_ALIVE_FILE=/tmp/alive \
    RINGMASTER_CONSOLE_DIR=/opt/ringmaster/console \
    RINGMASTER_SECRET_KEY_FILE=/var/lib/ringmaster/secrets/django.key \
    RINGMASTER_MASTER_KEY_FILE=/var/lib/ringmaster/secrets/master.key \
    PGPASSFILE=/var/lib/ringmaster/secrets/pgpass
WORKDIR /opt/ringmaster
USER ringmaster
ENTRYPOINT ["/usr/local/bin/start"]
CMD ["api"]

# The worker runs the local provider's machines inside its container, so it holds an agent and a Java too.
FROM control-plane AS worker
USER root
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends openjdk-17-jre-headless \
 && rm -rf /var/lib/apt/lists/*
COPY .cache/bin/agent /opt/ringmaster/bin/agent
ENV RINGMASTER_AGENT_BINARY=/opt/ringmaster/bin/agent \
    RINGMASTER_STATE_DIR=/var/lib/ringmaster/state \
    RINGMASTER_CACHE_DIR=/var/lib/ringmaster/engines
USER ringmaster
CMD ["worker"]
