#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One file of each compiled module serves CPython 3.10 and all after it: what it asks of Python is in the limited API of 3.10, and so in each later
version. The list of that API, with the version that each name came in, is the package abi3info."""
import os
import pathlib
import subprocess
import unittest

from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion, Symbol

BUILT = pathlib.Path(os.environ["WEFT_BINARY"]).parent.parent / "python"
OLDEST = PyVersion(3, 10)


def asked_of_python(library):
    """The names of Python that a library leaves to the process that loads it."""
    found = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    names = (line.split()[-1].split("@")[0] for line in found.splitlines())
    return sorted(name for name in names if name.startswith(("Py", "_Py")))


def added_in(name):
    """The version whose limited API has the name first, or None."""
    known = FUNCTIONS.get(Symbol(name)) or DATAS.get(Symbol(name))
    return known.added if known else None


class AbiTest(unittest.TestCase):
    def test_modules_use_the_limited_api(self):
        modules = sorted(BUILT.glob("*/*.abi3.so"))
        self.assertIn("_core.abi3.so", [module.name for module in modules])
        for module in modules:
            asked = asked_of_python(module)
            self.assertGreater(len(asked), 10, module)
            wrong = [f"{module.name} uses {name}, which the limited API has {'from ' + str(added) if added else 'not at all'}"
                     for name, added in ((name, added_in(name)) for name in asked) if added is None or added > OLDEST]  # fmt: skip
            self.assertEqual(wrong, [], "\n".join(wrong))

    def test_other_libraries_know_nothing_of_python(self):
        libraries = sorted(BUILT.glob("*/lib/*.so*"))
        self.assertIn("libweft_operators.so", [library.name for library in libraries])
        self.assertEqual([(library.name, asked_of_python(library)) for library in libraries if asked_of_python(library)], [])

    def test_the_list_knows_what_is_new_and_what_is_private(self):
        self.assertEqual(added_in("PyObject_Vectorcall"), PyVersion(3, 12))
        self.assertEqual(added_in("PyUnicode_AsUTF8AndSize"), OLDEST)
        self.assertIsNone(added_in("_PyUnicode_AsString"))


if __name__ == "__main__":
    unittest.main()
