# SPDX-License-Identifier: Apache-2.0
"""`weft serve` under clients that are slow, silent, too many, gone in the middle, or at work when the server is told to stop."""

import http.client
import json
import pathlib
import re
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server, read_all, request, sized  # noqa: E402
from weft_program import Case  # noqa: E402

GOOD = json.dumps({"text": "a man", "target_lang": "de"}).encode()
POST = request(head=sized(GOOD), body=GOOD)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SHORT = ["--body-seconds", "2", "--header-seconds", "2"]
MANY = 10_000
RESET = struct.pack("ii", 1, 0)  # closes without a word of farewell


def resident(server, field="VmRSS"):
    """Bytes of memory that the server has, or had at most (VmHWM)."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+) kB", status, re.M)[1]) << 10


def descriptors(server):
    return len(list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()))


def gauge(server, name):
    return int(re.search(rf"^{name} (\d+)$", server.ask("GET", "/metrics")[1], re.M)[1])


class LoadTest(Case):
    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        return server

    def translator(self, *arguments):
        server = self.serve(make_marian(self.folder / "marian"), *arguments)
        self.wanted = server.ask("POST", "/translate", GOOD)[1]
        return server

    def decoder(self, *arguments):
        self.train("--steps", "1")
        return self.serve(f"books={self.run_directory}", *arguments)

    def until_others_left(self, server, held=0):
        """Connections end a moment behind their last answer: those that are held are left, and the one that asks."""
        while (found := gauge(server, "weft_connections")) != held + 1:
            self.assertGreater(found, held)
            time.sleep(0.01)

    def check(self, server):
        self.assertEqual(server.ask("POST", "/translate", GOOD)[1], self.wanted)

    def test_silence_and_trickles(self):
        """Nothing, half a head, half a body, or a byte now and then: the time is that of the whole, and others are served meanwhile."""
        server = self.translator("--max-connections", "64", *SHORT)
        silent = [server.connect() for _ in range(100)]  # more than there is room for
        self.assertEqual(server.ask("GET", "/health")[1], {"status": "ok"})
        trickling = []
        for data in (b"POST /translate HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 900, request(head=b"Content-Length: 5000\r\n", body=b" " * 5000),
                     request(head=CHUNKED, body=b"1\r\n \r\n" * 900)):
            for _ in range(3):
                client = server.connect()
                client.settimeout(0.02)
                trickling.append([client, data, 0])
        while trickling:  # the server ends each; the test run's own limit ends what never comes
            for one in list(trickling):
                client, data, at = one
                self.assertLess(at, len(data), "the server took all of it")
                try:
                    client.sendall(data[at:at + 1] if at else data[:40])
                    one[2] += 1 if at else 40
                    ended = select.select([client], [], [], 0)[0] and client.recv(1000) == b""
                except OSError:
                    ended = True
                if ended:
                    client.close()
                    trickling.remove(one)
            self.check(server)
            time.sleep(0.05)
        for client in silent:
            self.assertEqual(read_all(client), "", "the server ended the connection")
            client.close()
        self.until_others_left(server)
        self.assertEqual(server.stop(), (0, ""))

    def test_bodies_without_an_end(self):
        """Gigabytes that are announced, or never end: refused early, and never held in memory."""
        server = self.translator(*SHORT)
        before = resident(server, "VmHWM")
        piece = b"x" * (1 << 16)
        for head, wrap, count in ((b"Content-Length: 2147483648\r\n", piece, 50), (b"Content-Length: 9223372036854775807\r\n", piece, 50),
                                  (CHUNKED, b"10000\r\n" + piece + b"\r\n", 50), (CHUNKED, b"1\r\nx\r\n" * 10000, 90)):
            with server.connect() as client:
                client.sendall(request(head=head))
                sent = 0
                try:
                    while sent < 2 << 30:
                        client.sendall(wrap)
                        sent += len(wrap)
                except OSError:
                    pass
                self.assertLess(sent, 1 << 28, "the server did not end the connection")
            self.assertIn("max_body_bytes", server.send(request(head=head, body=wrap * count)))
        self.check(server)
        self.assertLess(resident(server, "VmHWM") - before, 64 << 20)
        self.assertEqual(server.stop(), (0, ""))

    def many_clients(self, server):
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        for _ in range(MANY):
            clients.append(server.connect())
        return clients

    def test_ten_thousand_idle_connections(self):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < MANY + 1000:
            self.skipTest(f"a process may have {hard} files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        # There is room for all of them: they are kept, they cost little, and others are answered.
        server = self.translator("--max-connections", str(MANY + 100))
        before = resident(server)
        clients = self.many_clients(server)
        self.check(server)
        self.until_others_left(server, held=MANY)
        self.assertLess((resident(server) - before) / MANY, 20_000, "bytes for a connection that does nothing")
        for client in clients[::1000]:  # they are alive
            client.sendall(request("/health", method=b"GET", head=b"Connection: close\r\n"))
            self.assertIn('{"status":"ok"}', read_all(client))
        for client in clients:
            client.close()
        self.until_others_left(server)
        self.assertEqual(server.stop(), (0, ""))
        # There is room for few: the oldest idle ones make room.
        server = self.serve(self.folder / "marian", "--max-connections", "100")
        files = descriptors(server)
        clients = self.many_clients(server)
        self.check(server)
        self.assertLessEqual(gauge(server, "weft_connections"), 100)
        self.assertLess(descriptors(server) - files, 120)
        self.assertEqual(read_all(clients[0]), "")
        self.assertEqual(server.stop(), (0, ""))

    def test_disconnects_in_the_middle(self):
        """After each byte of a request, politely and not; while it is computed; while it is answered."""
        server = self.translator()
        files = descriptors(server)
        chunked = request(head=CHUNKED, body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD))
        for data in (POST, chunked, request("/translate", head=b"Accept: text/event-stream\r\n" + sized(GOOD), body=GOOD)):
            for length in range(len(data) + 1):
                for reset in (False, True):
                    with server.connect() as client:
                        client.sendall(data[:length])
                        if reset:
                            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.check(server)
        self.until_others_left(server)
        self.assertEqual([gauge(server, f"weft_requests_{name}") for name in ("waiting", "running")], [0, 0])
        self.assertLess(descriptors(server), files + 5)
        self.assertEqual(server.stop(), (0, ""))

    def test_a_client_that_never_reads(self):
        """Its answers fill what the system keeps for it; then its time runs."""
        server = self.translator(*SHORT)
        with server.connect() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            ask = request("/openapi.json", method=b"GET")
            with self.assertRaises(ConnectionError):
                while True:
                    client.sendall(ask)
        self.check(server)
        self.until_others_left(server)
        self.assertEqual(server.stop(), (0, ""))

    def test_more_requests_than_there_is_room_for(self):
        """Five thousand at once from a hundred connections: each is answered, rightly or with 429, and memory stays."""
        server = self.translator("--max-in-flight", "8")
        before = resident(server, "VmHWM")
        clients = [server.connect() for _ in range(100)]
        last = request(head=b"Connection: close\r\n" + sized(GOOD), body=GOOD)
        for client in clients:
            client.sendall(POST * 49 + last)
        good = refused = 0
        for client in clients:
            answers = read_all(client).split("HTTP/1.1 ")[1:]
            client.close()
            self.assertEqual(len(answers), 50)
            for answer in answers:
                head, body = answer.split("\r\n\r\n", 1)
                if head.startswith("200 "):
                    self.assertEqual(json.loads(body), self.wanted)
                    good += 1
                else:
                    self.assertRegex(head, "^429 (.|\r\n)*\r\nRetry-After: 1\r\n")
                    self.assertEqual(json.loads(body)["error_type"], "overloaded")
                    refused += 1
        self.assertGreater(good, 0)
        self.assertGreater(refused, 0)
        self.assertLess(resident(server, "VmHWM") - before, 64 << 20)
        self.assertEqual(server.stop(), (0, ""))

    def test_an_answer_that_takes_too_long(self):
        server = self.decoder("--answer-seconds", "0.3")
        endless = {"inputs": "a", "parameters": {"max_new_tokens": 10_000_000}}
        status, found, headers = server.ask("POST", "/generate", endless)
        self.assertEqual((status, found["error_type"], headers["Retry-After"]), (503, "timeout", "1"))
        self.assertIn("0.3 seconds (answer_seconds)", found["error"])
        status, text, _ = server.ask("POST", "/generate", {**endless, "stream": True})
        self.assertEqual(status, 200)
        self.assertIn("event: error\ndata: {", text)
        self.assertIn('"error_type":"timeout"', text)
        while gauge(server, "weft_requests_running") > 0:  # nobody computes for who was told that it is over
            time.sleep(0.01)
        self.assertEqual(server.stop(), (0, ""))

    def test_sigterm_under_load(self):
        """Each of twenty clients has whole and right answers until the connection ends between two of them, or a refusal says why."""
        server = self.translator()
        texts = ["a man", "hello world. A man walks. " * 20, "the loom weaves the thread"]
        wanted = [server.ask("POST", "/translate", {"text": text, "target_lang": "de"})[1] for text in texts]
        problems, answers = [], [0] * 20

        def work(number):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
            try:
                while True:
                    which = (number + answers[number]) % len(texts)
                    try:
                        connection.request("POST", "/translate", json.dumps({"text": texts[which], "target_lang": "de"}))
                        answer = connection.getresponse()
                    except (http.client.RemoteDisconnected, ConnectionError):
                        return  # between two answers: this one was never begun
                    found = json.loads(answer.read())  # a part of one would fail here
                    if answer.status == 503 and found["error_type"] == "unavailable":
                        return
                    if (answer.status, found) != (200, wanted[which]):
                        problems.append((answer.status, found))
                    answers[number] += 1
            except Exception as problem:  # noqa: BLE001 -- a thread's failure is the test's
                problems.append(repr(problem))
            finally:
                connection.close()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(answers))]
        for thread in threads:
            thread.start()
        while sum(answers) < 200 and not problems:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        self.assertEqual(server.process.wait(timeout=600), 0)
        self.assertEqual(problems, [])
        self.assertGreater(min(answers), 0)
        server.errors.seek(0)
        self.assertEqual(server.errors.read(), "")
        with self.assertRaises(ConnectionRefusedError):
            server.connect()


if __name__ == "__main__":
    unittest.main()
