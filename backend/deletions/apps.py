from django.apps import AppConfig


class DeletionsConfig(AppConfig):
    name = "backend.deletions"
