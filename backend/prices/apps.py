from django.apps import AppConfig


class PricesConfig(AppConfig):
    name = "backend.prices"
