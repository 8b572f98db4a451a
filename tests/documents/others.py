# SPDX-License-Identifier: Apache-2.0
"""others.py NAME ARGUMENTS...: what the documents call besides `weft`, as much of it as they use. `torchrun` and `mpirun` start processes on this
machine; `curl` asks the server that the document has just started, whose port is in WEFT_DOCUMENTS_PORT."""

import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request


def launch(count, command):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    shared = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
    started = [subprocess.Popen(command, env=os.environ | shared | {"RANK": str(rank)}) for rank in range(count)]
    return max(process.wait() for process in started)


def curl(words):
    """curl [-X METHOD] [--data TEXT] [-H HEADER] URL"""
    headers, method, data, address = {"Content-Type": "application/json"}, "GET", None, None
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word == "--data":
            data, method = words.pop(0).encode(), "POST"
        elif word == "-H":
            name, value = words.pop(0).split(": ", 1)
            headers[name] = value
        else:
            address = word
    path = re.sub(r"^(https?://)?[^/]*", "", address)
    request = urllib.request.Request(f"http://127.0.0.1:{os.environ['WEFT_DOCUMENTS_PORT']}{path}", data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            print(answer.read().decode())
    except urllib.error.HTTPError as error:
        sys.exit(f"curl: {error.code}: {error.read().decode()}")
    return 0


def main():
    name, *words = sys.argv[1:]
    if name == "curl":
        return curl(words)
    count = words.index("--nproc-per-node" if name == "torchrun" else "-np") + 1
    return launch(int(words[count]), words[words.index("weft"):])


if __name__ == "__main__":
    sys.exit(main())
