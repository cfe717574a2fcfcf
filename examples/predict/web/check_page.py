# SPDX-License-Identifier: Apache-2.0
"""Opens the built page in headless Chromium, takes its picture, and checks what it says of the first sample.

python3 examples/predict/web/check_page.py build/web [page.png]
"""

import functools
import http.server
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

EXPECTED = "ankle boot, in "  # the first picture of the test set


def main(folder: Path, picture: Path) -> int:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("check_page: neither chromium nor google-chrome is on PATH", file=sys.stderr)
        return 2
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory() as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", "--window-size=900,900", "--enable-logging=stderr"]
        command += ["--virtual-time-budget=20000", f"--screenshot={picture.resolve()}", "--dump-dom"]
        command += [f"http://127.0.0.1:{server.server_port}/index.html"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300)
        server.shutdown()
    said = [line.partition("CONSOLE")[2] for line in done.stderr.splitlines() if "CONSOLE" in line]
    status = done.stdout.partition('<p id="status">')[2].partition("</p>")[0]
    print(f"check_page: the page says {status!r}")
    for line in said:
        print(f"check_page: on the console: {line}")
    return 0 if EXPECTED in status and not said and picture.exists() else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "page.png")))
