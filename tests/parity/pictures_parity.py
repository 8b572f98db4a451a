#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PNG files of Pillow, read and written by Weft, against Pillow's own reading.

`weft generate --image` keeps all rows but one of a picture and writes a PNG: what it kept has to be what Pillow reads in both files. Where Pillow is
not installed nothing is compared.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEFT = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
WIDTH, HEIGHT = 9, 6


def pictures(draw):
    """Name, channels, picture and how Pillow saves it."""
    def noise(mode, values=256):
        picture = Image.new(mode, (WIDTH, HEIGHT))
        size = WIDTH * HEIGHT
        picture.putdata([tuple(draw.randrange(256) for _ in range(3)) if mode == "RGB" else draw.randrange(values) for _ in range(size)])
        return picture

    for level in (0, 9):
        yield f"rgb, level {level}", 3, noise("RGB"), {"compress_level": level}
        yield f"grey, level {level}", 1, noise("L"), {"compress_level": level}
    yield "optimised", 3, noise("RGB"), {"optimize": True}
    for bits in (1, 2, 4, 8):
        paletted = noise("P", 1 << bits)
        paletted.putpalette([draw.randrange(256) for _ in range(3 << bits)])
        yield f"palette of {bits} bits", 3, paletted, {"bits": bits}
    yield "one bit", 1, noise("L").convert("1"), {}


def pixels(picture, channels):
    return picture.convert("RGB" if channels == 3 else "L").tobytes()


def main():
    draw = random.Random(4)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = {}
        for what, channels, picture, options in pictures(draw):
            read, written = folder / "read.png", folder / "written.png"
            picture.save(read, **options)
            if channels not in models:
                models[channels] = folder / f"model-{channels}"
                subprocess.run([WEFT, "train", "--train-images", read, "--position-embedding", "picture", "--attention", "window(9)", "--layers", "1",
                                "--width", "16", "--heads", "1", "--steps", "1", "--batch-size", "1", "--out", models[channels]], check=True,
                               stdout=subprocess.PIPE)
            subprocess.run([WEFT, "generate", models[channels], "--image", read, "--keep-rows", str(HEIGHT - 1), "--output", written], check=True,
                           stdout=subprocess.PIPE)
            kept = WIDTH * channels * (HEIGHT - 1)
            with Image.open(written) as made:
                same = made.size == picture.size and pixels(made, channels)[:kept] == pixels(picture, channels)[:kept]
            failed += not same
            print(f"{'ok' if same else 'FAILED'}: {what}")
    return 1 if failed else 0


try:
    from PIL import Image
except ImportError:
    print("Pillow is not installed: nothing compared")
    sys.exit(0)
sys.exit(main())
