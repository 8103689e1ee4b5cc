from django.apps import AppConfig


class DiagnosticsConfig(AppConfig):
    name = "backend.diagnostics"
