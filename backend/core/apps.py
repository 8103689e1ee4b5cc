from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "backend.core"
    label = "core"
    default_auto_field = "django.db.models.BigAutoField"
