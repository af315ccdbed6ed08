"""All addresses: each app's own, the API's description, health, and the page for everything else."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.views.decorators.csrf import ensure_csrf_cookie
from drf_spectacular.views import SpectacularJSONAPIView

from config import health, page
from web.errors import not_found
from web.middleware import is_api_path

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("api/schema", SpectacularJSONAPIView.as_view(permission_classes=[]), name="schema"),
    path("api/docs", page.api_docs),
    path("", include("accounts.urls")),
    path("", include("gateway.urls")),
    path("", include("shares.urls")),
    path("", include("environments.urls")),
    path("", include("taskapps.urls")),
    path("", include("tasksets.urls")),
    path("", include("runs.urls")),
]


@ensure_csrf_cookie
def anything_else(request: HttpRequest, path: str = "") -> HttpResponse:
    """The page at every path that is not the API's; there, JSON 404."""
    if is_api_path(request.path) or request.path.startswith("/assets/") or request.method not in ("GET", "HEAD"):
        raise not_found("This address")
    return page.index(request)


urlpatterns.append(re_path(r"^(?P<path>.*)$", anything_else))
