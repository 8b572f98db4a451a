# SPDX-License-Identifier: Apache-2.0
"""What the tables write for a program to read: a row or a text a line."""
import json


def json_lines(rows):
    """A row a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def text_lines(texts):
    """A text a line, with single blanks between its words."""
    return "".join(" ".join(text.split()) + "\n" for text in texts)
