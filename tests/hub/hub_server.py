# SPDX-License-Identifier: Apache-2.0
"""A Hub on this machine for tests: a repository in memory, a second host that has the large files, and a list of things
that go wrong, each used once. It notes every request."""
import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse

COMMIT = "1234567890abcdef1234567890abcdef12345678"
LARGE = (".safetensors", ".bin", ".h5", ".msgpack", ".pt")


def git_digest(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def etag_of(name, data):
    return hashlib.sha256(data).hexdigest() if name.endswith(LARGE) else git_digest(data)


def listing_of(files, recursive):
    entries = [{"type": "directory", "path": "onnx", "size": 0, "oid": "0" * 40}]
    for name, data in files.items():
        if "/" in name and not recursive:
            continue
        entry = {"type": "file", "path": name, "size": len(data), "oid": git_digest(data)}
        if name.endswith(LARGE):
            entry["lfs"] = {"oid": etag_of(name, data), "size": len(data), "pointerSize": 130}
        entries.append(entry)
    return entries


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers for the hub that its subclass belongs to."""

    hub = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):  # huggingface_hub asks so before a file
        self.do_GET()

    def do_GET(self):
        host = self.headers["Host"].split(":")[0]
        self.hub.requests.append((host, self.path, dict(self.headers)))
        try:
            for fault in self.hub.faults:
                if fault(self, self.path):
                    if fault in self.hub.faults:  # the test may have gone on
                        self.hub.faults.remove(fault)
                    return
            self.answer(host)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, host):
        if host == "localhost":
            self.send_file(urllib.parse.unquote(self.path.removeprefix("/signed/").split("?")[0]))
        elif self.hub.token and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            self.send(401, b"{}", X_Error_Code="RepoNotFound")
        elif f"/{self.hub.repository}/" not in self.path:
            self.send(404, b"{}", X_Error_Code="RepoNotFound")
        elif match := re.fullmatch(rf"/api/models/{self.hub.repository}/revision/(.*)", self.path):
            commit = self.hub.revisions.get(match[1].replace("%2F", "/"))
            if commit:
                self.send(200, json.dumps({"id": self.hub.repository, "sha": commit, "siblings": [{"rfilename": name} for name in self.hub.files]}).encode())
            else:
                self.send(404, b"{}", X_Error_Code="RevisionNotFound")
        elif match := re.fullmatch(rf"/api/models/{self.hub.repository}/tree/{COMMIT}(\?.*)?", self.path):
            at = re.search(r"[?&]at=(\d+)", match[1] or "")
            self.send_listing(int(at[1]) if at else 0, "recursive=true" in (match[1] or ""))
        elif match := re.fullmatch(rf"/{self.hub.repository}/resolve/{COMMIT}/(.*)", self.path):
            name = urllib.parse.unquote(match[1])
            if name.endswith(LARGE):
                data = self.hub.files[name]
                self.send(302, b"moved", Location=f"{self.hub.elsewhere}/signed/{match[1]}?key=secret", X_Repo_Commit=COMMIT,
                          X_Linked_ETag=f'"{etag_of(name, data)}"', X_Linked_Size=str(len(data)))
            else:
                self.send_file(name)
        else:
            self.send(404, b"{}", X_Error_Code="EntryNotFound")

    def send_listing(self, at, recursive):
        entries = listing_of(self.hub.files, recursive) if self.hub.listing is None else self.hub.listing
        more = {}
        if isinstance(entries, list) and len(entries) > at + self.hub.page:
            more["Link"] = f'<{self.hub.endpoint}/api/models/{self.hub.repository}/tree/{COMMIT}?at={at + self.hub.page}{"&recursive=true" if recursive else ""}>; rel="next"'
        part = entries[at:at + self.hub.page] if isinstance(entries, list) else entries
        self.send(200, json.dumps(part).encode(), **more)

    def send_file(self, name, cut=None):
        data = self.hub.files[name]
        span = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(span[1]) if span and self.hub.ranges else 0
        if begin and begin >= len(data):
            self.send(416, b"", Content_Range=f"bytes */{len(data)}")
            return
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - begin))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{etag_of(name, data)}"')
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(data[begin:] if cut is None else data[begin:begin + cut])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True


class Hub:
    """`faults` are functions (handler, path) -> whether they answered; the first that does is removed."""

    def __init__(self, files, repository="org/model"):
        self.files, self.repository = dict(files), repository
        self.revisions = {"main": COMMIT, "refs/pr/1": COMMIT, COMMIT: COMMIT}
        self.listing = None  # instead of the true one
        self.faults = []
        self.requests = []  # (host, path, headers)
        self.token = None  # asked of whoever comes
        self.ranges = True
        self.page = 1000  # entries of a page of the listing
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("HubHandler", (Handler,), {"hub": self}))
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        # One server under two names: for whoever asks, they are two hosts.
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.elsewhere = f"http://localhost:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def paths(self, part=""):
        return [path for _, path, _ in self.requests if part in path]


def name_in(path):
    return path.split("/")[-1].split("?")[0]


def once(part, status, **headers):
    """The next request whose path has `part` is answered with `status`."""

    def fault(handler, path):
        if part in path:
            handler.send(status, b"no", **headers)
        return part in path

    return fault


def cut(part, after):
    """The next download of such a file ends after so many bytes."""

    def fault(handler, path):
        if part in path:
            handler.send_file(name_in(path), cut=after)
        return part in path

    return fault


def wait_until_gone(handler):
    """Says nothing until the other side has closed the connection."""
    try:
        handler.wfile.flush()
        handler.connection.recv(1)
    except OSError:
        pass
    handler.close_connection = True


def hold(part, after):
    """The next download of such a file stops after so many bytes, and the connection stays open."""

    def fault(handler, path):
        if part in path:
            handler.send_file(name_in(path), cut=after)
            wait_until_gone(handler)
        return part in path

    return fault


def stall(part, after):
    """The same with other bytes than the file's."""

    def fault(handler, path):
        if part in path:
            handler.send_response(200)
            handler.send_header("Content-Length", "300000")
            handler.end_headers()
            handler.wfile.write(b"x" * after)
            wait_until_gone(handler)
        return part in path

    return fault


def instead(part, body):
    """Other bytes than the file's, of any length."""

    def fault(handler, path):
        if part in path:
            handler.send(200, body)
        return part in path

    return fault


def endless(part, status, **headers):
    """A body without an end, until the other side has closed the connection."""

    def fault(handler, path):
        if part in path:
            handler.send(status, **{"Content_Length": str(1 << 50), **headers})
            handler.close_connection = True
            try:
                while True:
                    handler.wfile.write(bytes(1 << 16))
            except OSError:
                pass
        return part in path

    return fault


def trickle(part, status, head=False, **headers):
    """A body, or with `head` a head, of which a byte comes now and then, without an end."""

    def fault(handler, path):
        if part in path:
            handler.close_connection = True
            if head:
                handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            else:
                handler.send(status, **{"Content_Length": str(1 << 40), **headers})
            try:
                while True:
                    handler.wfile.write(b" ")
                    handler.wfile.flush()
                    time.sleep(0.05)
            except OSError:
                pass
        return part in path

    return fault


def redirect(part, location):
    def fault(handler, path):
        if part in path:
            handler.send(302, b"", Location=location)
        return part in path

    return fault
