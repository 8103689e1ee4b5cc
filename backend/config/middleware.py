"""What every request passes first and every answer last."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_only_middleware

GetResponse = Callable[[HttpRequest], HttpResponseBase]


@sync_only_middleware
def request_edge(get_response: GetResponse) -> GetResponse:
    return get_response
