"""Where everything is mounted."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
