# SPDX-License-Identifier: Apache-2.0
"""The page of `weft serve` in a real browser: every task answers, the workbench draws what is typed, heads are shown, and the console stays silent."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "support")]
from browser import Browser, needs_browser  # noqa: E402
from encoder_program import make_model  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server  # noqa: E402
from weft_program import Case, weft_json  # noqa: E402

TAB, END, BACKSPACE, CONTROL, ENTER = "\ue004", "\ue010", "\ue003", "\ue009", "\ue007"
# The value of a control by the words of its label, and its change.
SETTING = """const label = [...document.querySelectorAll('main label')].find((one) => one.textContent === arguments[0]);
const control = document.getElementById(label.htmlFor);
if (arguments[1] === undefined) return control.type === 'checkbox' ? control.checked : control.value;
if (control.type === 'checkbox') control.checked = arguments[1]; else control.value = arguments[1];
control.dispatchEvent(new Event('input', { bubbles: true }));
return control.disabled;"""
STATE = "return [...document.querySelectorAll('main details.settings input')].map((one) => one.disabled)"
MADE = "return document.querySelector('.made')?.lastChild.textContent ?? ''"
EXAMPLE = "document.querySelector('main form button.quiet').click(); document.querySelector('main form').requestSubmit()"
HOSTILE = "<img src=x onerror=alert(1)> <script>document.title = 'taken'</script> &amp; \u202eword"
# Controls without a name, pictures without words, and headings that are missing or doubled.
UNNAMED = """const name = (control) => control.getAttribute('aria-label') || control.labels?.[0]?.textContent || control.closest('label')?.textContent || '';
const bare = [...document.querySelectorAll('main input, main textarea, main select')].filter((control) => !name(control).trim());
const buttons = [...document.querySelectorAll('button, a')].filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label')));
const pictures = [...document.querySelectorAll('main canvas')].filter((canvas) => !canvas.getAttribute('aria-label') && !canvas.closest('[aria-hidden], button'));
const heads = document.querySelectorAll('h1').length === 1 ? [] : [document.body];
return [...bare, ...buttons, ...pictures, ...heads].map((one) => one.outerHTML.slice(0, 200));"""
DRAWN = """const canvas = document.querySelector(arguments[0]);
const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
const counts = new Map();
pixels.forEach((pixel) => counts.set(pixel, (counts.get(pixel) ?? 0) + 1));
return 1 - Math.max(...counts.values()) / pixels.length;"""


@needs_browser
class PageBrowserTest(Case):
    def start(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        browser = Browser().__enter__()
        self.addCleanup(browser.__exit__)
        return server, browser

    def assert_quiet(self, browser, *known):
        """No word in the console but that of an answer that is an error, which a browser logs by itself."""
        said = [line for line in browser.errors() if not any(part in line for part in known)]
        self.assertEqual(said, [])

    def go(self, browser, server, place, ready):
        browser.open("about:blank")
        browser.open(server.where + place)
        browser.wait_for(f"return document.querySelector({ready!r}) !== null")

    def test_tasks(self):
        names = make_model(self.folder / "names", "bert", "token-classification")
        (names / "README.md").write_text(f"# Names\n\n{HOSTILE}\n")
        heads = {"sentiment": "sequence-classification", "reader": "question-answering", "gaps": "masked-lm", "chooser": "multiple-choice"}
        others = [make_model(self.folder / name, "bert", head) for name, head in heads.items()]
        others.append(make_model(self.folder / "ranker", "bert", "sequence-classification", "--labels", "relevant"))
        (self.folder / "notes.txt").write_text(f"Who built the loom? Jacquard did. {HOSTILE}\n")
        weft_json("index", self.folder / "notes.weft", self.folder / "notes.txt")
        server, browser = self.start(names, *others, make_marian(self.folder / "pair"), "--index", f"notes={self.folder / 'notes.weft'}")
        self.go(browser, server, "/", ".models > li")
        self.assertEqual(browser.run("return document.querySelectorAll('.models > li').length"), 8)
        self.assertEqual(browser.run(UNNAMED), [])
        for model, task, seen in (("names", "tag", ".boxed mark"), ("sentiment", "classify", ".bars li"), ("reader", "answer", ".boxed"), ("gaps", "fill-mask", ".bars code"),
                                  ("gaps", "embed", ".grid-table td"), ("chooser", "choose", ".bars li:nth-child(3)"), ("ranker", "rerank", ".bars li:nth-child(3)")):
            self.go(browser, server, f"/#/models/{model}/{task}", "main form")
            browser.run(EXAMPLE)
            browser.wait_for(f"return document.querySelector('.result {seen}') !== null")
            self.assertEqual(browser.run(UNNAMED), [])
        self.assert_ranked(browser, server)
        self.assert_searched(browser, server)
        self.go(browser, server, "/#/models/pair/translate", "main form")
        browser.run("document.querySelector('main form button.quiet').click(); document.querySelectorAll('main form input')[1].value = 'de'")
        browser.keys("main form textarea", CONTROL + ENTER)
        browser.wait_for("return document.querySelectorAll('.result .boxed').length === 2")
        self.go(browser, server, "/#/models/pair/align", "main form")
        browser.run("document.querySelector('main form input').value = 'de'; " + EXAMPLE)
        browser.wait_for("return document.querySelectorAll('.result dt').length > 4")
        # What people and files write stays text.
        self.go(browser, server, "/#/models/names/tag", "main form")
        browser.run("document.querySelector('main textarea').value = arguments[0]; document.querySelector('main form').requestSubmit()", HOSTILE)
        shown = browser.wait_for("return document.querySelector('.result .boxed')?.textContent")
        for letter in "<>&":
            self.assertIn(letter, shown)
        self.assertEqual(browser.run("return [document.querySelectorAll('main img, main script').length, document.title]"), [0, "names · Weft"])
        self.assertIn("<script>", browser.run("return document.querySelector('.readme').textContent"))
        self.assert_quiet(browser)
        # The server's errors, and a server that has gone, in words.
        self.go(browser, server, "/#/models/pair/translate", "main form")
        browser.run(EXAMPLE)
        self.assertIn("'de', 'fr'", browser.wait_for("return document.querySelector('main [role=alert]')?.textContent"))
        server.stop()
        browser.run("document.querySelector('main form').requestSubmit()")
        browser.wait_for("return document.querySelector('main [role=alert]')?.textContent === 'The server does not answer. Is weft serve still running?'")
        self.assert_quiet(browser, "400 (Bad Request)", "ERR_CONNECTION_REFUSED")

    def assert_ranked(self, browser, server):
        """The texts of the example as the server sorts them; others come from a file."""
        query, lines = browser.run("return ['input[name=query]', 'textarea'].map((one) => document.querySelector('main form ' + one).value)")
        wanted = server.ask("POST", "/rerank", {"query": query, "texts": lines.split("\n"), "return_text": True})[1]
        shown = "return [...document.querySelectorAll('.result .bars li > span:first-child')].map((one) => one.textContent)"
        self.assertEqual(browser.run(shown), [entry["text"] for entry in wanted])
        browser.run("""const file = document.querySelector('main form input[type=file]'); const given = new DataTransfer();
given.items.add(new File(['one loom\\ntwo looms\\n'], 'texts.txt', { type: 'text/plain' })); file.files = given.files; file.dispatchEvent(new Event('change'));""")
        browser.wait_for("return document.querySelector('main textarea').value === 'one loom\\ntwo looms\\n'")

    def assert_searched(self, browser, server):
        """A passage is text, whatever it holds; where nothing is found, words say so."""
        self.go(browser, server, "/#/models/notes/search", "main form")
        browser.run(EXAMPLE)
        self.assertIn(HOSTILE, browser.wait_for("return document.querySelector('.result dd .text')?.textContent"))
        self.assertIn("Passages1", browser.run("return document.querySelector('.card dl').textContent"))
        self.assertEqual(browser.run(UNNAMED), [])
        browser.run("document.querySelector('main form input[name=query]').value = 'trains'; document.querySelector('main form').requestSubmit()")
        browser.wait_for("return document.querySelector('.result')?.textContent.startsWith('No passage has a word of the question.')")

    def running(self, server):
        return "weft_requests_running 1" in server.ask("GET", "/metrics")[1]

    def begin_endless(self, browser, server):
        """A text that would take hours, of which some is there."""
        browser.run(SETTING, "New tokens at most", 10000000)
        browser.run("document.querySelector('main form').requestSubmit()")
        browser.wait_for("return (document.querySelector('.coming .made')?.textContent.length ?? 0) > 40")
        self.assertTrue(self.running(server))
        length = len(browser.run(MADE))
        browser.wait_for(f"return document.querySelector('.made').lastChild.length > {length}")

    def wait_until_idle(self, server):
        while self.running(server):
            pass

    def test_a_text_grows_and_can_be_stopped(self):
        self.train("--steps", "3")
        server, browser = self.start(f"books={self.run_directory}")
        self.go(browser, server, "/#/models/books/generate", "main form")
        browser.run("document.querySelector('main textarea').value = 'graph token'")
        # The settings are those of the schema, and what is changed is sent, that alone.
        parameters = server.ask("GET", "/openapi.json")[1]["paths"]["/v1/models/books/generate"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["parameters"]["properties"]
        names = {"New tokens at most": "max_new_tokens", "Draw each token by chance": "do_sample", "Temperature": "temperature", "Top k": "top_k", "Top p": "top_p", "Seed": "seed", "Beams": "num_beams"}
        for label, name in names.items():
            shown = browser.run(SETTING, label)
            self.assertEqual(shown if isinstance(shown, bool) else float(shown), parameters[name]["default"], name)
        browser.run("window.asked = []; const send = window.fetch; window.fetch = (path, how) => { if (how?.body) window.asked.push(JSON.parse(how.body)); return send(path, how); }")
        submit = "document.querySelector('main form').requestSubmit()"
        for changes, sent in (({"New tokens at most": 30}, {"max_new_tokens": 30}), ({"Seed": 3, "Temperature": 0.7, "Top k": 9, "Top p": 0.9}, {"max_new_tokens": 30, "seed": 3, "temperature": 0.7, "top_k": 9, "top_p": 0.9}),
                              ({"Draw each token by chance": False}, {"max_new_tokens": 30, "do_sample": False}), ({"Draw each token by chance": True, "Beams": 3}, {"max_new_tokens": 30, "num_beams": 3})):
            for label, value in changes.items():
                browser.run(SETTING, label, value)
            browser.run("document.querySelector('.result')?.remove(); " + submit)
            browser.wait_for("return document.querySelector('.result') !== null")
            body = {"inputs": "graph token", "parameters": sent}
            self.assertEqual(browser.run("return window.asked.pop()"), body)
            self.assertEqual(browser.run(MADE), server.ask("POST", "/generate", body)[1][0]["generated_text"])
        self.assertEqual(browser.run(STATE), [False, True, True, True, True, True, False])  # beams draw nothing
        browser.run(SETTING, "Beams", 1)
        self.assertEqual(browser.run(STATE), [False] * 7)
        browser.run(SETTING, "Top p", 7)  # the browser refuses what the schema does, and unfolds the settings to point at it
        browser.run(submit)
        self.assertEqual(browser.run("return [document.querySelector('details.settings').open, window.asked.length, document.activeElement.validity.rangeOverflow]"), [True, 0, True])
        browser.run(SETTING, "Top p", 1)
        # Stop ends the request, so that the server computes no more; what was written stays.
        self.begin_endless(browser, server)
        self.assertEqual(browser.run("return document.querySelector('[aria-live] .coming').closest('[aria-live]').getAttribute('aria-busy')"), "true")
        browser.run("[...document.querySelectorAll('main form button')].find((one) => one.textContent === 'Stop').click()")
        browser.wait_for("return document.querySelector('.result')?.textContent.includes('Stopped after')")
        text = browser.run(MADE)
        self.wait_until_idle(server)
        self.assertGreater(len(text), 40)
        self.assertEqual(browser.run(MADE), text)
        self.assertEqual(browser.run("return [document.getElementById('status').textContent, document.querySelector('main form button').disabled]"), ["Stopped.", False])
        self.begin_endless(browser, server)
        browser.keys("main textarea", "\ue00c")  # Escape
        browser.wait_for("return document.querySelector('.result')?.textContent.includes('Stopped after')")
        self.wait_until_idle(server)
        # Whoever goes to another view waits for nothing.
        self.begin_endless(browser, server)
        browser.run("location.hash = '#/patterns'")
        browser.wait_for("return document.querySelector('.shown canvas') !== null")
        self.wait_until_idle(server)
        self.assert_quiet(browser)

    def test_a_translation_grows_by_sentences(self):
        server, browser = self.start(make_marian(self.folder / "pair"))
        text = "a man\nhello world\nthe loom\na man weaves\nhello\nthe man"
        self.go(browser, server, "/#/models/pair/translate", "main form")
        browser.run("""window.pieces = 0;
            new MutationObserver((changes) => { window.pieces += changes.filter((one) => one.target.parentElement?.matches('.made')).length; })
              .observe(document.querySelector('main'), { subtree: true, characterData: true });
            document.querySelector('main textarea').value = arguments[0];
            document.querySelectorAll('main form input')[1].value = 'de'; document.querySelector('main form').requestSubmit()""", text)
        browser.wait_for("return document.querySelector('.result') !== null")
        wanted = server.ask("POST", "/translate", {"text": text, "target_lang": "de"})[1]["translation"]
        self.assertEqual(browser.run(MADE), wanted)
        self.assertGreater(browser.run("return window.pieces"), 1)
        self.go(browser, server, "/#/models/pair/summarize", "main form")
        browser.run("document.querySelector('main textarea').value = 'a man'; document.querySelector('main form').requestSubmit()")
        browser.wait_for("return document.querySelector('.result') !== null")
        self.assertEqual(browser.run(MADE), server.ask("POST", "/summarize", {"inputs": "a man"})[1][0]["summary_text"])
        self.assert_quiet(browser)
        # A text that is too long, and the setting that helps.
        browser.run("document.querySelector('main textarea').value = 'a man '.repeat(200); document.querySelector('main form').requestSubmit()")
        self.assertIn("a tick under Settings", browser.wait_for("return document.querySelector('main [role=alert]')?.textContent"))
        browser.run(SETTING, "Cut a text that is too long", True)
        browser.run("document.querySelector('main form').requestSubmit()")
        browser.wait_for("return document.querySelector('.result') !== null")
        self.assert_quiet(browser, "413 (")

    def test_addresses_that_lead_nowhere(self):
        """Names that every object of JavaScript has are no views, models or tasks."""
        server, browser = self.start(make_model(self.folder / "names", "bert", "token-classification"))
        for place in ("constructor/x", "__proto__", "toString", "hasOwnProperty/names/tag", "nothing", "models/constructor", "models/names/constructor", "models/names/generate", "attention/__proto__",
                      "attention/%3Cimg%20src=x%20onerror=alert(1)%3E"):
            self.go(browser, server, f"/#/{place}", "main [role=alert]")
            self.assertEqual(browser.run("return [document.querySelectorAll('h1').length, document.querySelectorAll('main img').length]"), [1, 0], place)
        self.go(browser, server, "/#/patterns?constructor=1&e=full&__proto__=2", ".shown canvas")
        self.assert_quiet(browser)

    def test_phones(self):
        """What a narrow window would cut, break or put far from what it belongs to."""
        reader, names = make_model(self.folder / "reader", "bert", "question-answering"), make_model(self.folder / "names", "bert", "token-classification")
        server, browser = self.start(reader, names)
        for width in (320, 360, 1280):
            browser.device(width, 800)
            self.go(browser, server, "/#/models/reader/answer", "main form")
            browser.run("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
            browser.run("[...document.querySelectorAll('button.quiet')].find((one) => one.textContent === 'Take an example').click(); document.querySelector('main form').requestSubmit()")
            browser.wait_for("return document.querySelector('.bars li:nth-child(3)') !== null")
            lines = browser.run("return [...document.querySelectorAll('.bars li > :nth-child(3)')].map((one) => { const range = new Range(); range.selectNodeContents(one); return range.getClientRects().length; })")
            self.assertEqual(lines, [1, 1, 1])
            self.assertLessEqual(browser.run("return document.documentElement.scrollWidth - innerWidth"), 0)
            self.go(browser, server, "/#/patterns", ".shown canvas")
            text, canvas, fields = browser.run("return ['.editor', '.shown canvas', '.found'].map((one) => { const box = document.querySelector(one).getBoundingClientRect(); return [box.top, box.bottom]; })")
            if width < 1000:
                self.assertLess(text[1], canvas[0])
                self.assertLess(canvas[0] - text[1], 100)
                self.assertLess(canvas[1], fields[0])
            else:
                self.assertLess(canvas[0], text[1])
            self.go(browser, server, "/#/attention/names", "main form")
            browser.run("document.querySelector('main form').requestSubmit()")
            browser.wait_for("return document.getElementById('about')?.textContent.includes('head 0')")
            self.assertEqual(browser.run("""const heads = document.querySelector('#grid .heads');
                while (heads.children.length < 12) heads.append(heads.children[0].cloneNode(true)); // as many as a usual layer has
                return [...document.querySelectorAll('#grid button')].filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth).length"""), 0)
        self.assert_quiet(browser)

    def test_keys_and_windows(self):
        model = make_model(self.folder / "names", "bert", "token-classification")
        keys = self.folder / "keys"
        keys.write_text("secret\n")
        server, browser = self.start(model, "--api-key-file", keys)
        self.go(browser, server, "/", "#key:not([hidden])")
        browser.wait_for("return document.querySelector('main [role=alert]')?.textContent.includes('asks for a key')")
        browser.keys("#key-value", "wrong" + ENTER)
        browser.wait_for("return document.querySelector('main [role=alert]')?.textContent.includes('does not know this key')")
        browser.keys("#key-value", "secret" + ENTER)
        browser.wait_for("return document.querySelector('main form') !== null")
        self.assertEqual(browser.run("return [localStorage.length, sessionStorage.length, document.cookie, document.getElementById('key-value').value]"), [0, 0, "", ""])
        self.assert_quiet(browser, "401 (Unauthorized)")
        for width, dark in ((360, False), (360, True), (768, False), (1920, True)):
            browser.device(width, 800, dark)
            for place, ready in (("#/", "main form"), ("#/patterns", ".shown canvas"), ("#/attention", "main form")):
                browser.run("location.hash = arguments[0]", place)
                browser.wait_for(f"return document.querySelector({ready!r}) !== null")
                wide = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(wide[0], wide[1], (place, width))
                ground = browser.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
                self.assertEqual(max(ground) < 128, dark)
        self.assert_quiet(browser)

    def test_workbench(self):
        server, browser = self.start(make_model(self.folder / "names", "bert", "token-classification"))
        self.go(browser, server, "/#/patterns", ".shown canvas")
        self.assertGreater(browser.run(DRAWN, ".shown canvas"), 0.05)
        browser.wait_for("return document.querySelectorAll('.gallery li').length > 9")
        browser.wait_for("return document.querySelector('.gallery canvas') !== null")
        self.assertEqual(browser.run(UNNAMED), [])
        self.assert_quiet(browser)
        # A mistake is marked at its place, and what was drawn stays until it is gone.
        browser.keys("#expression", CONTROL + END)
        browser.keys("#expression", " | windw(3)")
        browser.wait_for("return document.getElementById('problem').textContent.includes(\"did you mean 'window'\")")
        self.assertEqual(browser.run("return document.querySelector('.editor mark').textContent"), "windw")
        self.assertEqual(browser.run("return document.getElementById('expression').getAttribute('aria-invalid')"), "true")
        self.assertIn("^~~~~", browser.run("return document.querySelector('#problem pre').textContent"))
        browser.keys("#expression", BACKSPACE * len(" | windw(3)"))
        browser.wait_for("return document.querySelector('.editor mark') === null && document.getElementById('problem').textContent === ''")
        self.assert_quiet(browser, "400 (Bad Request)")
        # The gallery, and an address that another person opens.
        browser.run("[...document.querySelectorAll('.gallery button')].find((one) => one.textContent.startsWith('Longformer')).click()")
        browser.wait_for("return document.querySelector('.shown code')?.textContent === 'window(128) | global(input)'")
        self.assertEqual(browser.run("return document.querySelector('.fields .field:last-child').hidden"), False)
        address = browser.run("return location.href")
        browser.open("about:blank")
        browser.open(address)
        browser.wait_for("return document.getElementById('expression')?.value === 'longformer(128)' && document.querySelector('.shown canvas') !== null")
        self.assertIn("global", browser.run("return document.querySelector('.legend').textContent"))
        self.assertIn("the diameter", browser.run("return document.querySelector('.shown dl').textContent"))
        self.go(browser, server, "/#/patterns?e=" + "%28" * 3000 + "&n=1e9&h=-1&l=x&i=%3Cimg%3E", "#problem .alert")
        self.assert_quiet(browser, "400 (Bad Request)")

    def test_attention(self):
        server, browser = self.start(make_model(self.folder / "names", "bert", "token-classification"))
        self.go(browser, server, "/#/attention/names", "main form")
        browser.run("document.querySelector('main form').requestSubmit()")
        self.assertEqual(browser.wait_for("return document.querySelectorAll('#grid button').length"), 5)
        browser.wait_for("return document.querySelector('#grid canvas').width > 1 && document.getElementById('about').textContent.includes('head 0')")
        self.assertGreater(browser.run(DRAWN, "#large"), 0.05)
        browser.keys("#large", "\ue015" * 3)
        browser.wait_for("return document.querySelector('#row h2')?.textContent.startsWith('Row 3:')")
        self.assertEqual(browser.run(UNNAMED), [])
        # Another text takes its place.
        browser.run("document.querySelector('main textarea').value = 'the loom'; document.querySelector('main form').requestSubmit()")
        browser.wait_for("return document.getElementById('position')?.max === '3'")
        self.assert_quiet(browser)

    def test_attention_of_a_translator(self):
        server, browser = self.start(make_marian(self.folder / "marian"), f"names={make_model(self.folder / 'names', 'bert', 'token-classification')}")
        self.go(browser, server, "/#/attention/marian", "main form")
        second = "document.querySelector('main form input')"
        self.assertEqual(browser.run(f"return [{second}.required, {second}.labels[0].textContent.startsWith('Target')]"), [True, True])
        browser.run(f"document.querySelector('main textarea').value = 'a man'; {second}.value = 'the loom'; document.querySelector('main form').requestSubmit()")
        browser.wait_for("return document.querySelectorAll('#grid button').length > 5")
        browser.run("const model = document.querySelector('main select'); model.value = 'names'; model.dispatchEvent(new Event('change'))")
        self.assertEqual(browser.run(f"return [{second}.required, {second}.labels[0].textContent.startsWith('Second')]"), [False, True])
        self.assertEqual(browser.run(UNNAMED), [])
        self.assert_quiet(browser)

    def test_keyboard(self):
        server, browser = self.start(make_model(self.folder / "names", "bert", "token-classification"))
        self.go(browser, server, "/", "main form")
        browser.keys("body", TAB)
        self.assertEqual(browser.run("return document.activeElement.className"), "skip")
        order = []
        while not browser.run("return document.activeElement === document.body"):
            order.append(browser.run("const at = document.activeElement; return at.name || at.textContent"))
            self.assertLess(len(order), 30)
            browser.keys(":focus", TAB)
        for wanted in ("Models", "Patterns", "Attention", "text", "Find names", "Take an example"):
            self.assertIn(wanted, order)
        self.assert_quiet(browser)


if __name__ == "__main__":
    unittest.main()
