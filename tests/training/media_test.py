# SPDX-License-Identifier: Apache-2.0
"""Pictures and sound as data: `weft train`, `weft eval` and `weft generate --image`, CIFAR's files, and what they refuse."""

import gzip
import json
import math
import pathlib
import struct
import sys
import unittest
import wave
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from weft_program import TINY, Case, losses, weft, weft_json  # noqa: E402

HEIGHT, WIDTH = 4, 5
PATTERN = "heads(causal & window(left=14), causal & stride(15))"


def pixels(number, height=HEIGHT):
    """Rows of a picture that gets brighter to the right and downwards."""
    return [bytes((number * 5 + row * 20 + column * 10 + channel * 60) % 256 for column in range(WIDTH) for channel in range(3))
            for row in range(height)]


def png_chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(rows):
    header = struct.pack(">IIBBBBB", WIDTH, len(rows), 8, 2, 0, 0, 0)
    raster = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(raster)) + png_chunk(b"IEND", b""))


def ppm(rows):
    return b"P6 %d %d 255\n" % (WIDTH, len(rows)) + b"".join(rows)


class MediaCase(Case):
    def setUp(self):
        super().setUp()
        self.pictures = self.folder / "pictures"
        self.pictures.mkdir()
        for number in range(12):
            write, ending = (png, "png") if number % 2 == 0 else (ppm, "ppm")
            (self.pictures / f"{number:02}.{ending}").write_bytes(write(pixels(number)))
        (self.pictures / "labels.txt").write_text("no picture")
        self.held_out_picture = self.folder / "held-out.png"
        self.held_out_picture.write_bytes(png(pixels(20)))

    def write_sound(self, path, count, channels=1):
        samples = [int(12000 * math.sin(i // channels / 5)) for i in range(count * channels)]
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
        return path

    def train_pictures(self, *more, out=None):
        return weft("train", "--train-images", self.pictures, *without_context(TINY), "--attention", PATTERN, "--position-embedding",
                    "picture", "--initialization", "fan_in", "--no-tie-word-embeddings", "--hidden-act", "quick_gelu",
                    "--out", out or self.run_directory, *more)


def without_context(arguments):
    arguments = list(arguments)
    at = arguments.index("--context")
    return arguments[:at] + arguments[at + 2:]


class PicturesTest(MediaCase):
    def test_from_pictures_to_a_completed_picture(self):
        process = self.train_pictures("--steps", "6", "--eval-images", self.held_out_picture)
        self.assertEqual(process.returncode, 0, process.stderr)
        for part in ("4 rows, 5 columns, 3 channels", "12 files", "1 file of the folders", "labels.txt", "257 ids", "windows of 60"):
            self.assertIn(part, process.stderr)
        config = json.loads((self.run_directory / "config.json").read_text())
        self.assertEqual((config["picture_shape"], config["vocab_size"], config["max_position_embeddings"]), ([4, 5, 3], 257, 60))
        steps = losses(self.run_directory)
        self.assertAlmostEqual(steps[0][1], math.log(257), places=4)  # the head begins with 0
        self.assertLess(steps[-1][1], steps[0][1])
        found = weft_json("eval", self.run_directory, "--images", self.pictures, self.held_out_picture)
        self.assertEqual((found["pictures"], found["bytes"], found["context"]), (13, 13 * 60, 60))
        self.assertAlmostEqual(math.log2(found["perplexity"]), found["bits_per_byte"], places=9)
        self.assertEqual(weft_json("eval", self.run_directory, "--images", self.pictures, "--max-bytes", "61")["pictures"], 2)
        self.assertIn("or per dim", weft("eval", self.run_directory, "--images", self.held_out_picture).stdout)

        whole = self.folder / "whole.png"
        made = weft_json("generate", self.run_directory, "--image", self.held_out_picture, "--keep-rows", "3", "--output", whole)
        self.assertEqual((made["rows_kept"], made["new_bytes"]), (3, 15))
        self.assertIn(made["dtype"], ("float32", "bfloat16"))
        self.check_rows(whole, 3)
        first = whole.read_bytes()
        weft_json("generate", self.run_directory, "--image", self.held_out_picture, "--keep-rows", "3", "--output", whole)
        self.assertEqual(whole.read_bytes(), first)  # the seed says which
        weft_json("generate", self.run_directory, "--image", self.held_out_picture, "--output", whole, "--num-beams", "2")
        self.check_rows(whole, 2)
        self.assertEqual(weft_json("generate", self.run_directory, "--keep-rows", "0", "--output", whole)["new_bytes"], 60)
        self.assertEqual(weft("eval", self.run_directory, "--images", whole).returncode, 0)
        weft_json("generate", self.run_directory, "--image", self.held_out_picture, "--keep-rows", "4", "--output", whole)
        self.check_rows(whole, 4)
        self.refuse_what_does_not_fit(whole)

    def check_rows(self, file, count):
        """The first rows of a PNG without a filter or with one are those of the held-out picture: a model's own reader tells."""
        data, at, packed = file.read_bytes(), 8, b""
        while at < len(data):
            (length,) = struct.unpack(">I", data[at:at + 4])
            packed += data[at + 8:at + 8 + length] if data[at + 4:at + 8] == b"IDAT" else b""
            at += 12 + length
        raster, before = zlib.decompress(packed), bytes(3 * WIDTH)
        self.assertEqual(len(raster), HEIGHT * (3 * WIDTH + 1))
        for row in range(count):
            line = raster[row * (3 * WIDTH + 1):(row + 1) * (3 * WIDTH + 1)]
            before = unfilter(line[0], line[1:], before)
            self.assertEqual(before, pixels(20)[row], row)

    def refuse_what_does_not_fit(self, whole):
        before = whole.read_bytes()
        tall = self.folder / "tall.png"
        tall.write_bytes(png(pixels(1, 9)))
        generate = ["generate", self.run_directory]
        self.assert_fails(weft(*generate, "--image", tall, "--output", whole), 1, "tall.png", "4 x 5 x 3", "9 rows")
        self.assert_fails(weft(*generate, "--image", self.held_out_picture), 2, "--output")
        self.assert_fails(weft(*generate, "--keep-rows", "2", "--output", whole), 2, "--image")
        self.assert_fails(weft(*generate, "--keep-rows", "5", "--image", self.held_out_picture, "--output", whole), 1, "at most 4", "found 5")
        self.assert_fails(weft(*generate, "--keep-rows", "0", "--output", whole, "--max-new-tokens", "3"), 2, "--max-new-tokens")
        self.assert_fails(weft(*generate, "--prompt", "text"), 1, "model of pictures", "--image")
        self.assert_fails(weft("eval", self.run_directory, "--text", self.held_out), 1, "--images")
        self.assert_fails(weft("eval", self.run_directory, "--images", tall), 1, "--images", "4 x 5 x 3", "9 rows")
        self.assert_fails(weft("eval", self.run_directory, "--images", tall, "--text", self.held_out), 2, "found several")
        self.assertEqual(whole.read_bytes(), before)

    def test_a_resumed_run_goes_on_with_the_same_pictures(self):
        whole = self.folder / "whole"
        self.assertEqual(self.train_pictures("--steps", "6", out=whole).returncode, 0)
        self.assertEqual(self.train_pictures("--steps", "3", "--schedule", "constant", "--warmup-ratio", "0").returncode, 0)
        resumed = weft("train", "--resume", "--out", self.run_directory, "--steps", "6")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        straight = self.folder / "straight"
        self.assertEqual(self.train_pictures("--steps", "6", "--schedule", "constant", "--warmup-ratio", "0", out=straight).returncode, 0)
        self.assertEqual(losses(self.run_directory), losses(straight))
        (self.pictures / "00.png").write_bytes(png(pixels(77)))
        changed = weft("train", "--resume", "--out", self.run_directory, "--steps", "8")
        self.assert_fails(changed, 1, "train_images", "not those of")

    def test_what_is_wrong_with_pictures_is_one_line(self):
        def refused(code, *parts):
            self.assert_fails(self.train_pictures("--steps", "1"), code, *parts)
            self.assertFalse(self.run_directory.exists())

        last = self.pictures / "99.png"
        last.write_bytes(png(pixels(1, 3)))
        refused(1, "99.png", "expected 4 rows", "00.png", "found 3 rows", "hint: ")
        last.write_bytes(png(pixels(1))[:-20])
        refused(1, "99.png", "cut off")
        last.unlink()
        self.assert_fails(self.train_pictures("--steps", "1", "--context", "64"), 2, "--context", "60 bytes")
        self.assert_fails(self.train_pictures("--steps", "1", "--encoder"), 2, "picture")
        self.assert_fails(self.train_pictures("--steps", "1", "--train-text", self.train_text), 2, "--train-text", "--train-images")
        self.assert_fails(self.train_pictures("--steps", "1", "--eval-text", self.train_text), 2, "--eval-text")
        self.assert_fails(weft("train", "--train-images", self.folder / "none", "--steps", "1", "--out", self.run_directory), 1, "none")


def unfilter(kind, line, above):
    """A row of PNG without its filter (section 9 of the specification)."""
    row = bytearray(line)
    for i in range(len(row)):
        left, up, corner = row[i - 3] if i >= 3 else 0, above[i], above[i - 3] if i >= 3 else 0
        estimate = left + up - corner
        paeth = min((abs(estimate - left), 0, left), (abs(estimate - up), 1, up), (abs(estimate - corner), 2, corner))[2]
        row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) % 256
    return bytes(row)


def cifar_picture(number):
    """32 x 32 x 3 bytes in raster order, the channels of a pixel side by side."""
    return bytes((row * 5 + column * 3 + channel * 60 + number * 17) % 256
                 for row in range(32) for column in range(32) for channel in range(3))


def cifar(pictures, labels):
    """Records of labels and three planes."""
    return b"".join(bytes(labels) + each[0::3] + each[1::3] + each[2::3] for each in pictures)


def png_bytes(data, stride):
    """The bytes of a PNG's pixels, in raster order."""
    at, packed, rows = 8, b"", []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        packed += data[at + 8:at + 8 + length] if data[at + 4:at + 8] == b"IDAT" else b""
        at += 12 + length
    raster = zlib.decompress(packed)
    for begin in range(0, len(raster), stride + 1):
        rows.append(unfilter(raster[begin], raster[begin + 1:begin + 1 + stride], rows[-1] if rows else bytes(stride)))
    return b"".join(rows)


class CifarTest(MediaCase):
    MODEL = [*without_context(TINY), "--attention", "heads(causal & window(left=95), causal & stride(96))", "--position-embedding", "picture"]

    def test_a_model_of_cifar_completes_a_picture(self):
        pictures = [cifar_picture(number) for number in range(4)]
        batch = self.folder / "data_batch_1.bin"
        batch.write_bytes(cifar(pictures, [3]))
        done = weft_json("train", "--train-images", batch, "--eval-images", batch, *self.MODEL, "--steps", "2", "--out", self.run_directory)
        self.assertEqual(done["steps"], 2)
        config = json.loads((self.run_directory / "config.json").read_text())
        self.assertEqual((config["picture_shape"], config["max_position_embeddings"]), ([32, 32, 3], 3072))
        found = weft_json("eval", self.run_directory, "--images", batch)
        self.assertEqual((found["pictures"], found["bytes"]), (4, 4 * 3072))
        self.assertTrue(0 < found["bits_per_byte"] < 10)

        one, completed = self.folder / "one.bin", self.folder / "completed.png"
        one.write_bytes(cifar([cifar_picture(9)], [0]))
        made = weft_json("generate", self.run_directory, "--image", one, "--keep-rows", "31", "--output", completed, "--seed", "1")
        self.assertEqual((made["rows_kept"], made["new_bytes"]), (31, 96))
        found_bytes = png_bytes(completed.read_bytes(), 96)
        self.assertEqual(len(found_bytes), 3072)
        self.assertEqual(found_bytes[:31 * 96], cifar_picture(9)[:31 * 96])
        several = weft("generate", self.run_directory, "--image", batch, "--output", completed)
        self.assert_fails(several, 1, "--image", "one picture", "found 4")

        for name, content in (("train.bin", cifar(pictures, [19, 99])), ("test_batch.bin.gz", gzip.compress(batch.read_bytes()))):
            (self.folder / name).write_bytes(content)
            again = weft_json("eval", self.run_directory, "--images", self.folder / name)
            self.assertEqual(again["bits_per_byte"], found["bits_per_byte"], name)

    def test_a_file_of_neither_is_refused(self):
        odd = self.folder / "odd.bin"
        odd.write_bytes(bytes(5000))
        refused = weft("train", "--train-images", odd, *self.MODEL, "--steps", "1", "--out", self.run_directory)
        self.assert_fails(refused, 1, "odd.bin", "3073", "3074", "found 5000")


def wav(samples, tag, bits):
    return (b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " +
            struct.pack("<IHHIIHH", 16, tag, 1, 8000, 8000 * bits // 8, bits // 8, bits) + b"data" +
            struct.pack("<I", len(samples)) + samples)


class SoundTest(MediaCase):
    def test_mu_law_is_read_as_the_same_sound(self):
        # Code words of G.711 and the samples of 16 bits that its table gives them.
        table = {0x80: 32124, 0x90: 15996, 0xAF: 4092, 0xCF: 924, 0xEF: 132, 0xFF: 0, 0x7E: -8, 0x4F: -924, 0x00: -32124}
        codes = [sorted(table)[int(len(table) * (0.5 + 0.49 * math.sin(i / 7)))] for i in range(900)]
        telephone, studio, packed = self.folder / "telephone.wav", self.folder / "studio.wav", self.folder / "packed.wav.gz"
        telephone.write_bytes(wav(bytes(codes), 7, 8))
        studio.write_bytes(wav(b"".join(struct.pack("<h", table[code]) for code in codes), 1, 16))
        packed.write_bytes(gzip.compress(telephone.read_bytes()))
        done = weft("train", "--train-audio", telephone, *TINY, "--attention", "strided(8)", "--steps", "3", "--out", self.run_directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        bits = [weft_json("eval", self.run_directory, "--audio", path)["bits_per_byte"] for path in (telephone, studio, packed)]
        self.assertEqual(bits[0], bits[1])
        self.assertEqual(bits[0], bits[2])

    def test_sound_is_learned_and_scored_as_bytes(self):
        sound = self.write_sound(self.folder / "sine.wav", 3000)
        arguments = ["train", "--train-audio", sound, *TINY, "--attention", "window(left=16)", "--steps", "4", "--out", self.run_directory]
        process = weft(*arguments, "--eval-audio", sound, "--max-eval-bytes", "500")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("8,000 samples a second", process.stderr)
        found = weft_json("eval", self.run_directory, "--audio", sound)
        self.assertEqual(set(found), {"bits_per_byte", "perplexity", "bytes", "tokens", "context", "dtype", "seconds"})
        self.assertEqual(found["bytes"], 2999)
        stereo = self.write_sound(self.folder / "stereo.wav", 3000, channels=2)
        self.assert_fails(weft("eval", self.run_directory, "--audio", stereo), 1, "stereo.wav", "one channel", "found 2", "--audio-channel")
        first = weft_json("eval", self.run_directory, "--audio", stereo, "--audio-channel", "first")
        self.assertEqual(first["bits_per_byte"], found["bits_per_byte"])
        self.assert_fails(weft("eval", self.run_directory, "--audio", self.held_out), 1, "held-out.txt", "RIFF")


if __name__ == "__main__":
    unittest.main()
