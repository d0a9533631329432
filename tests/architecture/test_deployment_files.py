"""The files that a deployment is made of: valid by the tools that read them, and in step with the code."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared.config.settings import Settings
from shared.domain.kinds import QUEUES
from shared.observability.metrics import PREFIX, table

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
COMPOSE = INFRA / "compose.yaml"
DOCKERFILE = INFRA / "docker" / "Dockerfile"
WORKERS = tuple(queue.replace(".", "-") for queue in QUEUES)
OURS = ("gateway", *WORKERS, "sweeper", "migrate", "flower")
OTHERS = ("postgres", "redis", "searxng", "prometheus")
REQUIRED = (
    "LEADLINE_POSTGRES_PASSWORD",
    "LEADLINE_REDIS_PASSWORD",
    "FLOWER_REDIS_PASSWORD",
    "SEARXNG_SECRET",
    "LEADLINE_FLOWER_AUTH",
)
ONLY_HERE = {
    "LEADLINE_POSTGRES_PASSWORD",
    "LEADLINE_REDIS_PASSWORD",
    "LEADLINE_PROMETHEUS_PORT",
    "LEADLINE_SEARXNG_IMAGE",
}
"""Variables of the Compose file that look like settings of Leadline and are none."""


def tool(name: str) -> str:
    """Return the path of a program, beside this interpreter or on the path; skip when it is not installed."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the project's folder."""
    inherited = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(
        command, cwd=ROOT, env={**inherited, **environment}, capture_output=True, text=True, timeout=120
    )


@cache
def services() -> dict[str, Any]:
    """Return the services as Compose itself understands the file."""
    secrets = dict.fromkeys(REQUIRED, "a:b")
    command = (tool("docker-compose"), "-f", COMPOSE, "--env-file", os.devnull, "config", "--format", "json")
    read = run(*command, **secrets)
    assert read.returncode == 0, read.stderr
    assert read.stderr == ""
    return dict(json.loads(read.stdout)["services"])


def stages() -> dict[str, tuple[str, list[str]]]:
    """Return the stages of the Dockerfile by name: what each starts from, and its instructions."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    found: dict[str, tuple[str, list[str]]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if match := re.fullmatch(r"FROM (\S+) AS (\S+)", line):
            lines = []
            found[match[2]] = (match[1], lines)
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def inherited(stage: str) -> list[str]:
    """Return the instructions of a stage after those of the stages that it starts from."""
    base, lines = stages()[stage]
    return [*inherited(base), *lines] if base in stages() else lines


def test_the_dockerfile_has_no_known_fault() -> None:
    """Hadolint finds nothing."""
    checked = run(tool("hadolint"), DOCKERFILE)
    assert checked.returncode == 0, checked.stdout


def test_compose_reads_its_file() -> None:
    """Every service is there, ours built from targets that the Dockerfile has."""
    assert set(services()) == {*OURS, *OTHERS}
    for name in OURS:
        assert services()[name]["build"]["target"] == name
        assert name in stages()


def test_compose_names_the_secret_that_is_missing() -> None:
    """Without a password nothing starts, and the message says where to read on."""
    for missing in REQUIRED:
        secrets = dict.fromkeys([name for name in REQUIRED if name != missing], "a:b")
        command = (tool("docker-compose"), "-f", COMPOSE, "--env-file", os.devnull, "config", "--quiet")
        read = run(*command, **secrets)
        assert read.returncode != 0
        assert f"{missing} is missing a value: see infra/.env.example" in read.stderr


def test_the_example_names_every_variable_and_no_secret() -> None:
    """What the Compose file asks for stands in the example, the secrets empty."""
    example = dict(re.findall(r"^(\w+)=(.*)$", (INFRA / ".env.example").read_text(), re.M))
    assert set(example) == set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    assert {name: example[name] for name in REQUIRED} == dict.fromkeys(REQUIRED, "")


def test_every_variable_is_a_setting() -> None:
    """What the containers are given under our prefix is read by the program."""
    known = {f"LEADLINE_{name.upper()}" for name in Settings.model_fields}
    given = {name for service in OURS for name in services()[service].get("environment", {})}
    built = set(re.findall(r"\b(LEADLINE_\w+)=", DOCKERFILE.read_text()))
    example = set(re.findall(r"^(LEADLINE_\w+)=", (INFRA / ".env.example").read_text(), re.M))
    assert {name for name in given | built if name.startswith("LEADLINE_")} <= known
    assert example - known == ONLY_HERE


def test_nothing_is_reachable_but_from_this_machine() -> None:
    """Ports are published for three services and on the loopback address; data services have no way out."""
    published = {name: service["ports"] for name, service in services().items() if service.get("ports")}
    assert set(published) == {"gateway", "flower", "prometheus"}
    assert {port["host_ip"] for ports in published.values() for port in ports} == {"127.0.0.1"}
    for name in ("postgres", "redis"):
        assert set(services()[name]["networks"]) == {"data"}


def test_containers_may_do_little() -> None:
    """Ours: no root, nothing to write but /tmp, no capabilities. All: limits, a restart policy, a health check."""
    for name, service in services().items():
        limits = service["deploy"]["resources"]["limits"]
        assert {"cpus", "memory", "pids"} <= set(limits), name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["restart"], name
        if name in (*OURS, "redis", "prometheus"):
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name
        if name in OURS:
            users = [line for line in inherited(name) if line.startswith("USER ")]
            assert users == ["USER 10001:10001"], name
        if name not in (*OURS, "migrate"):
            assert service["healthcheck"]["test"], name


def test_every_process_has_a_health_check() -> None:
    """It asks the port that the process serves; a migration ends by itself."""
    for name in OURS:
        checks = [line for line in inherited(name) if line.startswith("HEALTHCHECK")]
        assert len(checks) == (0 if name == "migrate" else 1), name


def test_a_worker_has_time_to_stop() -> None:
    """Compose waits longer than a worker gives its steps."""
    for name in WORKERS:
        grace = float(services()[name]["environment"]["LEADLINE_STOP_GRACE_SECONDS"])
        assert _seconds(services()[name]["stop_grace_period"]) >= grace + 10


def test_nothing_starts_before_what_it_needs() -> None:
    """Processes wait for the database, the broker and the schema."""
    for name in ("gateway", *WORKERS, "sweeper"):
        wanted = services()[name]["depends_on"]
        conditions = {other: wanted[other]["condition"] for other in wanted}
        assert conditions == {
            "postgres": "service_healthy",
            "redis": "service_healthy",
            "migrate": "service_completed_successfully",
        }


def test_packages_are_pinned_and_images_hold_no_installer() -> None:
    """Hashes are required wherever packages are installed, which happens in stages that no image starts from."""
    for name, (_, lines) in stages().items():
        for line in lines:
            if "apt-get" in line:
                assert name == "base-with-browser"
            elif "install" in line:
                assert "--require-hashes" in line
                assert "--only-binary=:all:" in line
                assert name in ("packages", "packages-with-flower", "packages-with-browser")
    for name in OURS:
        assert not any("pip" in line for line in inherited(name))
    assert all(":" in base and not base.endswith(":latest") for base, _ in stages().values() if base not in stages())


@pytest.mark.parametrize("name", OURS)
def test_an_image_holds_what_its_process_imports(name: str, tmp_path: Path) -> None:
    """With nothing but what is copied into the image, the module that it starts can be imported."""
    copied = [line.split() for line in inherited(name) if line.startswith("COPY") and "--from" not in line]
    for _, source, target in copied:
        origin, place = ROOT / source, tmp_path / target
        if origin.is_dir():
            shutil.copytree(origin, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, place)
    [command] = [json.loads(line.removeprefix("CMD ")) for line in inherited(name) if line.startswith("CMD ")]
    assert command[:2] == ["python", "-m"]
    allowed = {"services", "shared"}
    code = f"import sys, {command[2]}; print(*{{m.partition('.')[0] for m in sys.modules}})"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert loaded.returncode == 0, loaded.stderr
    assert not {"infra", "tests", "evals"} & set(loaded.stdout.split())
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} <= allowed


def test_prometheus_takes_its_configuration() -> None:
    """Configuration and rules are valid, and the rules' own tests pass."""
    promtool = tool("promtool")
    for arguments in (
        ("check", "config", "infra/prometheus/prometheus.yml"),
        ("check", "rules", "infra/prometheus/alerts.yml"),
        ("test", "rules", "infra/prometheus/alerts.test.yml"),
    ):
        checked = run(promtool, *arguments)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_prometheus_looks_where_processes_are() -> None:
    """Each process that shows figures is scraped under the port that its image has."""
    text = (INFRA / "prometheus" / "prometheus.yml").read_text()
    found = re.findall(r"names: \[(.+?)\]\n\s+type: A\n\s+port: (\d+)", text)
    ports = {name: int(port) for names, port in found for name in names.split(", ")}
    assert ports == {"gateway": 8000, "flower": 5555, **dict.fromkeys([*WORKERS, "sweeper"], 9100)}
    for name, port in ports.items():
        assert f"EXPOSE {port}" in inherited(name)
        assert "figures" in services()[name]["networks"]


def test_alerts_ask_for_figures_that_there_are() -> None:
    """Every name in a rule is a row of the table, with the labels that it has."""
    known = set()
    for name, (kind, _) in table().items():
        endings = {"Counter": ["_total"], "Histogram": ["_bucket", "_sum", "_count"], "Info": ["_info"]}
        known |= {PREFIX + name + ending for ending in endings.get(kind.__name__, [""])}
    rules = (INFRA / "prometheus" / "alerts.yml").read_text()
    asked = set(re.findall(rf"\b{PREFIX}\w+", rules))
    assert asked <= known
    assert asked


def test_searxng_answers_in_json() -> None:
    """Its own default is HTML only, with which nothing would be found."""
    assert re.search(r"formats:\n\s+- html\n\s+- json\n", (INFRA / "searxng" / "settings.yml").read_text())


def _seconds(duration: str) -> float:
    units = {"h": 3600, "m": 60, "s": 1}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)([hms])", duration))
