from django.http import HttpRequest, HttpResponse


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return HttpResponse(status=403)
