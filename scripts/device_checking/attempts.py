# SPDX-License-Identifier: Apache-2.0
"""What is said where something does not run: of ours it is a problem, which makes the check fail; of a rival it is "not run" with the reason. Nothing
here loads PyTorch."""
import importlib


def problem_of(error):
    """One line."""
    said = str(error).strip().splitlines() or ["no reason"]
    return f"{type(error).__name__}: {said[0][:300]}"


def attempt(say, line, work):
    """Says `line` with what `work` returns, or with why it did not: the next one is tried all the same."""
    try:
        say({**line, **work()})
    except Exception as error:  # noqa: BLE001: PyTorch has many classes of its own
        say({**line, "problem": problem_of(error)})


def of_rival(work):
    """(what `work` returns, None), or (None, "not run: ..."): what somebody else's code cannot do is no fault of ours."""
    try:
        return work(), None
    except Exception as error:  # noqa: BLE001: whatever it is, it is not ours
        return None, f"not run: {problem_of(error)}"


def absent(*names):
    """None, or "not run: ..." where one of these packages is not installed. One of ours that is there and does not load is an error."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            if name.startswith("weft") and getattr(error, "name", None) != name:
                raise
            return f"not run: {error}"
    return None
