"""Every setting of the system, read once by the entry point of a process. The only file that reads the environment."""

import os
import sys
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.domain.engines import MANAGED
from shared.domain.phases import MODEL_PHASES, Phase
from shared.domain.search import RERANKERS, parse_addresses, parse_names, usable

HTTP_ADDRESS = r"^https?://[^\s/]+"
"""How the address of a server begins."""


def _default_home() -> Path:
    """Return the user's data folder for Leadline, as the platform has it."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Leadline"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "leadline"


class Settings(BaseSettings):
    """Frozen; a test passes another instance instead of changing this one. Names carry the prefix ``LEADLINE_``."""

    model_config = SettingsConfigDict(
        env_prefix="LEADLINE_", env_ignore_empty=True, frozen=True, extra="ignore", populate_by_name=True
    )

    home: Path = Field(default_factory=_default_home, description="Where the embedded stack keeps its data.")
    database_url: SecretStr | None = Field(default=None, description="PostgreSQL instead of the embedded one.")
    broker_url: SecretStr | None = Field(default=None, description="Celery broker instead of the embedded one.")
    redis_url: SecretStr | None = Field(default=None, description="Redis for live progress.")
    gateway_host: str = Field(default="127.0.0.1", description="Address that the gateway listens on.")
    auth: Literal["auto", "local", "keys"] = Field(default="auto", description="Whether requests must carry a key.")
    api_key: SecretStr | None = Field(default=None, description="Key that the command line sends.")
    gateway_port: int = Field(default=0, ge=0, le=65535, description="Port of the gateway; 0 takes a free one.")
    address: str | None = Field(default=None, description="Gateway that the command line talks to.")
    lease_seconds: float = Field(
        default=60.0, gt=0.0, description="Time without a heartbeat after which a step is due."
    )
    sweep_seconds: float = Field(default=1.0, gt=0.0, description="Longest time between two looks of the sweeper.")
    worker_threads: int = Field(default=8, ge=1, le=256, description="Steps that one worker process runs at once.")
    cpu_processes: int = Field(default=1, ge=1, le=64, description="Limited subprocesses of one worker for CPU work.")
    stop_grace_seconds: float = Field(default=10.0, gt=0.0, description="Time for running steps when a worker stops.")
    pdf_backend: Literal["pymupdf", "pypdfium2"] = Field(default="pymupdf", description="Library that opens PDFs.")
    reader: Literal["on", "off"] = Field(
        default="on", description="Whether the local reader looks for answers where no model does; off: words alone."
    )
    max_running_runs: int = Field(default=4, ge=1, description="Runs of one owner that research at once.")
    max_errors: int = Field(default=3, ge=1, description="Errors after which a step is given up.")
    max_interruptions: int = Field(default=5, ge=1, description="Lost workers after which a step is given up.")
    straggler_wait_seconds: int | None = Field(
        default=None, ge=1, description="How long an iteration waits for slow sources, whatever the depth of the run."
    )
    wait_days: float = Field(default=7.0, gt=0.0, description="Days that a run waits for a person before it expires.")
    max_document_bytes: int = Field(default=20_000_000, ge=1, description="Largest document that is taken in.")
    gateway_threads: int = Field(default=64, ge=2, description="Requests and streams that a gateway serves at once.")
    max_connections_per_address: int | None = Field(
        default=None, ge=1, description="Connections of one address that a gateway takes at once."
    )
    request_patience_seconds: float = Field(
        default=10.0, gt=0.0, le=600.0, description="Longest silence of a client that sends a request."
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")
    flower_host: str = Field(default="127.0.0.1", description="Address that Flower listens on.")
    flower_port: int = Field(default=5555, ge=0, le=65535, description="Port of Flower; 0 takes a free one.")
    flower_auth: SecretStr | None = Field(default=None, description="user:password that Flower asks for.")
    metrics_host: str = Field(default="127.0.0.1", description="Address on which a process shows its figures.")
    metrics_port: int | None = Field(
        default=None, ge=0, le=65535, description="Port for them; 0 takes a free one and tells it in the home."
    )
    searxng_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("SEARXNG_URL", "LEADLINE_SEARXNG_URL"),
        pattern=HTTP_ADDRESS,
        description="SearXNG that searches the web, with its JSON format turned on.",
    )
    tavily_api_key: SecretStr | None = Field(
        default=None, validation_alias="TAVILY_API_KEY", description="Key of Tavily, which then searches the web."
    )
    exa_api_key: SecretStr | None = Field(
        default=None, validation_alias="EXA_API_KEY", description="Key of Exa, which then searches the web."
    )
    serper_api_key: SecretStr | None = Field(
        default=None, validation_alias="SERPER_API_KEY", description="Key of Serper, which then searches the web."
    )
    brave_api_key: SecretStr | None = Field(
        default=None, validation_alias="BRAVE_API_KEY", description="Key of Brave, which then searches the web."
    )
    search: str = Field(default="", description="Search providers to ask first, by name; also those without a key.")
    search_urls: str = Field(default="", description="Other addresses of search providers and rerankers, as name=url.")
    cohere_api_key: SecretStr | None = Field(
        default=None, validation_alias="COHERE_API_KEY", description="Key of Cohere, which then ranks what is found."
    )
    jina_api_key: SecretStr | None = Field(
        default=None, validation_alias="JINA_API_KEY", description="Key of Jina, which then ranks what is found."
    )
    voyage_api_key: SecretStr | None = Field(
        default=None, validation_alias="VOYAGE_API_KEY", description="Key of Voyage, which then ranks what is found."
    )
    contact_url: str | None = Field(default=None, description="Page about this robot, told to every site.")
    site_delay_seconds: float = Field(
        default=1.0, ge=0.0, le=600.0, description="Least time between two requests to one site, over all workers."
    )
    allow_networks: str = Field(default="", description="Networks beyond the public internet that may be fetched from.")
    resolve_hosts: str = Field(default="", description="Addresses of host names, as name=address, for those networks.")
    browser: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Who reads pages that need JavaScript: a browser if there is one, a worker of its own, nobody.",
    )
    browser_path: Path | None = Field(
        default=None, description="Program of the browser, where it is not found by name."
    )
    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias="OPENAI_API_KEY", description="Key of the model's provider."
    )
    openai_base_url: str = Field(
        default="https://api.openai.com/v1",
        validation_alias="OPENAI_BASE_URL",
        pattern=HTTP_ADDRESS,
        description="Endpoint of the model: any that speaks OpenAI's chat completions.",
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None, validation_alias="ANTHROPIC_API_KEY", description="Key for models named anthropic:…"
    )
    anthropic_base_url: str = Field(
        default="https://api.anthropic.com",
        validation_alias="ANTHROPIC_BASE_URL",
        pattern=HTTP_ADDRESS,
        description="Endpoint of models named anthropic:…",
    )
    google_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        description="Key for models named google:…",
    )
    google_base_url: str = Field(
        default="https://generativelanguage.googleapis.com",
        validation_alias=AliasChoices("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        pattern=HTTP_ADDRESS,
        description="Endpoint of models named google:…",
    )
    ollama_base_url: str = Field(
        default="http://127.0.0.1:11434/v1",
        validation_alias="OLLAMA_BASE_URL",
        pattern=HTTP_ADDRESS,
        description="Endpoint of models named ollama:…",
    )
    model: str | None = Field(default=None, description="Name of the model that the engine llm asks.")
    model_planner: str | None = Field(default=None, description="Another model for plans.")
    model_decision: str | None = Field(default=None, description="Another model for what to search next.")
    model_extractor: str | None = Field(default=None, description="Another model for reading sources.")
    model_writer: str | None = Field(default=None, description="Another model for writing.")
    model_verifier: str | None = Field(default=None, description="Another model for checking sentences.")

    managed_google: str = Field(
        default="deep-research-preview-04-2026", description="What does the research of the engine managed:google."
    )
    managed_openai: str = Field(
        default="o3-deep-research", description="What does the research of the engine managed:openai."
    )
    model_prices: str | None = Field(
        default=None, description="Prices of models as JSON or a file of it, in US dollars per million tokens."
    )
    model_patience: float = Field(
        default=1.0,
        ge=1,
        le=10,
        description="How many times longer than usual a model may take: for one on a small machine.",
    )
    model_strict: bool = Field(
        default=False, description="Whether an answer of another model than the one asked for is an error."
    )

    @field_validator("search")
    @classmethod
    def _providers_can_be_asked(cls, value: str, info: ValidationInfo) -> str:
        """Refuse a name that no provider has, and a provider that lacks its key or address."""
        usable(parse_names(value), lambda setting: info.data.get(setting.lower()) is not None)
        return value

    @field_validator("search_urls")
    @classmethod
    def _addresses_can_be_read(cls, value: str) -> str:
        """Refuse what is no list of addresses."""
        parse_addresses(value)
        return value

    def secret(self, setting: str | None) -> str | None:
        """Return the value of a setting such as ``TAVILY_API_KEY``, None when it is not set."""
        value = getattr(self, setting.lower()) if setting is not None else None
        return value.get_secret_value().strip() if isinstance(value, SecretStr) else value

    def search_providers(self) -> tuple[str, ...]:
        """Return the names of the search providers that are configured, in the order in which they are asked."""
        return usable(parse_names(self.search), lambda setting: bool(self.secret(setting)))

    def reranker(self) -> str | None:
        """Return the name of the reranker that is configured, the first one that has a key; None without any."""
        return next((name for name, facts in RERANKERS.items() if self.secret(facts.setting)), None)

    def model_names(self) -> dict[Phase, str]:
        """Return the model of each phase; nothing unless every phase has one."""
        chosen: dict[Phase, str | None] = {
            phase: getattr(self, f"model_{phase}") or self.model for phase in MODEL_PHASES
        }
        named = {phase: name for phase, name in chosen.items() if name}
        return named if len(named) == len(chosen) else {}

    def managed_engines(self) -> dict[str, str]:
        """Return the managed engines whose provider has a key, and what does the research of each there."""
        keys = {"google": self.google_api_key, "openai": self.openai_api_key}
        agents = {"google": self.managed_google, "openai": self.managed_openai}
        return {engine: agents[provider] for engine, provider in MANAGED.items() if keys[provider] is not None}

    def official_endpoints(self) -> frozenset[str]:
        """Return the providers that are asked at their own endpoints, where their own prices hold."""
        asked = {name: getattr(self, f"{name}_base_url") for name in ("openai", "anthropic", "google")}
        own = {name: type(self).model_fields[f"{name}_base_url"].default for name in asked}
        return frozenset(name for name, url in asked.items() if url.rstrip("/") == own[name])


def load_settings() -> Settings:
    """Read the environment."""
    return Settings()


def environment() -> dict[str, str]:
    """Return a copy of the environment, for child processes."""
    return dict(os.environ)
