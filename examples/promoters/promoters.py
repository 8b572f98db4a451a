#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promoters against other sequences, five-fold: F1, sensitivity and specificity on records that no model of the fold saw, nor near copies of them.

Other sequences are a file, or made of the promoters (sequences.py). Three things learn from four fifths of the records and are scored on the rest:

    counts   naive Bayes over runs of letters, and over letters at their places; a logistic regression over words at their places (placed_words.py)
    model    a small encoder with random weights. Sequences become overlapping k-mers, as in DNABERT (Ji et al. 2021): k bases are one token, and the
             next begins --stride bases later. It learns from copies in which chance has changed letters (altered.py), other copies in each epoch, so
             that it cannot learn few records by heart, and sees the records as they are once at the end. Where negatives are made, it sees others in
             each epoch; those that are scored are made once. Figures are of its last step, so nothing is chosen by what is held out.
    joined   words at their places and runs of four letters (counted.py) and the model together (joined.py): what is held out is cut into parts, and
             two weights and a constant for a part are fitted on the other parts. F1, sensitivity, specificity, accuracy and Matthews are of this; `model`
             and the names of counts are the F1 of each alone.

The settings are the same for every organism. Without --epochs a model learns so many that it sees about 36,000 copies, 3 at least and 24 at most.

CNNProm (Umarov and Solovyev 2017) publishes sensitivity 0.95 and specificity 0.97 for the TATA promoters of Arabidopsis.

With --pretrain GENOME the encoder first restores masked runs of tokens of that genome, on either strand, and knows nothing of promoters then.

    examples/promoters/promoters.py --promoters tata.fa --others non_prom.fa --out promoters [--seed 0]
    examples/promoters/promoters.py --promoters human_tata.txt --made dinucleotides --out human
"""
import argparse
import contextlib
import itertools
import json
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import altered  # noqa: E402
import counted  # noqa: E402
import joined  # noqa: E402
import naive_bayes  # noqa: E402
import programs  # noqa: E402
import regions  # noqa: E402
import sequences  # noqa: E402

COMPLEMENT = sequences.COMPLEMENT
BAYES = (*(f"naive_bayes_{k}" for k in (2, 4, 6)), "letters_by_place")
WORDS = "words_by_place"
RECIPE = {"family": "star_transformer", "kmer": 5, "stride": 1, "layers": 2, "width": 128, "rate": 1e-3}
LAST_RATE = 0.2  # of the rate, where the records are shown as they are
PREDICTIONS = "predictions.jsonl"
FIRST, RUN = "first", "run"  # runs: what learned from copies, and what went on with the records as they are
COPIES, LEAST_EPOCHS, MOST_EPOCHS = 36000, 3, 24  # that a model sees, where no epochs are asked for
PRETRAINING = {"steps": 3000, "batch": 64, "length": 250, "rate": 1e-3, "positions": 512}
FIGURES = ("f1", "sensitivity", "specificity", "accuracy", "matthews", "model", WORDS, *BAYES)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=programs.ROOT / "build/release/bin/weft", help="the weft program")
    parser.add_argument("--promoters", type=pathlib.Path, required=True, help="FASTA, or a sequence a line")
    others = parser.add_mutually_exclusive_group(required=True)
    others.add_argument("--others", type=pathlib.Path, help="sequences that are no promoters, as the promoters are given")
    others.add_argument("--genome", type=pathlib.Path, help="FASTA: draw pieces that touch none of --regions, as many as there are promoters")
    others.add_argument("--made", choices=sorted(sequences.KINDS), help="make a negative of each promoter, parts of it drawn anew")
    parser.add_argument("--regions", type=pathlib.Path, help="BED of the promoters in --genome")
    parser.add_argument("--pretrain", type=pathlib.Path, help="FASTA: a genome whose masked tokens the encoder restores before it learns promoters")
    parser.add_argument("--rate", type=float, default=RECIPE["rate"], help="learning rate")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for tables, models, runs and results")
    parser.add_argument("--kmer", type=int, default=RECIPE["kmer"], help="bases a token")
    parser.add_argument("--stride", type=int, default=RECIPE["stride"], help="bases from one token to the next")
    parser.add_argument("--family", default=RECIPE["family"], help="of the encoder, as weft init names them")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epochs", type=int, help="of altered copies (default: by how many records there are)")
    parser.add_argument("--layers", type=int, default=RECIPE["layers"])
    parser.add_argument("--width", type=int, default=RECIPE["width"])
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    for name in ("epochs", "kmer", "stride"):
        if getattr(chosen, name) is not None and getattr(chosen, name) < 1:
            parser.error(f"--{name} must be 1 or more, found {getattr(chosen, name)}")
    return chosen


class Programs:
    """Runs `weft` where it stands; the tables of examples/science have a world in its place, which knows devices and limits."""

    def __init__(self, program):
        self.program = program

    @contextlib.contextmanager
    def making(self, path):
        """Whether `path` is missing."""
        yield not path.exists()

    def weft(self, *arguments):
        return programs.weft(self.program, *arguments)

    def trained(self, run, *flags):
        return programs.trained(self.program, run, *flags)


def kmers(bases, kmer, stride=1):
    return " ".join(bases[begin:begin + kmer] for begin in range(0, len(bases) - kmer + 1, stride))


def write_table(path, found, chosen):
    """SystemExit where the run beside it has learned from, or was scored on, other records: it could have learned what is now scored."""
    text = "text\tlabel\n" + "".join(f"{kmers(each.bases, chosen.kmer, chosen.stride)}\t{each.label}\n" for each in found)
    if path.exists() and path.with_name(FIRST).exists() and path.read_text() != text:
        raise SystemExit(f"promoters: the run beside {path} is of other records than those of today: give another folder (--out), or remove this one")
    path.write_text(text)
    return path


def shown(chosen, learned):
    """A copy of each record for each epoch. Of negatives that are made, the second epoch and those behind it have copies of others."""
    draw = random.Random(f"copies {chosen.seed}")
    promoters, found = [each for each in learned if each.label], []
    for number in range(chosen.epochs):
        records = learned
        if number and chosen.made:
            records = [*promoters, *(sequences.Example(sequences.redrawn(each.bases, chosen.made, draw), 0, each.group) for each in promoters)]
        found += [each._replace(bases=altered.copy_of(each.bases, draw)) for each in records]
    return found


def write_tokenizer(folder, kmer):
    """A WordPiece vocabulary whose words are all k-mers; one with other letters than A, C, G and T is unknown."""
    folder.mkdir(exist_ok=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = ["".join(letters) for letters in itertools.product("ACGT", repeat=kmer)]
    (folder / "vocab.txt").write_text("\n".join(special + words) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "tokenizer_class": "BertTokenizer"}))
    return folder


def genome_lines(genome, kmer, stride, length):
    """Lines of tokens that cover every chromosome of {name: bases} once, every second one on the other strand."""
    for bases in genome.values():
        for number, begin in enumerate(range(0, len(bases) - kmer + 1, length * stride)):
            piece = bases[begin:begin + (length - 1) * stride + kmer]
            yield kmers(piece[::-1].translate(COMPLEMENT) if number % 2 else piece, kmer, stride) + "\n"


def fresh(chosen, folder, positions, program):
    """A small encoder with random weights, over tokens of chosen.kmer bases."""
    with program.making(folder / "model"):
        folder.mkdir(parents=True, exist_ok=True)
        return programs.small_encoder(chosen, folder / "model", chosen.family, write_tokenizer(folder / "tokenizer", chosen.kmer), positions)


def pretrained(chosen, program):
    """The encoder after it restored masked runs of the genome, as DNABERT learns (a token alone stands in its neighbours)."""
    folder = chosen.pretraining
    model, text = fresh(chosen, folder, PRETRAINING["positions"], program), folder / "genome.txt"
    with program.making(text) as is_missing:
        if is_missing:
            part = text.with_suffix(".part")
            part.write_text("".join(genome_lines(regions.chromosomes(chosen.pretrain), chosen.kmer, chosen.stride, PRETRAINING["length"])))
            part.replace(text)
    run = folder / "run"
    program.trained(run, "--task", "mlm", "--model", model, "--train-text", text, "--context", PRETRAINING["length"], "--masking", "spans",
                    "--mask-probability", 0.15, "--learning-rate", PRETRAINING["rate"], "--batch-size", PRETRAINING["batch"],
                    "--steps", PRETRAINING["steps"], "--seed", chosen.seed)
    return run


def trained_figures(chosen, learned, scored, program=None):
    """A model that learned from the one, scored on the other. What it makes is in chosen.out; a run that was stopped goes on. With chosen.pretraining, a
    folder, it begins with what it learned of chosen.pretrain there."""
    program = program or Programs(chosen.weft)
    chosen.out.mkdir(parents=True, exist_ok=True)
    copies, records, held_out = (write_table(chosen.out / f"{name}.tsv", found, chosen)
                                 for name, found in (("copies", shown(chosen, learned)), ("learned", learned), ("scored", scored)))
    bases = max(len(each.bases) for each in (*learned, *scored))
    longest = 2 + bases
    if getattr(chosen, "pretraining", None):
        most = (PRETRAINING["positions"] - 3) * chosen.stride + chosen.kmer
        if bases > most:
            raise SystemExit(f"promoters: with --pretrain a sequence has at most {most} bases, found one of {bases}")
        model = pretrained(chosen, program)
    else:
        model = fresh(chosen, chosen.out, longest, program)
    first, run = chosen.out / FIRST, chosen.out / RUN
    for folder, begun, table, rate in ((first, model, copies, chosen.rate), (run, first, records, chosen.rate * LAST_RATE)):
        program.trained(folder, "--task", "classify", "--model", begun, "--train-data", table, "--learning-rate", rate, "--epochs", 1, "--seed", chosen.seed)
    found = program.weft("eval", run, "--task", "classify", "--data", held_out, "--predictions", chosen.out / PREDICTIONS)
    recall = {label["label"]: label["recall"] for label in found["labels"]}
    return {"f1": found["f1"], "sensitivity": recall["1"], "specificity": recall["0"], "accuracy": found["accuracy"], "matthews": found["matthews"]}


def joined_figures(chosen, learned, scored):
    """Figures of counts and of the model of chosen.out together, and the F1 of words at their places alone."""
    truth, together = [each.label for each in scored], counted.Counted(learned, chosen.seed)
    records = joined.scored_records(together, joined.model_odds(chosen.out / PREDICTIONS, len(scored)), scored)
    alone = naive_bayes.figures([together.both.words.predict(each.bases) for each in scored], truth)
    return naive_bayes.figures(joined.predicted(records, chosen.seed), truth) | {WORDS: alone["f1"]}


def bayes_figures(learned, scored):
    """F1 of naive Bayes over runs of 2, 4 and 6 letters, and over single letters at their places."""
    texts, labels, found = [each.bases for each in learned], [each.label for each in learned], {}
    for name in BAYES:
        bayes = naive_bayes.PlacedBayes(1, texts, labels) if name == BAYES[-1] else naive_bayes.NaiveBayes(int(name[-1]), texts, labels)
        found[name] = naive_bayes.figures([bayes.predict(each.bases) for each in scored], [each.label for each in scored])["f1"]
    return found


def table(folds):
    lines = ["| fold | " + " | ".join(FIGURES) + " |", "|" + "---|" * (len(FIGURES) + 1)]
    lines += [f"| {fold} | " + " | ".join(f"{found[name]:.4f}" for name in FIGURES) + " |" for fold, found in enumerate(folds)]
    means = (statistics.mean(found[name] for found in folds) for name in FIGURES)
    return "\n".join([*lines, "| mean | " + " | ".join(f"{mean:.4f}" for mean in means) + " |"]) + "\n"


def other_sequences(chosen, promoters):
    """The negatives that are given; None where they are made of the promoters."""
    if bool(chosen.genome) != bool(chosen.regions):
        raise SystemExit("promoters: --genome and --regions belong together: give both or neither")
    if chosen.genome:
        genome = regions.chromosomes(chosen.genome)
        return regions.outside(genome, regions.read_bed(chosen.regions, genome), max(map(len, promoters)), len(promoters), chosen.seed)
    return sequences.read(chosen.others) if chosen.others else None


def checked_folds(chosen, found):
    """The parts; SystemExit where a part cannot be scored."""
    if chosen.folds < 2:
        raise SystemExit(f"promoters: --folds must be 2 or more, found {chosen.folds}")
    parts = sequences.folds(found, chosen.folds, chosen.seed)
    for number, part in enumerate(parts):
        if {each.label for each in part} != {0, 1}:
            count, groups = sum(each.label for each in found), len({each.group for each in found})
            raise SystemExit(f"promoters: fold {number} of {chosen.folds} has not got both promoters and others: found {count} promoters and "
                             f"{len(found) - count} others in {groups} groups of near copies, which stay together; give fewer --folds or more sequences")
    return parts


def keep_settings(chosen):
    """Runs in --out go on, so that they must be of the same settings; SystemExit where they are of others. Each seed has folders of its own."""
    said = {name: str(value) for name, value in vars(chosen).items() if name not in ("weft", "out", "seed", "pretraining")}
    path = chosen.out / "settings.json"
    chosen.out.mkdir(parents=True, exist_ok=True)
    if path.exists() and json.loads(path.read_text()) != said:
        raise SystemExit(f"promoters: {chosen.out} has runs with other settings (settings.json): give another --out")
    path.write_text(json.dumps(said, indent=2) + "\n")


def epochs_for(records):
    """Few records are shown more often, so that the model takes enough steps; many are shown three times at least."""
    return min(MOST_EPOCHS, max(LEAST_EPOCHS, round(COPIES / records)))


def check_sequences(chosen, promoters, others):
    """SystemExit where a sequence is no token; notes of what would tell promoters from others, or no model can tell, on standard error."""
    for path, found in ((chosen.promoters, promoters), (chosen.others, others or [])):
        short = next((number for number, bases in enumerate(found, 1) if len(bases) < chosen.kmer), None)
        if short:
            raise SystemExit(f"promoters: {path} record {short} must have at least --kmer {chosen.kmer} letters, found {len(found[short - 1])}")
    if not others:
        return
    lengths = [sorted({len(bases) for bases in found}) for found in (promoters, others)]
    if lengths[0] != lengths[1]:
        said = (f"{each[0]} to {each[-1]}" if len(each) > 1 else str(each[0]) for each in lengths)
        print("promoters: note: promoters have {} letters, others {}: length may tell them apart; cut both alike".format(*said), file=sys.stderr)
    both = len(set(promoters) & set(others))
    if both:
        print(f"promoters: note: {both} sequences are among promoters and among others; no figure can be right about both", file=sys.stderr)


def main():
    chosen = options()
    promoters = sequences.read(chosen.promoters)
    others = other_sequences(chosen, promoters)
    check_sequences(chosen, promoters, others)
    parts = checked_folds(chosen, sequences.examples(promoters, others, chosen.made, chosen.seed))
    if chosen.epochs is None:
        chosen.epochs = epochs_for(sum(map(len, parts)) * (chosen.folds - 1) // chosen.folds)
    keep_settings(chosen)
    folds, out = [], chosen.out
    for fold, scored in enumerate(parts):
        learned = [each for number, part in enumerate(parts) if number != fold for each in part]
        chosen.out = out / f"fold-{chosen.seed}-{fold}"
        chosen.pretraining = out / f"pretraining-{chosen.seed}" if chosen.pretrain else None
        bayes, model = bayes_figures(learned, scored), trained_figures(chosen, learned, scored)
        folds.append(joined_figures(chosen, learned, scored) | {"model": model["f1"]} | bayes)
        print(json.dumps({"fold": fold} | folds[-1]), flush=True)
    (out / "results.json").write_text(json.dumps({"machine": programs.machine(), "folds": folds}, indent=2) + "\n")
    (out / "table.md").write_text(table(folds))
    print(table(folds))


if __name__ == "__main__":
    main()
