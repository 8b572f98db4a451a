# SPDX-License-Identifier: Apache-2.0
"""Clients of `weft serve` that break the rules: each request is refused with one answer, nothing hides behind it, and others are served."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server, request, sized  # noqa: E402
from weft_program import Case  # noqa: E402

LIMITS = ["--max-body-bytes", "20000", "--max-header-bytes", "1000", "--body-seconds", "2", "--header-seconds", "2"]
GOOD = json.dumps({"text": "a man", "target_lang": "de"}).encode()
CHUNKED = b"Transfer-Encoding: chunked\r\n"
HIDDEN = request("/hidden", method=b"GET", head=b"Connection: close\r\n")

# Documents that are no JSON, or none that has one meaning.
BROKEN_JSON = [
    b"", b" ", b"\n", b"{", b"}", b"[", b"]", b'"', b'"a', b"nul", b"tru", b"True", b"NULL", b"undefined", b"a", b"'a'", b"{'text': 'a'}", b"{text: 1}", b'{"text"}', b'{"text":}',
    b'{"text" 1}', b'{"text": 1,}', b'{,"text": 1}', b'{"text": 1,, "a": 2}', b'{"text": 1;}', b'{"text": 1} {"text": 1}', b'{"text": 1}x', b'{"text": 1}\0', b'\0{"text": 1}',
    b'{"text": [1,]}', b'{"text": [,1]}', b'{"text": [1 2]}', b'{"text": [1}', b'{"text": 1]', b'{"text": 01}', b'{"text": +1}', b'{"text": .5}', b'{"text": 1.}', b'{"text": 1e}',
    b'{"text": 1e+}', b'{"text": 0x1}', b'{"text": --1}', b'{"text": 1_000}', b'{"text": NaN}', b'{"text": Infinity}', b'{"text": -Infinity}', b'{"text": 1e999}', b'{"text": "\\x41"}',
    b'{"text": "\\u12"}', b'{"text": "\\u12G4"}', b'{"text": "\\U00000041"}', b'{"text": "\\"}', b'{"text": "\n"}', b'{"text": "\t"}', b'{"text": "\x01"}', b'{"text": "\0"}',
    b'{"text": "\\ud800"}', b'{"text": "\\udc00"}', b'{"text": "\\ud800\\ud800"}', b'{"text": "\\udc00\\ud800"}', b'{"text": "\\ud800x"}', b'{"text": "\\ud83d\\u0041"}',
    b'{"\\ud800": 1}', b'{"text": "\xff"}', b'{"text": "\xc0\xaf"}', b'{"text": "\xed\xa0\x80"}', b'{"text": "\xf4\x90\x80\x80"}', b'{"text": "\xe2\x82"}', b'{"text": "\x80"}',
    b'\xef\xbb\xbf', b'\xff\xfe{\0}\0', b"// comment\n{}", b"/* comment */ {}", b'{"text": 1, "text": 2}', b'{"text": "a", "\\u0074ext": "b"}', b"[1]", b"1", b'"text"', b"null", b"true",
    b"[" * 10000, b"{" * 10000, b'{"a":' * 2000, b'{"text": ' + b"[" * 1000 + b"]" * 1000 + b"}", b'{"text": "a", "target_lang": "de", "x": ' + b"1" * 10000 + b"}",
    b"text=a&target_lang=%", b"<text>a</text>", b"--boundary\r\nContent-Disposition: form-data\r\n\r\na"]

PATHS = ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2fetc/passwd", "/..\\etc\\passwd", "//etc/passwd", "/etc//passwd", "/%00", "/index.html%00.js", "/v1/models/../../etc/passwd",
         "/v1/models/none", "/v1/models/", "/v1/models/%6darian", "/v1/models/MARIAN", "/v1/models/marian/../marian", "/v1//models", "//v1/models", "/v1/models/./marian", "/v1/models/marian;a",
         "/main.js/", "/main.js/x", "/page/files/main.js", "/files/main.js", "/.", "/..", "/~root", "/proc/self/environ", "/%", "/%zz", "/\\", "/translate/translate", "/" + "a" * 900]


class AbuseTest(Case):
    def setUp(self):
        super().setUp()
        self.server = Server(make_marian(self.folder / "marian"), *LIMITS)
        self.addCleanup(self.server.end)
        self.wanted = self.server.ask("POST", "/translate", GOOD)[1]

    def tearDown(self):
        """The server lives on, and answers as before."""
        self.assertEqual(self.server.ask("POST", "/translate", GOOD)[1], self.wanted)
        self.assertEqual(self.server.stop(), (0, ""))
        super().tearDown()

    def assert_refused(self, answer, status, *parts):
        self.assertRegex(answer, rf"^HTTP/1\.[01] {status} ")
        found = json.loads(answer.split("\r\n\r\n", 1)[1])  # one answer, and nothing behind it
        self.assertEqual(list(found), ["error", "error_type"])
        for part in parts:
            self.assertIn(part, found["error"])

    def test_requests_that_break_rules(self):
        self.assertIn(" 200 ", self.server.send(request(head=CHUNKED + b"Connection: close\r\n", body=b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD))))
        for data, status, part in (
            (request(head=b"Content-Length: 2000000000\r\n", body=b"x" * 100000), 413, "max_body_bytes"),
            (request(head=CHUNKED, body=b"ffffff\r\n" + b"x" * 100000), 413, "max_body_bytes"),
            (request(head=CHUNKED, body=b"1\r\nx\r\n" * 30000), 413, "max_body_bytes"),
            (request(head=CHUNKED, body=b"1;" + b"y" * 200000), 4, ""),
            (request(head=b"X: " + b"y" * 2000 + b"\r\n"), 431, "max_header_bytes"),
            (request(head=b"X: y\r\n" * 1000), 431, "max_header_bytes"),
            (request("/" + "y" * 200000), 431, "max_header_bytes"),
            (request(head=CHUNKED, body=GOOD, version=b"HTTP/1.0"), 400, ""),
            (request(head=b"Host: localhost\r\n" + sized(GOOD), body=GOOD), 400, "Host"),
            (request(head=b"Content-Encoding: gzip\r\n" + sized(GOOD), body=GOOD), 415, "gzip"),
            (request(head=b"Expect: 200-ok\r\n" + sized(GOOD), body=GOOD), 417, "200-ok"),
            (b"GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "target"),
            (b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "target"),
            (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "target"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50, 400, ""),
            (b"\0" * 500, 400, ""),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "version"),
            (b"GET /health\r\n\r\n", 400, ""),
            (request("/v1/models/none/translate", head=sized(GOOD), body=GOOD), 404, "/v1/models"),
            (request("/v1/models/none/attention", head=sized(GOOD), body=GOOD), 404, "/v1/models"),
            *((request(method=method), 405, "POST") for method in (b"DELETE", b"PUT", b"PATCH", b"TRACE", b"OPTIONS", b"GET", b"BREW", b"post"))):
            with self.subTest(data=data[:80]):
                self.assert_refused(self.server.send(data), f"{status}[0-9]+" if status == 4 else status, part)

    def test_ranges_are_not_counted_out(self):
        """Thousands of ranges that overlap: the file, once."""
        whole = self.server.ask("GET", "/page.css")[1]
        ranges = b"Range: bytes=" + b",".join(b"0-" for _ in range(200)) + b"\r\n"
        answer = self.server.send(request("/page.css", method=b"GET", head=ranges + b"Connection: close\r\n"))
        self.assertEqual((answer.startswith("HTTP/1.1 200 "), answer.split("\r\n\r\n", 1)[1]), (True, whole))
        self.assert_refused(self.server.send(request("/page.css", method=b"GET", head=ranges * 10)), 431)

    def test_numbers_that_are_none(self):
        for text in ("-1", "1e400", "1e19", "99999999999999999999", "0.5", '"1"', "null", "true", "[1]", "{}"):
            body = b'{"expression": "full", "length": %s}' % text.encode()
            status, found, _ = self.server.ask("POST", "/v1/pattern", body)
            self.assertEqual((status, found["error_type"]), (400, "validation"), text)

    def test_lengths_that_hide_a_request(self):
        """Whatever is doubtful about where a request ends: one refusal, and what stands behind it is never answered."""
        length = str(len(GOOD)).encode()
        for fields in (b"Content-Length: 3\r\n" + sized(GOOD), sized(GOOD) * 2, sized(GOOD) + CHUNKED, CHUNKED + sized(GOOD), CHUNKED * 2, b"Content-Length: -1\r\n",
                       b"Content-Length: +" + length + b"\r\n", b"Content-Length: " + length + b", " + length + b"\r\n", b"Content-Length: 0x10\r\n", b"Content-Length: 1 1\r\n",
                       b"Content-Length:\r\n", b"Content-Length: 99999999999999999999999\r\n", b"Content-Length : 3\r\n", b"Content-Length: 3\nX: y\r\n", b"X: y\rContent-Length: 3\r\n",
                       b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding: chunked, identity\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: \x0bchunked\r\n",
                       b"Transfer-Encoding : chunked\r\n", b"X\0: y\r\n", b" X: y\r\n", b"X: y\r\n Transfer-Encoding: chunked\r\n", b"Transfer-Encoding:\r\n\tchunked\r\n"):
            with self.subTest(fields=fields):
                self.assert_refused(self.server.send(request(head=fields, body=b"0\r\n\r\n" + HIDDEN)), "(400|501)")
        for chunks in (b"-2\r\n", b"zz\r\n", b"fffffffffffffffff\r\n", b"0x3\r\nabc\r\n0\r\n\r\n", b" 3\r\nabc\r\n0\r\n\r\n", b"3\nabc\r\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n", b"3\r\nab\r\n0\r\n\r\n",
                       b"3\r\nabc\r\n0\r\nno field\r\n\r\n", b"3\r\nabc\r\n0\r\nContent-Length: 500\r\n\r\n"):
            with self.subTest(chunks=chunks):
                self.assert_refused(self.server.send(request(head=CHUNKED, body=chunks + HIDDEN)), 400)

    def test_lengths_that_are_wrong(self):
        # Shorter than the body: what is left is no request.
        answers = self.server.send(request(head=b"Content-Length: %d\r\n" % (len(GOOD) - 3), body=GOOD + b"\r\n\r\n"))
        self.assertEqual(re.findall("HTTP/1.1 ([0-9]+)", answers), ["400", "400"])
        # Longer: the rest never comes, and the connection ends without an answer.
        self.assertEqual(self.server.send(request(head=b"Content-Length: %d\r\n" % (len(GOOD) + 1), body=GOOD)), "")
        self.assertEqual(self.server.send(request(head=CHUNKED, body=b"%x\r\n%s\r\n" % (len(GOOD), GOOD))), "")

    def test_bodies_that_are_no_json(self):
        for body in BROKEN_JSON:
            with self.subTest(body=body[:60]):
                status, found, _ = self.server.ask("POST", "/translate", body)
                self.assertEqual((status, found["error_type"]), (400, "validation"))
                self.assertNotIn("\n", found["error"])
        for text in ("\U0001f600", "\u202e\u0000\u0001", "\ufffe\uffff", ""):  # odd, and allowed
            self.assertEqual(self.server.ask("POST", "/translate", {"text": text, "target_lang": "de"})[0], 200)
        self.assertEqual(self.server.ask("POST", "/translate", b"text=a&target_lang=de")[0], 200)  # a form
        pair = b'{"text": "\\ud83d\\ude00", "target_lang": "de"}'
        self.assertEqual(self.server.ask("POST", "/translate", pair)[0], 200)

    def test_paths_that_lead_elsewhere(self):
        for path in PATHS:
            for method in (b"GET", b"POST"):
                with self.subTest(path=path[:60], method=method):
                    answer = self.server.send(request(path, method=method, head=b"Connection: close\r\nContent-Length: 0\r\n"))
                    if path in ("/v1/models/", "/main.js/") and method == b"GET":  # a last slash is left out
                        self.assertIn(" 200 ", answer)
                    else:
                        self.assert_refused(answer, "(400|404|405)")
                        self.assertNotIn("root:", answer)
        figures = self.server.ask("GET", "/metrics")[1]
        self.assertIn('weft_requests_total{route="/translate",code="200"} ', figures)
        for word in ("passwd", "none", "~root", "%"):
            self.assertNotIn(word, figures)

    def test_foreign_hosts_and_pages(self):
        def answer(host, *fields):
            lines = [b"POST /translate HTTP/1.1", *([b"Host: " + host] if host is not None else []), *fields, b"Connection: close", b"Content-Length: %d" % len(GOOD)]
            return self.server.send(b"\r\n".join(lines) + b"\r\n\r\n" + GOOD)

        for host in (b"localhost", b"LOCALHOST:1", b"127.0.0.1", b"[::1]:4321"):
            self.assertIn(" 200 ", answer(host))
        for host in (b"evil.example", b"localhost.evil.example", b"127.0.0.1.evil.example", b"evil.example:4321", b"localhost:x", b"[::1", b"", b"user@localhost", b"localhost, evil.example", b"1.2.3.4/x"):
            self.assert_refused(answer(host), 403, "Host")
        self.assert_refused(answer(None), 400, "Host")
        self.assert_refused(answer(b"localhost\r\nHost: localhost"), 400, "Host")
        self.assertIn(" 200 ", answer(b"localhost:4321", b"Origin: http://localhost:4321"))
        for origin in (b"http://evil.example", b"null", b"https://localhost:4321", b"http://localhost:4322", b"http://localhost:4321.evil.example", b"http://localhost:4321/", b"", b"file://"):
            self.assert_refused(answer(b"localhost:4321", b"Origin: " + origin), 403, "Origin")
        self.assert_refused(answer(b"localhost:4321", b"Origin: http://localhost:4321", b"Origin: http://localhost:4321"), 400, "Origin")
        for name in ("Access-Control-Allow-Origin", "Server", "X-Powered-By"):
            self.assertNotIn(name, self.server.ask("GET", "/health", headers={"Origin": f"http://127.0.0.1:{self.server.port}"})[2])


if __name__ == "__main__":
    unittest.main()
