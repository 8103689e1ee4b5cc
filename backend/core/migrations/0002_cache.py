from django.db import migrations

# The table of Django's database cache (settings.CACHES), where sign-in limits are counted. Made here instead of by
# `createcachetable`, so that `migrate` is the whole set-up.
CREATE = """
CREATE TABLE IF NOT EXISTS core_cache (
    cache_key varchar(255) PRIMARY KEY,
    value text NOT NULL,
    expires timestamp with time zone NOT NULL
);
CREATE INDEX IF NOT EXISTS core_cache_expires ON core_cache (expires);
"""


class Migration(migrations.Migration):
    dependencies = [("core", "0001_initial")]
    operations = [migrations.RunSQL(CREATE, "DROP TABLE IF EXISTS core_cache")]
