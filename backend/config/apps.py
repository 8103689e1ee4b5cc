from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The top of the backend: it joins the apps, owns the commands that need several, and no tables."""

    name = "backend.config"
    label = "config"

    def ready(self) -> None:
        """Operations ring the workers with Celery's default application, from every thread: this one."""
        from django.conf import settings

        from backend.config.celery import make_producer

        make_producer(settings.ENV.broker_url).set_default()
