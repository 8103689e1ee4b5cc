import base64
from pathlib import Path

import pytest

from backend.config.environment import Env, RateLimit, read_environment
from backend.core.key_files import parsed
from backend.core.secrets import MasterKey


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    (tmp_path / "secret").write_text("s" * 40)
    (tmp_path / "master").write_text(base64.b64encode(b"m" * 32).decode())
    for name, value in {
        "DATABASE_URL": "postgresql://me:p%40ss@db.example:5433/ringmaster?sslmode=require",
        "REDIS_URL": "unix:///run/redis.sock",
        "RINGMASTER_SECRET_KEY_FILE": str(tmp_path / "secret"),
        "RINGMASTER_MASTER_KEY_FILE": str(tmp_path / "master"),
        "RINGMASTER_PUBLIC_URL": "https://ringmaster.example/",
        "RINGMASTER_ENROL_URL": "https://ringmaster.example:8444/enrol/v1",
        "RINGMASTER_ALLOWED_HOSTS": "a.example, b.example",
        "RINGMASTER_CONSOLE_DIR": "",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_it_reads_every_value_typed(good: pytest.MonkeyPatch):
    env = read_environment()
    assert env.ringmaster_allowed_hosts == ["a.example", "b.example"]
    assert env.ringmaster_public_url == "https://ringmaster.example"
    assert env.public_host == "ringmaster.example"
    assert env.is_https is True
    assert env.ringmaster_console_dir is None
    assert env.broker_url == "redis+socket:///run/redis.sock"
    assert parsed(env.ringmaster_master_key_file.read_text()) == MasterKey(b"m" * 32)


def test_it_reads_the_database_url_in_both_forms(good: pytest.MonkeyPatch):
    database = Env().database()
    assert {k: database[k] for k in ("NAME", "HOST", "PORT", "USER", "PASSWORD")} == {
        "NAME": "ringmaster",
        "HOST": "db.example",
        "PORT": "5433",
        "USER": "me",
        "PASSWORD": "p@ss",
    }
    assert database["OPTIONS"] == {"sslmode": "require", "connect_timeout": "5"}
    good.setenv("DATABASE_URL", "postgresql:///ringmaster?host=/run/postgres&user=me")
    database = Env().database()
    assert (database["HOST"], database["USER"], database["PORT"]) == ("/run/postgres", "me", "")


def test_only_the_api_pools_connections(good: pytest.MonkeyPatch):
    assert "pool" not in Env().database()["OPTIONS"]  # type: ignore[operator]
    good.setenv("RINGMASTER_DATABASE_POOL", "true")
    assert "pool" in Env().database()["OPTIONS"]  # type: ignore[operator]


def test_it_says_one_line_for_each_thing_that_is_wrong(good: pytest.MonkeyPatch, tmp_path: Path):
    good.delenv("REDIS_URL")
    good.setenv("DATABASE_URL", "mysql://x/y")
    good.setenv("RINGMASTER_SECRET_KEY_FILE", str(tmp_path / "nowhere"))
    (tmp_path / "master").write_text("too short")
    with pytest.raises(SystemExit) as stop:
        read_environment()
    lines = str(stop.value.code).splitlines()
    assert [line.split()[1] for line in lines] == [
        "DATABASE_URL",
        "REDIS_URL",
        "RINGMASTER_SECRET_KEY_FILE",
        "RINGMASTER_MASTER_KEY_FILE",
    ]
    assert lines[1] == "ringmaster: REDIS_URL is not set"
    assert "openssl rand -base64 32" in lines[3]


def test_a_fleet_simulator_is_refused_in_production(good: pytest.MonkeyPatch):
    good.setenv("RINGMASTER_TEST_FLEET", "/tmp/fleet.sock")
    good.setenv("RINGMASTER_TEST_CATALOG", "true")
    with pytest.raises(SystemExit, match="RINGMASTER_TEST_FLEET is for tests"):
        read_environment()
    good.setenv("RINGMASTER_PUBLIC_URL", "http://127.0.0.1:8000")
    assert read_environment().ringmaster_test_fleet == Path("/tmp/fleet.sock")
    good.delenv("RINGMASTER_TEST_CATALOG")
    with pytest.raises(SystemExit, match="RINGMASTER_TEST_FLEET is for tests"):
        read_environment()


def test_a_cloud_is_offered_where_its_account_is_named(good: pytest.MonkeyPatch):
    assert read_environment().clouds == {}
    good.setenv("RINGMASTER_GCP_PROJECT", "databases")
    assert read_environment().clouds == {"gcp": None}
    good.setenv("RINGMASTER_AWS_REGIONS", "eu-central-1, us-east-1")
    assert read_environment().clouds == {"aws": ["eu-central-1", "us-east-1"], "gcp": None}


def test_it_puts_the_password_of_redis_into_its_url(good: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "redis").write_text("p@ss/word\n")
    good.setenv("RINGMASTER_REDIS_PASSWORD_FILE", str(tmp_path / "redis"))
    good.setenv("REDIS_URL", "redis://redis:6379/0")
    assert read_environment().broker_url == "redis://:p%40ss%2Fword@redis:6379/0"


@pytest.mark.parametrize("url", ["unix:///run/redis.sock", "redis://:other@redis:6379/0"])
def test_it_refuses_a_password_that_the_url_of_redis_has_no_place_for(
    good: pytest.MonkeyPatch, tmp_path: Path, url: str
):
    (tmp_path / "redis").write_text("secret")
    good.setenv("RINGMASTER_REDIS_PASSWORD_FILE", str(tmp_path / "redis"))
    good.setenv("REDIS_URL", url)
    with pytest.raises(ValueError, match="RINGMASTER_REDIS_PASSWORD_FILE needs"):
        Env()


@pytest.mark.parametrize(("text", "limit"), [("0.5:10", RateLimit(0.5, 10)), ("off", None)])
def test_it_reads_limits_of_requests(good: pytest.MonkeyPatch, text: str, limit: RateLimit | None):
    good.setenv("RINGMASTER_RATE_LIMIT_CALLER", text)
    assert read_environment().ringmaster_rate_limit_caller == limit


@pytest.mark.parametrize("text", ["50", "0:10", "50:0", "-1:5", "50:1.5", "many:5", "1e9:5"])
def test_it_refuses_limits_that_are_none(good: pytest.MonkeyPatch, text: str):
    good.setenv("RINGMASTER_RATE_LIMIT_CALLER", text)
    with pytest.raises(SystemExit, match="RINGMASTER_RATE_LIMIT_CALLER must be <requests per second>"):
        read_environment()
