"""Django settings, from the environment and the data folder. Every PROCTOR_* variable is described in docs/reference/settings.md.

Embedded (no PROCTOR_DATABASE_URL): SQLite and in-memory broker. Scaled: PostgreSQL and Redis by URL; the code path is one.
"""

import os
import sys
from urllib.parse import parse_qsl, unquote, urlsplit

from config import place

ROOT = place.ROOT
DATA = place.data_folder()
TESTING = "pytest" in sys.modules

SECRET_KEY = place.secret_key(DATA)
PROCTOR_ENCRYPTION_KEY = place.encryption_key(DATA)
PROCTOR_INSTANCE = place.instance_id(DATA)
DEBUG = False
ALLOWED_HOSTS = os.environ.get("PROCTOR_ALLOWED_HOSTS", "*").split(",")
CSRF_TRUSTED_ORIGINS = [origin for origin in os.environ.get("PROCTOR_TRUSTED_ORIGINS", "").split(",") if origin]

PROCTOR_HOST = os.environ.get("PROCTOR_HOST", "127.0.0.1")
PROCTOR_PORT = int(os.environ.get("PROCTOR_PORT", "8000"))
PROCTOR_PUBLIC_URL = os.environ.get("PROCTOR_PUBLIC_URL", f"http://{'127.0.0.1' if PROCTOR_HOST == '0.0.0.0' else PROCTOR_HOST}:{PROCTOR_PORT}")
PROCTOR_SLOTS = int(os.environ.get("PROCTOR_SLOTS", str(4 * (os.cpu_count() or 2))))
PROCTOR_SESSIONS = int(os.environ.get("PROCTOR_SESSIONS", str(PROCTOR_SLOTS)))
PROCTOR_TEAM_SESSIONS = int(os.environ.get("PROCTOR_TEAM_SESSIONS", "100"))
PROCTOR_RELAY_HOST = os.environ.get("PROCTOR_RELAY_HOST", "127.0.0.1")
PROCTOR_REDIS_URL = os.environ.get("PROCTOR_REDIS_URL", "")
PROCTOR_BROKER_URL = os.environ.get("PROCTOR_BROKER_URL", PROCTOR_REDIS_URL or "memory://")
PROCTOR_SANDBOX = os.environ.get("PROCTOR_SANDBOX", "auto")  # auto, subprocess
PROCTOR_SANDBOX_NETWORK = os.environ.get("PROCTOR_SANDBOX_NETWORK") or None
PROCTOR_HUD_PYTHON = os.environ.get("PROCTOR_HUD_PYTHON", place.hud_python())
PROCTOR_HUD_FORK = os.environ.get("PROCTOR_HUD_FORK") == "1"
PROCTOR_TASK_APP_POLL = float(os.environ.get("PROCTOR_TASK_APP_POLL", "30"))

# Limits, given back in error bodies and listed in docs/reference/settings.md.
PROCTOR_LIMITS = {
    "upload_bytes": 256 * 1024**2,
    "import_bytes": 2 * 1024**3,
    "unpacked_bytes": 8 * 1024**3,
    "telemetry_bytes": 64 * 1024**2,
    "span_bytes": 25 * 1024**2,
    "task_bytes": 32 * 1024**2,
    "tasks_per_set": 1_000_000,
    "json_depth": 64,
    "page_size": 1_000,
    "job_runs": 200_000,
    "body_bytes": 2 * 1024**2,
}


def database(url: str) -> dict[str, object]:
    """SQLite in the data folder, or PostgreSQL from `postgres://user:password@host:port/name` (query: connection options)."""
    if not url:
        pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-20000; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=134217728"
        options = {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": pragmas}
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA / "proctor.sqlite3"), "OPTIONS": options}
    parts = urlsplit(url)
    pool = {} if TESTING else {"pool": {"min_size": 1, "max_size": int(os.environ.get("PROCTOR_DATABASE_POOL", "12")), "timeout": 30}}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        "OPTIONS": {**dict(parse_qsl(parts.query)), **pool},
    }


DATABASES = {"default": database(os.environ.get("PROCTOR_DATABASE_URL", ""))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "rest_framework",
    "drf_spectacular",
    "accounts",
    "shares",
    "gateway",
    "environments",
    "tasksets",
    "runs",
    "taskapps",
    "config.apps.ConfigApp",
]
MIDDLEWARE = [
    "web.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "shares.middleware.ShareHeadersMiddleware",
    "web.middleware.PageFilesMiddleware",
    "web.middleware.JsonErrorsMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = "proctor_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = os.environ.get("PROCTOR_PUBLIC_URL", "").startswith("https://")
CSRF_FAILURE_VIEW = "web.errors.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "style-src": ["'self'", "'unsafe-inline'"],
        "connect-src": ["'self'", "ws:", "wss:"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = PROCTOR_LIMITS["body_bytes"]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.BearerAuthentication", "accounts.authentication.PageAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "web.errors.handle_exception",
    "DEFAULT_SCHEMA_CLASS": "web.openapi.NativeSchema",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # `?format=` is the format of a download
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Proctor",
    "DESCRIPTION": "The native REST API. See docs/reference/api.md.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api",
    "PREPROCESSING_HOOKS": ["web.openapi.only_native"],
    "POSTPROCESSING_HOOKS": [],
}

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(DATA / "blobs")}},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
STATIC_URL = "/static/"
WHITENOISE_ROOT = str(ROOT / "frontend" / "dist") if (ROOT / "frontend" / "dist").is_dir() else None
WHITENOISE_MAX_AGE = 3600

TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [{"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}}]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "web.masking.MaskingFormatter", "format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    # A defect is logged where it rose, with its trace; Django's second line about the reply says nothing more.
    "filters": {"with_trace": {"()": "django.utils.log.CallbackFilter", "callback": lambda record: record.exc_info is not None}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("PROCTOR_LOG_LEVEL", "INFO")},
    "loggers": {"django.request": {"level": "ERROR", "filters": ["with_trace"]}, "httpx": {"level": "WARNING"}, "httpcore": {"level": "WARNING"}, "daphne": {"level": "WARNING"}, "django.channels.server": {"level": "WARNING"}},
}
