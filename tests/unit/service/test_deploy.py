"""What is in deploy/, as far as it can be tried without Docker and systemd; and the options of `docflat serve`."""

from __future__ import annotations

import json
import re
import shlex
from argparse import ArgumentParser
from pathlib import Path

import pytest

from docflat.cli import serve
from docflat.service.keys import Keys
from docflat.service.settings import Settings, default_folder, read_model
from docflat.support.errors import InputError
from docflat.weights.shipped import ENGLISH_GERMAN

DEPLOY = Path(__file__).parents[3] / "deploy"


def settings_of(*options: str) -> Settings:
    parser = ArgumentParser()
    serve.arguments(parser)
    return serve.make_settings(parser.parse_args(options))


def test_the_defaults_of_the_command_are_those_of_the_settings() -> None:
    assert settings_of() == Settings()


def test_the_container_starts_with_options_that_there_are() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    entry = json.loads(next(line for line in lines if line.startswith("ENTRYPOINT")).removeprefix("ENTRYPOINT"))
    more = json.loads(re.search(r"command: (\[.*\])", (DEPLOY / "compose.yaml").read_text())[1])  # type: ignore[index]
    assert entry[:2] == ["docflat", "serve"]
    settings = settings_of(*entry[2:], *more)
    assert (settings.host, settings.folder) == ("0.0.0.0", Path("/data"))
    assert any(line.startswith("USER docflat") for line in lines)
    assert any(line.startswith("HEALTHCHECK") for line in lines)


def test_the_unit_starts_with_options_that_there_are() -> None:
    text = (DEPLOY / "docflat.service").read_text()
    command = shlex.split(re.search(r"^ExecStart=(.*)", text, re.M)[1])  # type: ignore[index]
    assert command[1:] == ["serve", "$DOCFLAT_OPTIONS"]
    example = shlex.split(re.search(r'DOCFLAT_OPTIONS=([^"]+)"', text)[1])  # type: ignore[index]
    assert settings_of(*example).port == 8080
    assert "StateDirectory=docflat" in text
    assert default_folder({"STATE_DIRECTORY": "/var/lib/docflat"}) == Path("/var/lib/docflat")


def test_models_say_their_languages(tmp_path: Path) -> None:
    assert read_model("en-de").folder == ENGLISH_GERMAN
    (tmp_path / "opus-mt-en-fr").mkdir()
    (tmp_path / "mine").mkdir()
    assert read_model(str(tmp_path / "opus-mt-en-fr")).name == "en-fr"
    assert read_model(f"de-en={tmp_path / 'mine'}").name == "de-en"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "nowhere"], "no such model folder"),
        (["--model", "{folder}"], "Say so: --model en-de="),
        (["--model", "en-de", "--model", "en-de"], "two models for en-de"),
        (["--root-path", "mt"], "starts with /"),
        (["--origin", "example.org"], "https://example.org"),
    ],
)
def test_what_is_wrong_is_said_before_a_model_is_loaded(tmp_path: Path, options: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        settings_of(*(option.format(folder=tmp_path) for option in options))


def test_a_new_key_is_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    serve.arguments(parser)
    serve.run(parser.parse_args(["--keys", str(tmp_path / "keys"), "--new-key", "mia"]))
    key = capsys.readouterr().out.strip()
    assert Keys.read(tmp_path / "keys").owner(key) == "mia"
    assert key not in (tmp_path / "keys").read_text()
    with pytest.raises(InputError, match="key for mia already"):
        serve.run(parser.parse_args(["--keys", str(tmp_path / "keys"), "--new-key", "mia"]))
