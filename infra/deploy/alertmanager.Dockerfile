# Alertmanager from Debian with Ringmaster's configuration.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE}
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends prometheus-alertmanager \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ringmaster \
 && install -d -o ringmaster -g ringmaster /var/lib/ringmaster/alertmanager
COPY infra/deploy/alertmanager/ /etc/ringmaster/
USER ringmaster
VOLUME /var/lib/ringmaster/alertmanager
EXPOSE 9093
HEALTHCHECK --interval=10s --timeout=5s --retries=6 \
  CMD ["amtool", "--alertmanager.url=http://127.0.0.1:9093", "config", "show"]
# One process of its own: nothing is shared with others by gossip.
CMD ["prometheus-alertmanager", "--config.file=/etc/ringmaster/alertmanager.yml", "--storage.path=/var/lib/ringmaster/alertmanager", "--cluster.listen-address="]
