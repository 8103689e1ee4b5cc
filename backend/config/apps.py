from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The top of the backend: it joins the apps, owns the commands that need several, and no tables."""

    name = "backend.config"
    label = "config"

    def ready(self) -> None:
        """Whoever rings the doorbell (operations/actions.py) uses Celery's default application: this one."""
        from backend.config.celery import app  # here, because it reads the settings

        app.set_default()
