#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up JUnit files: prints the failed tests and `N passed, N failed, N skipped`; exits with 1 on a failure."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in {"notrun", "disabled"}:
        return "skipped"
    return "passed"


def main() -> int:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in sys.argv[1:]:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            result = outcome(case)
            counts[result] += 1
            if result == "failed":
                print(f"failed: {case.get('classname')} {case.get('name')}")
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
