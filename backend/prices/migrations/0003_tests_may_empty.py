from django.db import migrations

_STAY = """
CREATE OR REPLACE FUNCTION prices_past_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'a price is never changed: add one that begins later';
    ELSIF OLD.valid_from <= clock_timestamp() AND current_setting('ringmaster.emptying', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'a price that has begun is never deleted';
    END IF;
    RETURN OLD;
END
$$;
"""


class Migration(migrations.Migration):
    """A whole database may be emptied: by who says so in the same transaction, as tests do."""

    dependencies = [("prices", "0002_past_prices_stay")]

    operations = [migrations.RunSQL(_STAY, migrations.RunSQL.noop)]
