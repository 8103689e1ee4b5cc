from django.apps import AppConfig


class TuningConfig(AppConfig):
    name = "backend.tuning"
