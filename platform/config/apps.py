"""Sets the broker before any actor module is imported; otherwise Dramatiq would quietly boot another one."""

from django.apps import AppConfig


class ConfigApp(AppConfig):
    name = "config"

    def ready(self) -> None:
        import dramatiq

        from config.broker import make_broker

        dramatiq.set_broker(make_broker())
