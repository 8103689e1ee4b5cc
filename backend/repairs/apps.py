from django.apps import AppConfig


class RepairsConfig(AppConfig):
    name = "backend.repairs"
