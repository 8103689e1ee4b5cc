"""Where everything is mounted."""

from allauth.headless.account.views import LoginView, ReauthenticateView, SessionView
from django.urls import include, path, re_path
from django.views.decorators.csrf import csrf_protect

from backend.accounts import provider_sign_in
from backend.accounts.directory_api import scim
from backend.accounts.second_factor_views import FactorsView, RecoveryCodesView, SecondStepView, TotpView
from backend.alerts.facts import cluster_facts
from backend.alerts.intake import alerts_told
from backend.config import views
from backend.config.api import api
from backend.config.metrics import metrics
from backend.metrics.discovery import targets

# Only what the console uses of allauth: no sign-up, no password reset by mail before there is mail.
_sign_in = [
    path(address, csrf_protect(view.as_api_view(client="browser")), name=name)
    for address, view, name in (
        ("auth/login", LoginView, "login"),
        ("auth/2fa/authenticate", SecondStepView, "mfa_authenticate"),
        ("auth/session", SessionView, "current_session"),
        ("auth/reauthenticate", ReauthenticateView, "reauthenticate"),
        ("account/authenticators", FactorsView, "authenticators"),
        ("account/authenticators/totp", TotpView, "manage_totp"),
        ("account/authenticators/recovery-codes", RecoveryCodesView, "manage_recovery_codes"),
    )
]

urlpatterns = [
    path("api/v1/openapi.json", views.description),
    path("api/v1/", api.urls),
    path("_allauth/browser/v1/", include((_sign_in, "headless"))),
    path("_oidc/<str:provider_id>/start", csrf_protect(provider_sign_in.start)),
    path("_oidc/<str:provider_id>/callback", provider_sign_in.callback),
    path("scim/v2/<path:address>", scim),
    path("healthz", views.healthz),
    path("readyz", views.readyz),
    path("metrics", metrics),
    path("metrics/targets", targets),
    path("metrics/clusters", cluster_facts),
    path("metrics/alerts", alerts_told),
    re_path(r"^(?:api|_allauth|_oidc)(?:/.*)?$", views.unknown_url),
    path("", views.console),
    path("<path:path>", views.console),
]

handler400 = views.bad_request
handler404 = views.unknown_url
handler500 = views.server_error
