# SPDX-License-Identifier: Apache-2.0
"""Small models that learn to find the furthest of n unit vectors, with full attention and with few edges: docs/theory/furthest-vector.md.

The models are layers of attention and feed-forward in PyTorch over weft_attention. They see unit vectors of WIDTH numbers in any order, each with a
tag, a random vector that says nothing of it, and give one for each; its nearest tag of the text is the answer. Without tags a model needs no attention:
it gives -u, and whoever looks for the nearest vector of the text does its work. `met` is the share of pairs that the graph lets meet in so many layers,
`chance` 1 / n; both need no training. Where `met` is small no weights can help, where it is 100% vectors have to pass through what a token can hold.

The recipe is one in which full attention learns the task with one layer and with more. The task has a plateau at chance: no value is of use before keys
are compared, and no comparison before values are tags. What makes it short, by trials of one seed each
at a rate of 2e-3: SCALE gives the numbers of the vectors a variance of 1 (one layer, 32 vectors, 750 steps: 91% right, without it 7%); BRANCH makes
each layer near to the identity at the beginning, so that tags come through all layers (two layers, 500 steps: 68%, without it 7%); vectors of 8
numbers in place of 16 (one layer, 128 vectors, 1,000 steps: 91%, with 16 chance). Of 128 vectors the recipe leaves the ring at chance (one seed).
"""
import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLAIM = "Whose tag does the furthest vector carry: full attention learns it with one layer and with more, graphs of few edges learn no more than they let meet."
FIGURE, BETTER, NEEDS, GROUP, APART = "right", "larger", [], "n", True
WIDTH, MODEL, HEADS, TOKENS, STEPS, RATE = 8, 64, 4, 512, 1000, 3e-3  # TOKENS: of all texts of a step
SCALE, BRANCH = WIDTH ** 0.5, 0.3
GRAPHS = {"full": "full", "window": "ring(8)", "global": "ring(8) | global(2)", "bigbird": "ring(8) | global(2) | random(4, seed=layer)"}


def cells():
    return [{"n": 32, "layers": layers, "graph": name} for layers in (1, 2, 4) for name in GRAPHS]


def met_share(pattern, count, layers, numpy):
    """The share of pairs (token, other token) that a path of at most `layers` edges joins."""
    import weft_attention
    reached = numpy.eye(count, dtype=bool)
    for layer in range(layers):
        edges = numpy.asarray(weft_attention.Pattern(pattern).to_dense(count, layer=layer))[0] > 0
        reached = reached | (edges.astype(numpy.float32) @ reached.astype(numpy.float32) > 0)
    return (reached.sum() - count) / (count * (count - 1))


def make_model(torch, pattern, layers):
    import weft_attention

    class Layer(torch.nn.Module):
        def __init__(self, number):
            super().__init__()
            self.number = number
            self.norm, self.after = torch.nn.LayerNorm(MODEL), torch.nn.LayerNorm(MODEL)
            self.project, self.join = torch.nn.Linear(MODEL, 3 * MODEL), torch.nn.Linear(MODEL, MODEL)
            self.feed_forward = torch.nn.Sequential(torch.nn.Linear(MODEL, 4 * MODEL), torch.nn.GELU(), torch.nn.Linear(4 * MODEL, MODEL))
            with torch.no_grad():
                self.join.weight *= BRANCH
                self.feed_forward[2].weight *= BRANCH
                for part in (self.project, self.join, self.feed_forward[2]):
                    part.bias.zero_()

        def forward(self, rows):
            query, key, value = self.project(self.norm(rows)).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
            mixed = weft_attention.attend(query, key, value, pattern, layer=self.number)
            rows = rows + self.join(mixed.transpose(1, 2).flatten(2))
            return rows + self.feed_forward(self.after(rows))

    return torch.nn.Sequential(torch.nn.Linear(2 * WIDTH, MODEL), *(Layer(number) for number in range(layers)), torch.nn.LayerNorm(MODEL),
                               torch.nn.Linear(MODEL, WIDTH))


def texts(torch, count, generator, batch):
    """(vectors and their tags [B, n, 2 d], which vector is the furthest from each [B, n])"""
    vectors, tags = torch.nn.functional.normalize(torch.randn(2, batch, count, WIDTH, generator=generator), dim=3)
    return torch.cat([vectors, tags], dim=2), (vectors @ vectors.transpose(1, 2)).argmin(dim=2)


def scores(found, rows):
    """Of each answer against the tags."""
    return 8 * found @ rows[..., WIDTH:].transpose(1, 2)


def run(cell, seed, world):
    sys.path += [str(pathlib.Path(world.weft_program).parent.parent / "python"), str(ROOT / "tests/python")]
    importlib.import_module("cpu_torch")  # the PyTorch of .venv needs its help
    torch, numpy = importlib.import_module("torch"), importlib.import_module("numpy")
    torch.set_num_threads(world.threads)
    torch.manual_seed(seed)
    pattern, count = GRAPHS[cell["graph"]], cell["n"]
    model, generator = make_model(torch, pattern, cell["layers"]), torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(10 * (step + 1) / STEPS, 1, 2 - 2 * step / STEPS))
    for _ in range(STEPS):
        rows, wanted = texts(torch, count, generator, TOKENS // count)
        loss = torch.nn.functional.cross_entropy(scores(model(SCALE * rows), rows).flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        rows, wanted = texts(torch, count, torch.Generator().manual_seed(1_000_000 + seed), 64)
        right = (scores(model(SCALE * rows), rows).argmax(dim=2) == wanted).double().mean().item()
    return {"right": 100 * right, "met": 100 * float(met_share(pattern, count, cell["layers"], numpy)), "chance": 100 / count}
