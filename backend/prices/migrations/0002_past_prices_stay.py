from django.db import migrations

_STAY = """
CREATE FUNCTION prices_past_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'a price is never changed: add one that begins later';
    ELSIF OLD.valid_from <= clock_timestamp() THEN
        RAISE EXCEPTION 'a price that has begun is never deleted';
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER prices_past_stays BEFORE UPDATE OR DELETE ON prices_price
FOR EACH ROW EXECUTE FUNCTION prices_past_stays();
"""
_GO = "DROP TRIGGER prices_past_stays ON prices_price; DROP FUNCTION prices_past_stays();"


class Migration(migrations.Migration):

    dependencies = [("prices", "0001_initial")]

    operations = [migrations.RunSQL(_STAY, _GO)]
