"""One JSON object per line on standard error, from structlog and from the standard library alike."""

import logging
import logging.config
from collections.abc import Mapping

import structlog

from backend.config import tracing


def configure(options: Mapping[str, str]) -> None:
    """Django calls this with ``LOGGING``; workers call it with the same mapping. ``level``: DEBUG to ERROR."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        tracing.add_trace_id,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "json": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        structlog.processors.JSONRenderer(),
                    ],
                    "foreign_pre_chain": shared,
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"handlers": ["stderr"], "level": options["level"]},
            "loggers": {
                # The request line (config/middleware.py) says it once, with the fields that matter.
                "django.request": {"level": "CRITICAL"},
                "django.security": {"level": "ERROR"},
                "uvicorn.access": {"level": "WARNING"},
                "httpx": {"level": "WARNING"},
                # A collector that is away is told of once for each batch that is lost, not for each try and span.
                "opentelemetry": {"level": "ERROR"},
            },
        }
    )
