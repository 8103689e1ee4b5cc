from django.apps import AppConfig


class BackupsConfig(AppConfig):
    name = "backend.backups"
    label = "backups"
    default_auto_field = "django.db.models.BigAutoField"
