from django.apps import AppConfig


class FindingsConfig(AppConfig):
    name = "backend.findings"
