# Redis from Debian, keeping nothing: Ringmaster uses it as a doorbell only.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE}
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ringmaster
COPY --chown=root:root infra/deploy/redis/start /usr/local/bin/start
USER ringmaster
WORKDIR /tmp
EXPOSE 6379
HEALTHCHECK --interval=5s --timeout=3s --retries=6 CMD ["/usr/local/bin/start", "healthy"]
CMD ["/usr/local/bin/start"]
