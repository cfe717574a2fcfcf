# SPDX-License-Identifier: Apache-2.0
"""Asks the server for the classes of Fashion-MNIST's test images, by several connections at once.

python client.py PORT [--connections 16] [--images 2000] [--folder FOLDER]
"""

import argparse
import gzip
import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def ask(port, images):
    """The classes of these images, one after the other on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    classes = []
    for image in images:
        connection.request("POST", "/classify", body=image)
        response = connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"the server answers {response.status}: {answer['error']}")
        classes.append(answer["class"])
    connection.close()
    return classes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--folder", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    given = parser.parse_args()
    pixels = gzip.decompress((given.folder / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((given.folder / "t10k-labels-idx1-ubyte.gz").read_bytes())[8:][: given.images]
    images = [pixels[i * 784 : (i + 1) * 784] for i in range(given.images)]
    shares = [images[i :: given.connections] for i in range(given.connections)]
    begin = time.perf_counter()
    with ThreadPoolExecutor(given.connections) as pool:
        answers = list(pool.map(lambda share: ask(given.port, share), shares))
    seconds = time.perf_counter() - begin
    right = sum(
        c == k for i, part in enumerate(answers) for c, k in zip(part, labels[i :: given.connections])
    )
    print(f"accuracy {right / given.images:.3f}, {given.images / seconds:.0f} requests a second")
    connection = http.client.HTTPConnection("127.0.0.1", given.port)
    connection.request("GET", "/counts")
    print("of the server:", connection.getresponse().read().decode())


if __name__ == "__main__":
    main()
