"""Clients and tools that nobody here wrote and that are not ours to keep, against a server with the stub model.

    python tests/outside/clients.py node          # DeepL's client for Node, fetched by npm
    python tests/outside/clients.py schemathesis  # requests made up from /openapi.json: none may get a 5xx

Both are fetched from the package indexes into a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
STUB = HERE.parent / "unit" / "service"


def serve(folder: Path, port: int) -> None:
    """The server, in a process of its own."""
    # Its model processes find the stub.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(STUB), os.environ.get("PYTHONPATH")]))
    from docflat.service import server
    from docflat.service.settings import Settings

    settings = Settings(port=port, folder=folder, loader="stub_model:load", most_connections=200)
    taken = server.listen(settings)
    asyncio.run(server.run(settings, taken, lambda: print(f"listens on {server.url_of(settings, taken)}", flush=True)))


@contextmanager
def running(folder: Path) -> Iterator[str]:

    command = [sys.executable, __file__, "--serve", str(folder / "data")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(30)


def node(url: str, folder: Path) -> int:
    subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), "deepl-node@1"], check=True)
    return subprocess.run(["node", str(HERE / "deepl_node.cjs"), url, str(folder)]).returncode


def schemathesis(url: str, folder: Path) -> int:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "schemathesis>=4,<5"], check=True)
    options = ["--checks", "not_a_server_error", "--max-examples", "30", "--seed", "1", "--request-timeout", "20"]
    command = [folder / "venv" / "bin" / "schemathesis", "run", f"{url}/openapi.json", "--url", url, *options]
    return subprocess.run(command, cwd=folder).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tool", nargs="?", choices=("node", "schemathesis"))
    parser.add_argument("--serve", type=Path, metavar="FOLDER", help="only the server")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.port)
        return 0
    if not arguments.tool:
        parser.error("which tool?")
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as url:
        return {"node": node, "schemathesis": schemathesis}[arguments.tool](url, Path(name))


if __name__ == "__main__":
    sys.exit(main())
