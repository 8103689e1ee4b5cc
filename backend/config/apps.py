from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The top of the backend: it joins the apps, owns the commands that need several, and no tables."""

    name = "backend.config"
    label = "config"
