# Prometheus from Debian with Ringmaster's configuration.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE}
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends prometheus \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ringmaster \
 && install -d -o ringmaster -g ringmaster /var/lib/ringmaster/prometheus
COPY infra/deploy/prometheus/ /etc/ringmaster/
USER ringmaster
VOLUME /var/lib/ringmaster/prometheus
EXPOSE 9090
HEALTHCHECK --interval=10s --timeout=5s --retries=6 \
  CMD ["promtool", "query", "instant", "http://127.0.0.1:9090", "vector(1)"]
CMD ["prometheus", "--config.file=/etc/ringmaster/prometheus.yml", "--storage.tsdb.path=/var/lib/ringmaster/prometheus", "--storage.tsdb.retention.time=3d"]
