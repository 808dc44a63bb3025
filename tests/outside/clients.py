"""Clients and tools that nobody here wrote and that are not ours to keep, against a server with the stub model.

    python tests/outside/clients.py node            # DeepL's client for Node, fetched by npm
    python tests/outside/clients.py schemathesis    # requests made up from /openapi.json: none may get a 5xx
    python tests/outside/clients.py libretranslate  # the tests of its API that LibreTranslate has of its own

All are fetched from the package indexes into a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
STUB = HERE.parent / "unit" / "service"


def serve(folder: Path, port: int, target: str) -> None:
    """The server, in a process of its own."""
    # Its model processes find the stub.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(STUB), os.environ.get("PYTHONPATH")]))
    from docflat.service import server
    from docflat.service.settings import Model, Settings

    models = (Model(Path(), "en", target),)
    settings = Settings(models, port=port, folder=folder, loader="stub_model:load", most_connections=200)
    taken = server.listen(settings)
    asyncio.run(server.run(settings, taken, lambda: print(f"listens on {server.url_of(settings, taken)}", flush=True)))


@contextmanager
def running(folder: Path, target: str) -> Iterator[str]:
    command = [sys.executable, __file__, "--serve", str(folder / "data"), "--target", target]
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


CLIENT = """
import httpx, os, pytest

class Answer:
    def __init__(self, answer):
        self.status_code, self.data = answer.status_code, answer.content
        self.json = answer.json() if "json" in answer.headers["content-type"] else None

class Client:
    def get(self, path, **given):
        return Answer(httpx.get(os.environ["SERVER"] + path, trust_env=False, timeout=60, **given))
    def post(self, path, **given):
        return Answer(httpx.post(os.environ["SERVER"] + path, trust_env=False, timeout=60, **given))

@pytest.fixture
def client():
    return Client()
"""


def libretranslate(url: str, folder: Path) -> int:
    """Its tests ask a client of Flask's; here that client asks our server."""
    command = ["download", "--quiet", "--no-deps", "--dest", str(folder), "libretranslate>=1.6"]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    (wheel,) = folder.glob("libretranslate-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if "/test_api/test_" in name:
                (folder / Path(name).name).write_bytes(archive.read(name))
    (folder / "conftest.py").write_text(CLIENT)
    command = ["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run([sys.executable, "-m", "pytest", *command], env={**os.environ, "SERVER": url}).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tool", nargs="?", choices=("node", "schemathesis", "libretranslate"))
    parser.add_argument("--serve", type=Path, metavar="FOLDER", help="only the server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--target", default="de", help="language of the stub model")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.port, arguments.target)
        return 0
    if not arguments.tool:
        parser.error("which tool?")
    target = "es" if arguments.tool == "libretranslate" else "de"  # into which its tests translate
    tools = {"node": node, "schemathesis": schemathesis, "libretranslate": libretranslate}
    with tempfile.TemporaryDirectory() as name, running(Path(name), target) as url:
        return tools[arguments.tool](url, Path(name))


if __name__ == "__main__":
    sys.exit(main())
