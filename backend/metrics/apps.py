from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "backend.metrics"

    def ready(self) -> None:
        from backend.changes import numbers
        from backend.metrics import tables

        numbers.ask_with(tables.table_bytes)
