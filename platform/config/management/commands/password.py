"""`manage.py password`: a new password for who lost theirs."""

import secrets
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions
from web.errors import AppError


class Command(BaseCommand):
    help = "Sets a new random password and prints it once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        password = secrets.token_urlsafe(12)
        try:
            actions.set_password(email=options["email"], password=password)
        except AppError as error:
            raise CommandError(error.message) from error
        self.stdout.write(password)
