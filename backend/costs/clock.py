"""The database's clock: what closes hours and reads meters is not misled by a worker whose own is wrong."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment
