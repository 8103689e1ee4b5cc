"""Makes a person's sessions an hour older, for tests that cannot wait: `python age_sign_in.py RUN_FOLDER EMAIL`.

What guards the second factor asks for the password again some minutes after it was sent.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from infra.local import ports
from infra.local.layout import layout
from infra.local.programs import Installation, environment
from infra.local.services import socket_folder

_RECORDS = "account_authentication_methods"
"""Where allauth notes in a session how somebody signed in, and when."""


def main(folder: str, email: str) -> None:
    os.environ["RINGMASTER_RUN_DIR"] = folder
    place = layout()
    os.environ |= environment(Installation(place, ports.read(place.ports_file), socket_folder(Path(folder))))
    os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
    import django

    django.setup()
    from django.contrib.sessions.backends.db import SessionStore
    from django.contrib.sessions.models import Session

    from backend.accounts.models import User

    person = User.objects.get(email=email)
    for row in Session.objects.all():
        session = SessionStore(session_key=row.session_key)
        if session.get("_auth_user_id") == str(person.pk):
            session[_RECORDS] = [each | {"at": each["at"] - 3600} for each in session[_RECORDS]]
            session.save()


if __name__ == "__main__":
    main(*sys.argv[1:])
