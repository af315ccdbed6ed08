"""`manage.py team`: another team, with an owner and a key (printed once)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions
from accounts.models import User
from web.errors import AppError


class Command(BaseCommand):
    help = "Makes a team for a user and prints its first API key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("title")
        parser.add_argument("--email", help="the owner; the first admin when left out")

    def handle(self, *args: Any, **options: Any) -> None:
        users = User.objects.order_by("created_at")
        user = users.filter(email__iexact=options["email"]).first() if options["email"] else users.first()
        if user is None:
            raise CommandError("There is no such user")
        try:
            team = actions.create_team(title=options["title"], owner=user)
        except AppError as error:
            raise CommandError(error.message) from error
        made = actions.create_key(actions.owner_caller(team, user), name="first key", scopes=["read", "write", "run", "admin"])
        self.stdout.write(made.secret)
