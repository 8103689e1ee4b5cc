"""The ASGI application that uvicorn serves: API, sign-in, console, health."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
# Each request runs in a thread of its own: only a pool lets them share connections.
os.environ.setdefault("RINGMASTER_DATABASE_POOL", "true")

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest

from backend.config import tracing


class OneThreadHandler(ASGIHandler):
    """Django's handler with middleware and view in one thread.

    All of them are synchronous, and Django would pass each request between the event loop and its thread three times
    over to find that out; here it is handed over once. Streams are still sent by the event loop.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> Any:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)


django.setup(set_prefix=False)
tracing.set_up("ringmaster-api")
application = OneThreadHandler()
