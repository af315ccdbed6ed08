"""Who a key stands for: its own team's role, also for people in several teams; expired and revoked ones are nobody."""

import pytest

from accounts import actions
from accounts.models import ApiKey
from accounts.queries import caller_for_key, find_keys
from web.errors import AppError

pytestmark = pytest.mark.django_db


def test_a_key_has_the_role_of_its_own_team_alone(ada_person, cy_person):
    actions.add_member(cy_person.caller, user=ada_person.user, role="viewer")
    caller = caller_for_key(ada_person.key)
    assert (caller.team_id, caller.role) == (ada_person.team.id, "owner") and "admin" in caller.scopes
    inside = actions.create_key(actions.owner_caller(cy_person.team, ada_person.user), name="there", scopes=["read", "write"])
    there = caller_for_key(inside.secret)
    assert (there.team_id, there.role, there.scopes) == (cy_person.team.id, "viewer", frozenset({"read"}))


def test_an_expired_a_revoked_and_an_inactive_persons_key_are_refused(ada, ada_key, ada_person, client_for):
    key = find_keys(ada).get()
    assert client_for(ada_key).get("/v2/auth/me").status_code == 200
    actions.expire_key(key, in_s=-1)
    assert client_for(ada_key).get("/v2/auth/me").status_code == 401
    ApiKey.objects.update(expires_at=None)
    ada_person.user.is_active = False
    ada_person.user.save()
    with pytest.raises(AppError):
        caller_for_key(ada_key)
    ada_person.user.is_active = True
    ada_person.user.save()
    actions.revoke_key(ada, key.id)
    assert client_for(ada_key).get("/api/me").status_code == 401
