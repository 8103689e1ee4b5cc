from django.apps import AppConfig


class CloudAccountsConfig(AppConfig):
    name = "backend.cloud_accounts"
    label = "cloud_accounts"
    default_auto_field = "django.db.models.BigAutoField"
