"""`manage.py key`: a new API key for who lost theirs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions
from accounts.models import Membership


class Command(BaseCommand):
    help = "Makes an API key and prints it once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--email", help="whose; the first admin's when left out")
        parser.add_argument("--team", help="the team's name; the person's first when left out")
        parser.add_argument("--name", default="made on the server")

    def handle(self, *args: Any, **options: Any) -> None:
        memberships = Membership.objects.select_related("user", "team").order_by("id")
        if options["email"]:
            memberships = memberships.filter(user__email__iexact=options["email"])
        if options["team"]:
            memberships = memberships.filter(team__name=options["team"])
        membership = memberships.first()
        if membership is None:
            raise CommandError("There is no such member")
        caller = actions.owner_caller(membership.team, membership.user)
        made = actions.create_key(caller, name=options["name"], scopes=["read", "write", "run", "admin"])
        self.stdout.write(made.secret)
