# SPDX-License-Identifier: Apache-2.0
"""What one knows of a scored token who sees it alone: the floor of the tables of masked tokens.

Of the tokens that are scored 80% show the mask, 10% a random token of the vocabulary, and 10% themselves (src/weft/data/masking.h). So one says the
commonest token where the mask stands, and repeats what else stands there, unless it is so rare that chance rather put it there.
"""
import math

MASK, RANDOM, ITSELF = 0.8, 0.1, 0.1


def restored(counts, vocabulary):
    """The share of scored tokens that the best rule restores. `counts`: how often each token is there, of `vocabulary` ids."""
    total, by_chance = sum(counts.values()), RANDOM / vocabulary
    most = max(counts.values()) / total
    repeated = sum(max((ITSELF + by_chance) * count / total, by_chance * most) for count in counts.values())
    return MASK * most + repeated + (vocabulary - len(counts)) * by_chance * most


def bits(counts, vocabulary):
    """Bits of a scored token, given what stands there: those of both, less those of what stands there."""
    total, by_chance, others = sum(counts.values()), RANDOM / vocabulary, vocabulary - 1
    shares = [count / total for count in counts.values()]
    both = sum(log_part(MASK * share) + log_part((ITSELF + by_chance) * share) + others * log_part(by_chance * share) for share in shares)
    shown = log_part(MASK) + sum(log_part(ITSELF * share + by_chance) for share in shares) + (vocabulary - len(shares)) * log_part(by_chance)
    return shown - both


def log_part(share):
    return share * math.log2(share)
