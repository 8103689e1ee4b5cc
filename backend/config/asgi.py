"""The ASGI application that uvicorn serves: API, sign-in, console, health."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
# Each request runs in a thread of its own: only a pool lets them share connections.
os.environ.setdefault("RINGMASTER_DATABASE_POOL", "true")

from django.core.asgi import get_asgi_application

application = get_asgi_application()
