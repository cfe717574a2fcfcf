# SPDX-License-Identifier: Apache-2.0
"""Writes the pictures of this folder, and what OpenCV makes of them. Needs opencv-python-headless and pillow.

A `.raw` file holds arrays one after the other, each `NAME HEIGHT WIDTH CHANNELS` on a line, then the bytes.
"""

import io
import pathlib

import cv2
import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
HEIGHT, WIDTH = 37, 45


def picture():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    noise = np.random.default_rng(7).normal(0, 12, (HEIGHT, WIDTH, 3))
    waves = np.stack([np.sin(x / 3) + np.cos(y / 5), np.sin((x + y) / 7), np.cos(x * y / 60)], 2)
    return np.clip(waves * 60 + 120 + noise, 0, 255).astype(np.uint8)


def write_raw(path, arrays):
    with open(path, "wb") as file:
        for name, array in arrays:
            array = array if array.ndim == 3 else array[:, :, None]
            file.write(f"{name} {array.shape[0]} {array.shape[1]} {array.shape[2]}\n".encode())
            file.write(np.ascontiguousarray(array).tobytes())


def rgb(array):
    return array[:, :, ::-1] if array.ndim == 3 and array.shape[2] == 3 else array


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "jpeg", **options)
    return out.getvalue()


def main():
    pixels = picture()
    image = Image.fromarray(pixels)
    files = {
        "420.jpg": jpeg(image, quality=85, subsampling=2),
        "422.jpg": jpeg(image, quality=90, subsampling=1),
        "444.jpg": jpeg(image, quality=95, subsampling=0),
        "progressive.jpg": jpeg(image, quality=80, progressive=True),
        "gray.jpg": jpeg(image.convert("L"), quality=90),
        "cmyk.jpg": jpeg(image.convert("CMYK"), quality=95),
    }
    for orientation in range(2, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        files[f"turned{orientation}.jpg"] = jpeg(image, quality=50, exif=exif)
    alpha = np.dstack([pixels, np.arange(pixels[:, :, 0].size).reshape(HEIGHT, WIDTH).astype(np.uint8)])
    for name, source, options in (
        ("rgb.png", image, {}),
        ("rgba.png", Image.fromarray(alpha), {}),
        ("gray.png", image.convert("L"), {}),
        ("bits1.png", image.convert("1"), {}),
        ("palette.png", image.quantize(16), {}),
        ("gray16.png", Image.fromarray(pixels[:, :, 0].astype(np.uint16) * 257), {}),
        ("rgb.bmp", image, {}),
        ("palette.bmp", image.quantize(200), {}),
        ("gray.bmp", image.convert("L"), {}),
    ):
        out = io.BytesIO()
        source.save(out, name.split(".")[1], **options)
        files[name] = out.getvalue()
    decoded = []
    for name, content in files.items():
        (HERE / name).write_bytes(content)
        for flag, color in ((cv2.IMREAD_COLOR, "rgb"), (cv2.IMREAD_GRAYSCALE, "gray")):
            decoded.append((f"{name}:{color}", rgb(cv2.imdecode(np.frombuffer(content, np.uint8), flag))))
    write_raw(HERE / "decoded.raw", decoded)
    sizes = ((17, 20), (61, 90), (20, 45), (12, 15), (60, 30))
    resized = [("source", pixels)]
    for method in range(5):
        for height, width in sizes:
            resized.append((f"{method}", cv2.resize(pixels, (width, height), interpolation=method)))
    write_raw(HERE / "resized.raw", resized)


if __name__ == "__main__":
    main()
