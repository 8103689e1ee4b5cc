# Postgres from Debian, for one database, under an ordinary account.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE}
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql-15 \
 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15/main /etc/postgresql/15/main \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ringmaster \
 && install -d -o ringmaster -g ringmaster -m 0700 /var/lib/ringmaster/postgres \
 && install -d -o ringmaster -g ringmaster -m 0700 /var/lib/ringmaster/secrets \
 && install -d -o ringmaster -g ringmaster -m 0755 /run/ringmaster
COPY --chown=root:root infra/deploy/postgres/start /usr/local/bin/start
USER ringmaster
VOLUME /var/lib/ringmaster/postgres
EXPOSE 5432
STOPSIGNAL SIGINT
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=6 \
  CMD ["/usr/lib/postgresql/15/bin/pg_isready", "--quiet", "--host=/run/ringmaster", "--username=ringmaster"]
CMD ["/usr/local/bin/start"]
