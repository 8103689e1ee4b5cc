from django.db import migrations

_STAYS = """
CREATE FUNCTION costs_usage_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('ringmaster.emptying', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'a usage record is never changed or deleted: write a correction';
END
$$;
CREATE TRIGGER costs_usage_stays BEFORE UPDATE OR DELETE ON costs_usagerecord
FOR EACH ROW EXECUTE FUNCTION costs_usage_stays();
"""
_GO = "DROP TRIGGER costs_usage_stays ON costs_usagerecord; DROP FUNCTION costs_usage_stays();"


class Migration(migrations.Migration):

    dependencies = [("costs", "0001_initial")]

    operations = [migrations.RunSQL(_STAYS, _GO)]
