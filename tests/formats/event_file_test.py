# SPDX-License-Identifier: Apache-2.0
"""Event files written by Weft, read by TensorBoard itself: values, a resumed run, and a record torn by a crash."""
import math
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    print("skipped: this Python has no tensorboard (scripts/setup installs it into .venv)")
    sys.exit(0)


def write_events(directory):
    binary = pathlib.Path(os.environ["WEFT_BINARY"]).with_name("test_formats")
    subprocess.run([binary, "--gtest_filter=EventFile.ForTensorBoard"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "WEFT_TEST_OUT": directory})


def main():
    with tempfile.TemporaryDirectory() as directory:
        write_events(directory)
        accumulator = EventAccumulator(directory)
        accumulator.Reload()
        assert sorted(accumulator.Tags()["scalars"]) == ["größe", "train/loss"], accumulator.Tags()
        losses = {event.step: event.value for event in accumulator.Scalars("train/loss")}
        # Steps 6 to 10 of the first session are gone: the run resumed at 6. Step 9 of the second is the torn record.
        expected = {step: 10 / step for step in range(1, 6)} | {step: 100 + step for step in (6, 7, 8)}
        assert losses.keys() == expected.keys(), losses
        assert all(math.isclose(losses[step], expected[step], rel_tol=1e-6) for step in expected), losses
        times = [event.wall_time for event in accumulator.Scalars("train/loss")]
        assert times[0] == 1.7e9 + 1 and times[-1] == 1.7e9 + 108, times
    print("TensorBoard reads the event files")


if __name__ == "__main__":
    main()
