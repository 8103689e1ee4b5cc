"""Every environment variable the control plane reads, typed and checked once at boot."""

import ipaddress
import json
import re
import sys
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from backend.core.key_files import parsed


def _database_url(value: str) -> str:
    if urlsplit(value).scheme not in {"postgresql", "postgres"} or not urlsplit(value).path.strip("/"):
        raise ValueError("must be postgresql://[user[:password]@host:port]/database[?host=<socket folder>&user=<user>]")
    return value


def _redis_url(value: str) -> str:
    if urlsplit(value).scheme not in {"redis", "rediss", "unix"}:
        raise ValueError("must be redis://host:port/0, rediss://host:port/0 or unix:///path/redis.sock")
    return value


def _http_url(value: str) -> str:
    if urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname:
        raise ValueError("must be http://host[:port] or https://host[:port]")
    return value.rstrip("/")


def _optional_http_url(value: str) -> str:
    return _http_url(value) if value else ""


def _smtp_url(value: str) -> str:
    if value and (urlsplit(value).scheme not in {"smtp", "smtps"} or not urlsplit(value).hostname):
        raise ValueError("must be smtp://[user@]host[:port] or smtps://[user@]host[:port]")
    return value


def _readable_file(value: Path) -> Path:
    if not value.is_file():
        raise ValueError(f"no such file: {value}")
    return value


def _secret_key_file(value: Path) -> Path:
    if len(_readable_file(value).read_text().strip()) < 32:
        raise ValueError(f"{value} must hold at least 32 characters")
    return value


def _master_key_file(value: Path) -> Path:
    try:
        parsed(_readable_file(value).read_text())
    except ValueError as error:
        raise ValueError(str(error) if str(value) in str(error) else f"{value} {error}") from error
    return value


@dataclass(frozen=True)
class RateLimit:
    """`burst` requests at once, which come back at `per_second`."""

    per_second: float
    burst: int

    @property
    def microseconds(self) -> int:
        """Until one request has come back."""
        return max(1, round(1_000_000 / self.per_second))

    @property
    def window(self) -> int:
        """Seconds until all have come back."""
        return max(1, ceil(self.burst / self.per_second))


def _rate_limit(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value == "off":
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?):(\d+)", value)
    if found is None or not 0 < float(found[1]) <= 1_000_000 or not 0 < int(found[2]) <= 1_000_000:
        raise ValueError("must be <requests per second>:<requests at once>, for example 50:200, or off")
    return RateLimit(float(found[1]), int(found[2]))


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Env(BaseSettings):
    """The environment. Field names are the variable names in lower case."""

    model_config = SettingsConfigDict(extra="ignore", case_sensitive=False, env_ignore_empty=True)

    database_url: Annotated[str, AfterValidator(_database_url)] = Field(
        description="PostgreSQL: postgresql://[user[:password]@host:port]/database[?host=<socket folder>&user=<user>]"
    )
    redis_url: Annotated[str, AfterValidator(_redis_url)] = Field(description="The Celery broker; a doorbell only")
    ringmaster_redis_password_file: Path | None = Field(
        default=None, description="Redis' password, for a REDIS_URL over TCP that has none; unset: as in the URL"
    )
    ringmaster_alive_file: Path | None = Field(
        default=None, description="Touched by a worker and by beat while they do their work, for health checks"
    )
    ringmaster_secret_key_file: Annotated[Path, AfterValidator(_secret_key_file)] = Field(
        description="File with 32 characters or more that sessions and CSRF tokens are signed with"
    )
    ringmaster_master_key_file: Annotated[Path, AfterValidator(_master_key_file)] = Field(
        description="File with the key that secrets in the database are encrypted with, or that names the key "
        "service which keeps it closed: docs/security.md"
    )
    ringmaster_former_master_key_files: Annotated[list[Path], NoDecode] = Field(
        default=[], description="Keys that still open what was encrypted before a rotation, comma separated"
    )
    ringmaster_master_key_minutes: int = Field(
        default=60, ge=1, le=1440, description="How long a key from a key service is held without asking again"
    )
    ringmaster_public_url: Annotated[str, AfterValidator(_http_url)] = Field(
        description="Where people open the console"
    )
    ringmaster_enrol_url: Annotated[str, AfterValidator(_http_url)] = Field(
        description="Where new machines ask for their certificates, for example https://127.0.0.1:8444/enrol/v1"
    )
    ringmaster_allowed_hosts: Annotated[list[str], NoDecode] = Field(
        default=[], description="Host names that may be used, comma separated; the public URL's and loopback always may"
    )
    ringmaster_state_dir: Path | None = Field(default=None, description="Parent of the local provider's machines")
    ringmaster_cache_dir: Path | None = Field(default=None, description="Engine binaries, fetched once")
    ringmaster_agent_binary: Path | None = Field(default=None, description="The agent that local machines run")
    ringmaster_gcp_project: str = Field(default="", description="Google Cloud project for machines: docs/gcp.md")
    ringmaster_gcp_image_project: str = Field(default="", description="Has the machine images; empty: the same project")
    ringmaster_gcp_impersonate: str = Field(default="", description="Service account to act as; empty: our own")
    ringmaster_gcp_endpoint: str = Field(default="", description="An emulator of Google's API; empty: Google")
    ringmaster_gcp_public_addresses: bool = Field(default=False, description="Reach agents at public addresses")
    ringmaster_gcp_agents_from: Annotated[list[str], NoDecode] = Field(
        default=[], description="CIDR blocks that our calls to agents come from, comma separated"
    )
    ringmaster_gcp_machine_service_account: str = Field(default="", description="Of the machines; empty: none")
    ringmaster_gcp_principal: str = Field(
        default="", description="E-mail of our own service account, which service accounts that are brought trust"
    )
    ringmaster_aws_regions: Annotated[list[str], NoDecode] = Field(
        default=[], description="Regions of AWS to use, comma separated; empty: AWS is not offered; see docs/aws.md"
    )
    ringmaster_aws_installation: str = Field(
        default="ringmaster", description="Tells our machines from those of another control plane in the same account"
    )
    ringmaster_aws_endpoint: str = Field(default="", description="An emulator of AWS's API; empty: AWS")
    ringmaster_aws_role: str = Field(default="", description="ARN of a role to take on; empty: our own")
    ringmaster_aws_external_id: str = Field(default="", description="What that role asks for; empty: nothing")
    ringmaster_aws_principal: str = Field(
        default="", description="ARN of our own role or user, which roles in accounts that are brought trust"
    )
    ringmaster_aws_vpcs: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="VPCs that are given, as region=vpc, comma separated; elsewhere each network has its own",
    )
    ringmaster_aws_networks: str = Field(
        default="10.0.0.0/8", description="CIDR block that clusters' networks are cut from, where none is given"
    )
    ringmaster_aws_public_addresses: bool = Field(default=False, description="Reach agents at public addresses")
    ringmaster_aws_agents_from: Annotated[list[str], NoDecode] = Field(
        default=[], description="CIDR blocks that our calls to agents come from, comma separated"
    )
    ringmaster_aws_instance_profile: str = Field(
        default="ringmaster-node", description="Of the machines; none: they have none"
    )
    ringmaster_aws_placement: Annotated[str, Field(pattern=r"^(spread|partition)$")] = Field(
        default="spread", description="How machines of a rack are kept apart; spread takes 7 per rack"
    )
    ringmaster_client_traffic: Annotated[str, Field(pattern=r"^(in-zone|across-zones|out)$")] = Field(
        default="in-zone", description="Where clients are taken to be, by which their traffic is priced; docs/costs.md"
    )
    ringmaster_console_dir: Path | None = Field(default=None, description="The built console; unset: API only")
    ringmaster_test_catalog: bool = Field(default=False, description="Offer the provider that only pretends")
    ringmaster_test_fleet: Path | None = Field(
        default=None,
        description="Socket of a fleet simulator, which then is the provider that only pretends; never in production",
    )
    ringmaster_leak_grace_seconds: int = Field(
        default=900, ge=0, description="How long a leaked machine or network is only reported before it is deleted"
    )
    ringmaster_backup_store: str = Field(
        default="",
        description="Where backups go unless an organisation brings its place: docs/backups.md; empty: nowhere",
    )
    ringmaster_backup_store_credentials_file: Path | None = Field(
        default=None, description="JSON: access_key_id and secret_access_key, or Google's key of a service account"
    )
    ringmaster_health_cpu_share: float = Field(
        default=0.08, gt=0, le=1, description="Of one core, at most, that looking at clusters without trouble may take"
    )
    ringmaster_database_pool: bool = Field(
        default=False, description="Pool connections: for the threaded API, never for forking workers"
    )
    ringmaster_log_level: Annotated[str, Field(pattern=r"^(DEBUG|INFO|WARNING|ERROR)$")] = Field(
        "INFO", description="The least severe that is logged: DEBUG, INFO, WARNING or ERROR"
    )
    ringmaster_metrics_token: str = Field(
        default="", description="Bearer token that may read /metrics from elsewhere than loopback; empty: nobody may"
    )
    ringmaster_prometheus_url: Annotated[str, AfterValidator(_optional_http_url)] = Field(
        default="", description="Any store with Prometheus' API that has the metrics: docs/metrics.md; empty: none"
    )
    ringmaster_prometheus_history_url: Annotated[str, AfterValidator(_optional_http_url)] = Field(
        default="", description="The store of what is older than three days; empty: the same"
    )
    ringmaster_prometheus_credentials_file: Path | None = Field(
        default=None, description="JSON for that store: bearer_token, or username and password; also tenant"
    )
    ringmaster_prometheus_timeout_seconds: float = Field(
        default=10, gt=0, le=120, description="How long an answer of that store may take"
    )
    ringmaster_prometheus_dir: Path | None = Field(
        default=None, description="Where Prometheus' certificate for the agents is kept fresh; unset: nowhere"
    )
    ringmaster_alertmanager_url: Annotated[str, AfterValidator(_optional_http_url)] = Field(
        default="", description="Alertmanager, which knows what fires and is silenced: docs/alerts.md; empty: none"
    )
    ringmaster_alerts_token_file: Path | None = Field(
        default=None, description="Bearer token with which Alertmanager tells of alerts; unset: nobody may"
    )
    ringmaster_alert_networks: Annotated[list[str], NoDecode] = Field(
        default=[], description="CIDR blocks that alerts may be sent to beside public addresses, comma separated"
    )
    ringmaster_smtp_url: Annotated[str, AfterValidator(_smtp_url)] = Field(
        default="", description="smtp://[user@]host[:port] or smtps://…: sends alerts by e-mail; empty: nothing does"
    )
    ringmaster_smtp_password_file: Path | None = Field(default=None, description="Of that user")
    ringmaster_smtp_from: str = Field(default="ringmaster@localhost", description="Whom alerts by e-mail are from")
    ringmaster_rate_limit_caller: Annotated[RateLimit | None, BeforeValidator(_rate_limit), NoDecode] = Field(
        default=RateLimit(50, 200),
        description="<requests per second>:<at once> of each API token and each person who is signed in, or off",
    )
    ringmaster_rate_limit_organisation: Annotated[RateLimit | None, BeforeValidator(_rate_limit), NoDecode] = Field(
        default=RateLimit(200, 1000), description="The same for all of an organisation together"
    )
    otel_exporter_otlp_endpoint: Annotated[str, AfterValidator(_optional_http_url)] = Field(
        default="", description="Collector of traces, which takes OTLP over HTTP: docs/deploy.md; empty: no traces"
    )
    otel_exporter_otlp_protocol: Literal["http/protobuf"] = Field(
        default="http/protobuf", description="How it is spoken to: http/protobuf only"
    )
    otel_sdk_disabled: bool = Field(default=False, description="No traces, whatever the endpoint is")
    debug: bool = Field(
        False, description="Django's debug mode, which shows the inside of errors to whoever asks: for development only"
    )

    @field_validator(
        "ringmaster_former_master_key_files",
        "ringmaster_allowed_hosts",
        "ringmaster_gcp_agents_from",
        "ringmaster_aws_regions",
        "ringmaster_aws_vpcs",
        "ringmaster_aws_agents_from",
        "ringmaster_alert_networks",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("ringmaster_former_master_key_files")
    @classmethod
    def _former_keys(cls, value: list[Path]) -> list[Path]:
        return [_master_key_file(each) for each in value]

    @field_validator("ringmaster_alert_networks")
    @classmethod
    def _networks(cls, value: list[str]) -> list[str]:
        return [str(ipaddress.ip_network(each)) for each in value]

    @model_validator(mode="after")
    def _redis_password(self) -> Self:
        """From its file into the URL, which is all that the libraries take."""
        if self.ringmaster_redis_password_file is None:
            return self
        url = urlsplit(self.redis_url)
        if url.scheme == "unix" or url.password is not None or url.hostname is None:
            raise ValueError("RINGMASTER_REDIS_PASSWORD_FILE needs a REDIS_URL of redis://host:port/0 without password")
        password = quote(_readable_file(self.ringmaster_redis_password_file).read_text().strip(), safe="")
        self.redis_url = url._replace(
            netloc=f"{url.username or ''}:{password}@{url.netloc.rpartition('@')[2]}"
        ).geturl()
        return self

    @model_validator(mode="after")
    def _no_simulator_in_production(self) -> Self:
        pretends = self.ringmaster_test_catalog and self.public_host in _LOOPBACK
        if self.ringmaster_test_fleet is not None and not pretends:
            raise ValueError(
                "RINGMASTER_TEST_FLEET is for tests: it needs RINGMASTER_TEST_CATALOG=true and a public URL on loopback"
            )
        return self

    @property
    def traces_wanted(self) -> bool:
        return self.otel_exporter_otlp_endpoint != "" and not self.otel_sdk_disabled

    @property
    def public_host(self) -> str:
        return urlsplit(self.ringmaster_public_url).hostname or "localhost"

    @property
    def is_https(self) -> bool:
        return self.ringmaster_public_url.startswith("https://")

    @property
    def clouds(self) -> dict[str, list[str] | None]:
        """The clouds that this installation offers, with the regions it uses of each; None: all."""
        offered: dict[str, list[str] | None] = {}
        if self.ringmaster_aws_regions:
            offered["aws"] = self.ringmaster_aws_regions
        if self.ringmaster_gcp_project:
            offered["gcp"] = None
        return offered

    @property
    def broker_url(self) -> str:
        """REDIS_URL as Celery spells it."""
        if self.redis_url.startswith("unix://"):
            return "redis+socket://" + self.redis_url.removeprefix("unix://")
        return self.redis_url

    def secret_key(self) -> str:
        return self.ringmaster_secret_key_file.read_text().strip()

    def master_key_files(self) -> list[Path]:
        """The one that seals, and those that only open."""
        return [self.ringmaster_master_key_file, *self.ringmaster_former_master_key_files]

    def alerts_token(self) -> str:
        """What Alertmanager shows; empty: there is none."""
        file = self.ringmaster_alerts_token_file
        return file.read_text().strip() if file is not None and file.is_file() else ""

    def smtp_password(self) -> str:
        file = self.ringmaster_smtp_password_file
        return "" if file is None else file.read_text().strip()

    def backup_store_credentials(self) -> dict[str, str]:
        """As the store takes them; empty: from the surroundings."""
        if self.ringmaster_backup_store_credentials_file is None:
            return {}
        text = self.ringmaster_backup_store_credentials_file.read_text()
        return {"service_account": text} if self.ringmaster_backup_store.startswith("gs:") else dict(json.loads(text))

    def database(self) -> dict[str, object]:
        """DATABASE_URL as Django's database settings."""
        url = urlsplit(self.database_url)
        options: dict[str, object] = dict(parse_qsl(url.query))
        host = options.pop("host", url.hostname or "")
        user = options.pop("user", unquote(url.username or ""))
        password = options.pop("password", unquote(url.password or ""))
        port = options.pop("port", url.port or "")
        # A database that is away must be noticed in seconds, not in the operating system's minutes.
        options.setdefault("connect_timeout", "5")
        if self.ringmaster_database_pool:
            options["pool"] = {"min_size": 1, "max_size": 16, "timeout": 5, "max_idle": 300}
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(url.path.strip("/")),
            "HOST": host,
            "PORT": str(port),
            "USER": user,
            "PASSWORD": password,
            "OPTIONS": options,
            # A pool hands connections out per request; without one a process keeps its own.
            "CONN_MAX_AGE": 0 if self.ringmaster_database_pool else None,
            "CONN_HEALTH_CHECKS": True,
        }


def read_environment() -> Env:
    """Reads and checks the environment. A missing or wrong variable ends the process with one line for each."""
    try:
        return Env()  # type: ignore[call-arg]  # they come from the environment
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            name = str(problem["loc"][0]).upper() if problem["loc"] else "the environment"
            what = "is not set" if problem["type"] == "missing" else problem["msg"].removeprefix("Value error, ")
            lines.append(f"ringmaster: {name} {what}")
        sys.exit("\n".join(lines))
