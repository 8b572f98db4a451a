# SPDX-License-Identifier: Apache-2.0
"""PyTorch imported from an environment that has its wheel and none of the CUDA libraries that the wheel is linked to: nothing of them is
called on a CPU, and together they are gigabytes. Empty libraries of the same names take their place.

    import cpu_torch  # first
    import torch
"""
import ctypes
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# The one name that is looked for when PyTorch is loaded: data, not a function.
SOURCE = "long nvshmem_selected_device_transport[8];\n"


def missing(folder):
    """Names of libraries that PyTorch's own need and nobody has."""
    libraries = [str(path) for path in folder.glob("libtorch*.so")]
    found = subprocess.run(["ldd", *libraries], capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"(\S+) => not found", found)))


def stand_in(name, folder):
    path = pathlib.Path(folder) / name
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path, f"-Wl,-soname,{name}"], input=SOURCE, text=True, check=True)
    ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def prepare():
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("no torch: scripts/setup installs it")
    names = missing(pathlib.Path(found.submodule_search_locations[0]) / "lib")
    if not names:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            stand_in(name, folder)
    # Functions of the missing libraries are looked for when they are called, which is never.
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    import torch  # noqa: F401

    sys.setdlopenflags(flags)


prepare()
