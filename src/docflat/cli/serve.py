"""`docflat serve`: translation over HTTP."""

from __future__ import annotations

import asyncio
import logging
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.cli.arguments import whole
from docflat.support.console import report, say
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.service.settings import Settings


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="a model folder whose name is its languages, or en-de=FOLDER; once for each model (default: en-de)",
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s)")
    parser.add_argument(
        "--port",
        type=whole(0, 65535),
        default=5000,
        metavar="N",
        help="port to listen on; 0: any free port (default: 5000)",
    )
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="the folder in which the server stores jobs and their files"
    )
    _add_work(parser)
    _add_access(parser)


def _add_work(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("work and limits")

    def add(name: str, default: int, help: str, least: int = 1) -> None:
        text = f"{help} (default: %(default)s)"
        group.add_argument(name, type=whole(least), default=default, metavar="N", help=text)

    add("--text-processes", 1, "processes that translate texts, for which somebody waits")
    add("--document-processes", 1, "processes that translate files, with lower priority")
    add("--threads", 0, "threads of each process; 0: as many as there are cores", 0)
    add("--max-characters", 50_000, "characters of one request, at most")
    add("--max-upload", 64, "MiB of one file, at most")
    add("--max-files", 20, "files of one job, at most")
    add("--max-text-wait", 20, "refuse texts while the work that waits takes more seconds than this")
    add("--max-document-wait", 4 * 3600, "refuse files while the work that waits takes more seconds than this")
    add("--retention", 24, "hours that files are kept after their translation")
    add("--max-sessions", 1000, "sessions (/s/NAME) at a time; the server forgets each after an hour")
    add("--rate", 0, "requests a minute of one key or address; 0: any number", 0)
    add("--max-connections", 1000, "connections open at a time")


def _add_access(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("who may use it")
    group.add_argument(
        "--keys", type=Path, metavar="FILE", help="ask clients for a key; FILE has the names and hashes of the keys"
    )
    group.add_argument("--new-key", metavar="NAME", help="add a key to the file of --keys, print it, and end")
    for name, what in (
        ("--allow-host", "a name that this server answers to, beside localhost, --host and addresses"),
        ("--origin", "https://...: a site whose pages may use the API from a browser"),
    ):
        group.add_argument(name, action="append", default=[], metavar=name[2:].rpartition("-")[2].upper(), help=what)
    group.add_argument(
        "--root-path", default="", metavar="/PATH", help="the path under which a proxy shows this server"
    )
    group.add_argument("--proxy", action="store_true", help="believe the X-Forwarded headers of a proxy in front of it")


def run(arguments: Namespace) -> None:
    try:
        from docflat.service import server
    except ImportError as error:
        package = (error.name or "docflat").partition(".")[0]
        if package == "docflat":
            raise
        raise InputError(f"docflat serve needs {package}: pip install 'docflat[serve]'") from None
    if arguments.new_key:
        return _add_key(arguments)
    settings = make_settings(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    taken = server.listen(settings)
    url = server.url_of(settings, taken)
    report(f"docflat loads {', '.join(model.name for model in settings.models)} ...")
    asyncio.run(server.run(settings, taken, lambda: report(f"docflat listens on {url}")))


def _add_key(arguments: Namespace) -> None:
    from docflat.service.keys import add_key

    if arguments.keys is None:
        raise InputError("--new-key needs the file that the key is added to: --keys FILE")
    say(add_key(arguments.keys, arguments.new_key))


def make_settings(arguments: Namespace) -> Settings:
    from docflat.service.settings import Settings, default_folder, read_model

    models = tuple(read_model(text) for text in arguments.model or ["en-de"])
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two models for {name}: a request could not say which it wants")
    if arguments.root_path and (not arguments.root_path.startswith("/") or arguments.root_path.endswith("/")):
        raise InputError(f"--root-path starts with / and does not end with it, unlike {arguments.root_path!r}")
    for origin in arguments.origin:
        scheme, _, rest = origin.partition("://")
        if scheme not in ("http", "https") or not rest or "/" in rest:
            raise InputError(f"--origin is like https://example.org, without a path, unlike {origin!r}")
    return Settings(
        models=models,
        host=arguments.host,
        port=arguments.port,
        folder=arguments.data or default_folder(),
        threads=arguments.threads,
        text_processes=arguments.text_processes,
        document_processes=arguments.document_processes,
        most_characters=arguments.max_characters,
        most_upload=arguments.max_upload << 20,
        most_files=arguments.max_files,
        text_seconds=arguments.max_text_wait,
        document_seconds=arguments.max_document_wait,
        retention=arguments.retention * 3600.0,
        most_sessions=arguments.max_sessions,
        rate=arguments.rate,
        keys=arguments.keys,
        allowed_hosts=tuple(arguments.allow_host),
        origins=tuple(arguments.origin),
        root_path=arguments.root_path,
        proxy=arguments.proxy,
        most_connections=arguments.max_connections,
    )
