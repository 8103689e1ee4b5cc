"""Django's settings. Everything that differs between installations comes from the environment (environment.py)."""

from pathlib import Path

from backend.config.environment import Env, read_environment

ENV: Env = read_environment()

BASE_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY = ENV.secret_key()
DEBUG = ENV.debug
ALLOWED_HOSTS = [ENV.public_host, "localhost", "127.0.0.1", "[::1]", *ENV.ringmaster_allowed_hosts]

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "allauth",
    "allauth.account",
    "allauth.headless",
    "allauth.mfa",
    "backend.core",
    "backend.accounts",
    "backend.audit",
    "backend.catalog",
    "backend.prices",
    "backend.operations",
    "backend.cloud_accounts",
    "backend.images",
    "backend.clusters",
    "backend.changes",
    "backend.access",
    "backend.findings",
    "backend.tuning",
    "backend.diagnostics",
    "backend.console",
    "backend.advisor",
    "backend.repairs",
    "backend.connections",
    "backend.backups",
    "backend.imports",
    "backend.metrics",
    "backend.alerts",
    "backend.costs",
    "backend.budgets",
    "backend.test_drives",
    "backend.deletions",
    "backend.config",
]

# Short on purpose: every entry is paid by every request. Tokens authenticate inside the API without touching
# sessions; CSRF is enforced there too, for sessions only (accounts/authentication.py).
MIDDLEWARE = [
    "backend.config.middleware.RequestEdge",
    "backend.config.middleware.Sessions",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "backend.config.urls"
ASGI_APPLICATION = "backend.config.asgi.application"
APPEND_SLASH = False

DATABASES = {"default": ENV.database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# In Postgres, so that sign-in limits hold over all API processes and do not need Redis.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "core_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher"]

# Sign-in for the console only; programs use API tokens. Accounts are made by invitation (accounts/actions.py).
HEADLESS_ONLY = True
HEADLESS_CLIENTS = ("browser",)
HEADLESS_SERVE_SPECIFICATION = False
ACCOUNT_ADAPTER = "backend.accounts.sign_in.SignInAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_NOTIFICATIONS = False
ACCOUNT_RATE_LIMITS = {
    "login": "60/m/ip",
    "login_failed": "30/m/ip,10/5m/key",
    # Ours: sign-ins through an identity provider that begin (accounts/provider_sign_in.py).
    "provider_sign_in": "60/m/ip",
}

# Changing a second factor takes the password again when the sign-in is older than this, in seconds.
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
MFA_ADAPTER = "backend.accounts.second_factor.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]

SESSION_COOKIE_NAME = "ringmaster_session"
SESSION_COOKIE_AGE = 14 * 24 * 3600  # seconds
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ENV.is_https
CSRF_COOKIE_NAME = "ringmaster_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = ENV.is_https
CSRF_TRUSTED_ORIGINS = [ENV.ringmaster_public_url]
CSRF_FAILURE_VIEW = "backend.config.views.csrf_failed"

DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes; a bigger body answers 413

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

# structlog writes the lines (config/logs.py); Django's own default logging would mail and colour.
LOGGING_CONFIG = "backend.config.logs.configure"
LOGGING = {"level": ENV.ringmaster_log_level}
