# SPDX-License-Identifier: Apache-2.0
# The compiled module over libweft. Arrays go out as objects that NumPy and PyTorch both read: numpy.asarray(x), torch.from_dlpack(x).

from collections.abc import Callable, Sequence

version: str
torch: str  # the version of PyTorch that it was compiled with

def train(settings: str) -> str:
    """`weft train` by a JSON object: out, task, config, tokenizer, seeds, resume, and fields. JSON, as --json prints it."""

def profile(model: str, settings: str) -> str:
    """`weft profile` of a directory or a name of the Hub, by a JSON object of fields; "" for a model where shards are joined."""

def propose(profile: str, settings: str) -> str:
    """`weft propose` of a file, by a JSON object of fields. Both give JSON, as --json prints it."""

class Model:
    """A model directory, or a name of the Hub, and its tasks. Settings are a JSON object of fields; results are JSON, a
    list of {"result", "metadata"} as the command prints them."""

    def __init__(self, name: str, settings: str) -> None: ...
    @property
    def family(self) -> str: ...
    @property
    def path(self) -> str: ...
    def run(self, task: str, texts: Sequence[str], seconds: Sequence[str] | None, settings: str) -> str:
        """`seconds` are second texts of pairs."""

    def write(self, task: str, texts: Sequence[str], settings: str, on_text: Callable) -> str:
        """The same for one text, whose pieces `on_text` is given as they come; False ends it."""

    def vectors(self, task: str, texts: Sequence[str], settings: str) -> tuple:
        """([array], metadata): of `embed` one [texts, width], of `encode` a [tokens, width] for each text."""
