from django.apps import AppConfig


class TestDrivesConfig(AppConfig):
    name = "backend.test_drives"
