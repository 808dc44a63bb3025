"""`docflat serve`: translation over HTTP."""

from __future__ import annotations

import asyncio
import logging
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from docflat.cli.arguments import whole
from docflat.support.errors import InputError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="a model folder named by its languages, or en-de=FOLDER; several times for several (default: en-de)",
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s)")
    parser.add_argument("--port", type=whole(0), default=5000, metavar="N", help="default: 5000; 0: any that is free")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where jobs and their files are kept")


def run(arguments: Namespace) -> None:
    try:
        from docflat.service import server
    except ImportError as error:
        package = (error.name or "docflat").partition(".")[0]
        if package == "docflat":
            raise
        raise InputError(f"docflat serve needs {package}: pip install 'docflat[serve]'") from None
    from docflat.service.settings import Settings, default_folder, read_model

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    settings = Settings(
        models=tuple(read_model(text) for text in arguments.model or ["en-de"]),
        host=arguments.host,
        port=arguments.port,
        folder=arguments.data or default_folder(),
    )
    taken = server.listen(settings)
    url = server.url_of(settings, taken)
    print(f"docflat loads {', '.join(model.name for model in settings.models)} ...", flush=True)
    asyncio.run(server.run(settings, taken, lambda: print(f"docflat listens on {url}", flush=True)))
