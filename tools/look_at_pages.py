#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens every page of the built documentation in headless Chromium; writes a picture of the first page of each section.

    python tools/look_at_pages.py build/docs build/pages

Fails if a page writes anything to the console: an error of a script, or a file that is not there.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOCTREE = re.compile(r"```{toctree}\n:caption: (\w+)\n(?::.*\n)*\n(\S+)")


def open_page(browser, page, picture):
    """Opens a page and takes its picture; what it wrote to the console."""
    with tempfile.TemporaryDirectory() as profile:  # two at once would share the usual one
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", "--window-size=1400,1000", "--enable-logging=stderr"]
        command += [f"--screenshot={picture}", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    said = [line.partition("CONSOLE")[2] for line in done.stderr.splitlines() if "CONSOLE" in line]
    return said if picture.exists() else [*said, f"no picture, exit code {done.returncode}"]


def main(site, pictures):
    """The exit status."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("look_at_pages: neither chromium nor google-chrome is on PATH", file=sys.stderr)
        return 2
    site, pictures = site.resolve(), pictures.resolve()
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    sections = {"index.html": "home"}
    for caption, first in TOCTREE.findall((ROOT / "docs/index.md").read_text(encoding="utf-8")):
        sections[f"{first}.html"] = caption.lower()
    pages = sorted(site.rglob("*.html"))
    missing = sections.keys() - {page.relative_to(site).as_posix() for page in pages}
    failed = [f"{name} is not in {site}" for name in sorted(missing)]
    with (
        tempfile.TemporaryDirectory() as others,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):

        def look(numbered):
            number, page = numbered
            name = page.relative_to(site).as_posix()
            kept = (
                pictures / f"{sections[name]}.png"
                if name in sections
                else pathlib.Path(others, f"{number}.png")
            )
            return [f"{name}: {line}" for line in open_page(browser, page, kept)]

        for lines in pool.map(look, enumerate(pages)):
            failed += lines
    for line in failed:
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages, {len(failed)} faults; pictures are in {pictures}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:3])))
