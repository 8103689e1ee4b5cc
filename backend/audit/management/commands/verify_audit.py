"""``manage.py verify_audit``: whether all audit records are as they were written. docs/audit.md."""

import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.models import Organisation
from backend.audit import queries
from backend.audit.chain import End, Misfit, verify

_END = re.compile(r"(org_[0-9a-z]+):([1-9][0-9]*):([0-9a-f]{64})")


class Command(BaseCommand):
    help = "Verifies the chain of audit records of every organisation. Exit code 1 when one does not fit."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--expect",
            action="append",
            default=[],
            metavar="ORGANISATION:SEQUENCE:HASH",
            help="an end of a chain as it was told earlier: it must still be in it. Can be repeated",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = 0
        known = list(Organisation.objects.order_by("id").values_list("id", flat=True))
        for organisation_id in known:
            match verify(queries.chain_of(organisation_id)):
                case End(sequence, digest):
                    waiting = queries.waiting_in(organisation_id)
                    self.stdout.write(f"{organisation_id}:{sequence}:{digest} fits, {waiting} not linked yet")
                case Misfit(sequence, record_id, reason):
                    wrong += 1
                    self.stdout.write(f"{organisation_id}: record {record_id}, number {sequence}: {reason}")
        for text in options["expect"]:
            wrong += self._is_missing(text, known)
        if wrong:
            raise CommandError("The audit log is not as it was written.")

    def _is_missing(self, text: str, known: list[str]) -> bool:
        parts = _END.fullmatch(text)
        if parts is None:
            raise CommandError(f"{text} is no ORGANISATION:SEQUENCE:HASH.")
        organisation_id, sequence, digest = parts[1], int(parts[2]), parts[3]
        if organisation_id not in known:
            self.stdout.write(f"{organisation_id}: there is no such organisation any more.")
            return True
        found = queries.hash_at(organisation_id, sequence)
        if found == digest:
            return False
        said = "the chain is shorter" if found is None else f"it has hash {found}"
        self.stdout.write(f"{organisation_id}: number {sequence} was expected with hash {digest}, but {said}.")
        return True
