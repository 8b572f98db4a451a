# SPDX-License-Identifier: Apache-2.0
"""The page of `weft serve` for everybody: what a screen reader is told, the keyboard alone, text that stands out from its ground in light and dark, narrow windows."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "support")]
from browser import Browser, needs_browser  # noqa: E402
from encoder_program import make_model  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server  # noqa: E402
from weft_program import Case  # noqa: E402

TAB, CONTROL, ENTER = "\ue004", "\ue009", "\ue007"
NAMED = {"button", "link", "textbox", "combobox", "spinbutton", "checkbox", "slider", "image", "img", "navigation", "region", "complementary", "listbox", "table"}
# Texts whose colour is too near to that of what lies behind them (WCAG 2.2, 1.4.3): 4.5 to 1, 3 to 1 where letters are large.
PALE = """const parse = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
const light = (colour) => colour.slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
const over = (top, below) => [0, 1, 2].map((index) => top[index] * top[3] + below[index] * (1 - top[3])).concat(1);
const ground = (node) => { const stack = [];
  for (let at = node; at; at = at.parentElement) stack.push(parse(getComputedStyle(at).backgroundColor));
  return stack.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]); };
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  const style = getComputedStyle(node);
  if (walker.currentNode.textContent.trim() === "" || !node.checkVisibility({ visibilityProperty: true }) || node.closest('.unseen, noscript, option, .stale, :disabled, [aria-hidden=true]')) continue;
  const size = parseFloat(style.fontSize);
  const below = ground(node);
  const [a, b] = [light(over(parse(style.color), below)), light(below)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < (size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${node.tagName} ${node.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
}
return [...new Set(found)];"""
HEADINGS = "return [...document.querySelectorAll('h1, h2, h3, h4')].filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))"
# Whether the element with the focus shows it, and can be seen.
SHOWN = """const at = document.activeElement; const style = getComputedStyle(at); const box = at.getBoundingClientRect();
return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 && box.width > 0 && box.bottom > 0 && box.top < innerHeight ? '' : at.outerHTML.slice(0, 200);"""
RUN = "document.querySelectorAll('main details.settings').forEach((one) => { one.open = true; }); document.querySelector('main form button.quiet')?.click(); document.querySelector('main form').requestSubmit()"


@needs_browser
class PageAccessTest(Case):
    def start(self):
        heads = {"names": "token-classification", "sentiment": "sequence-classification", "reader": "question-answering", "gaps": "masked-lm", "chooser": "multiple-choice"}
        models = [make_model(self.folder / name, "bert", head) for name, head in heads.items()]
        (models[0] / "README.md").write_text("---\nlicense: mit\n---\n# Names\n\n- finds **names**\n\n| a | b |\n|---|---|\n| " + "wide " * 60 + "| `code` |\n")
        models.append(make_model(self.folder / "ranker", "bert", "sequence-classification", "--labels", "relevant"))
        self.train("--steps", "1")
        server = Server(*models, make_marian(self.folder / "pair"), f"books={self.run_directory}")
        self.addCleanup(server.end)
        browser = Browser().__enter__()
        self.addCleanup(browser.__exit__)
        return server, browser

    def places(self, server, browser):
        """Each view of the page, with an answer in it."""
        browser.open(server.where + "/#/")
        browser.wait_for("return document.querySelectorAll('.models > li').length === 8")
        yield "models"
        for model, task in (("names", "tag"), ("sentiment", "classify"), ("reader", "answer"), ("gaps", "fill-mask"), ("gaps", "embed"), ("chooser", "choose"), ("ranker", "rerank"), ("books", "generate")):
            browser.run("location.hash = arguments[0]", f"#/models/{model}/{task}")
            browser.wait_for(f"return document.title.startsWith('{model}') && document.querySelector('main form') !== null && !document.querySelector('.result')")
            browser.run(RUN)
            browser.wait_for("return document.querySelector('.result') !== null")
            yield f"{model}/{task}"
        browser.run("location.hash = '#/models/pair/translate'")
        browser.wait_for("return document.title.startsWith('pair') && document.querySelector('main form') !== null")
        browser.run("document.querySelectorAll('main form input')[1].value = 'de'; " + RUN)
        browser.wait_for("return document.querySelector('.result') !== null")
        yield "pair/translate"
        browser.run("location.hash = '#/models/nobody'")
        browser.wait_for("return document.querySelector('main [role=alert]') !== null")
        yield "nobody"
        browser.run("location.hash = '#/patterns'")
        browser.wait_for("return document.querySelector('.shown dl') !== null && document.querySelector('.gallery') !== null")
        yield "patterns"
        browser.run("location.hash = '#/attention/names'")
        browser.wait_for("return document.querySelector('main h1')?.textContent === 'Attention' && document.querySelector('main form') !== null")
        browser.run("document.querySelector('main form').requestSubmit()")
        browser.wait_for("return document.getElementById('about')?.textContent.includes('head 0')")
        yield "attention"

    def test_what_is_spoken(self):
        server, browser = self.start()
        for place in self.places(server, browser):
            with self.subTest(place=place):
                nodes = browser.spoken()
                roles = [role for role, _ in nodes]
                for role in ("main", "banner", "status"):
                    self.assertEqual(roles.count(role), 1, role)
                self.assertIn(("navigation", "Pages"), nodes)
                self.assertEqual([node for node in nodes if node[0] in NAMED and not node[1].strip()], [])
                levels = browser.run(HEADINGS)
                if place != "nobody":
                    self.assertEqual(levels.count(1), 1)
                    self.assertEqual(levels[0], 1)
                    self.assertTrue(all(below - above <= 1 for above, below in zip(levels, levels[1:])), levels)
                if "/" in place:  # an answer is announced
                    self.assertEqual(browser.run("return document.getElementById('status').textContent"), "The answer is there.")
                    self.assertEqual(browser.run("return document.querySelector('.result').closest('[aria-live]')?.getAttribute('aria-live')"), "polite")
                if place == "nobody":
                    self.assertTrue(any(role == "alert" for role in roles))

    def test_text_stands_out_and_nothing_is_cut_off(self):
        server, browser = self.start()
        for width, dark in ((1280, False), (1280, True), (320, False), (320, True)):
            browser.device(width, 700, dark)
            for place in self.places(server, browser):
                with self.subTest(place=place, width=width, dark=dark):
                    self.assertEqual(browser.run(PALE), [])
                    self.assertLessEqual(browser.run("return document.documentElement.scrollWidth - innerWidth"), 0)
        self.assertEqual([line for line in browser.errors() if "nobody" not in line], [])

    def test_the_keyboard_alone(self):
        server, browser = self.start()
        browser.open(server.where + "/#/models/names/tag")
        browser.wait_for("return document.querySelector('main form') !== null")
        # A task: to the text, words, and the two keys that ask.
        for _ in range(30):
            if browser.run("return document.activeElement.name === 'text'"):
                break
            browser.keys("body" if browser.run("return document.activeElement === document.body") else ":focus", TAB)
        browser.keys(":focus", "the loom weaves")
        browser.keys(":focus", CONTROL + ENTER)
        browser.wait_for("return document.querySelector('.result .boxed') !== null")
        for place in ("#/models/names/tag", "#/patterns", "#/attention/names"):
            browser.open("about:blank")
            browser.open(f"{server.where}/{place}")
            browser.wait_for("return document.querySelector('.shown dl') !== null" if "patterns" in place else "return document.querySelector('main form') !== null")
            if "attention" in place:
                browser.run("document.querySelector('main form').requestSubmit()")
                browser.wait_for("return document.getElementById('about')?.textContent.includes('head 0')")
            browser.keys("body", TAB)
            stops = 0
            while not browser.run("return document.activeElement === document.body"):  # every stop is seen, and none holds the focus
                self.assertEqual(browser.run(SHOWN), "", place)
                browser.keys(":focus", TAB)
                stops += 1
                self.assertLess(stops, 150, place)
            self.assertGreater(stops, 8)
        # A link that skips to the content leads there, and a view that was chosen has the focus.
        browser.run("document.querySelector('.skip').focus()")
        browser.keys(":focus", ENTER)
        self.assertEqual(browser.run("return document.activeElement.id"), "main")
        browser.run("[...document.querySelectorAll('nav a')].find((one) => one.textContent === 'Patterns').focus()")
        browser.keys(":focus", ENTER)
        browser.wait_for("return document.querySelector('.shown dl') !== null")
        self.assertEqual(browser.run("return [document.activeElement.id, document.title]"), ["main", "Patterns · Weft"])
        self.assertEqual(browser.run("return getComputedStyle(document.activeElement).outlineStyle"), "none", "no frame around the whole page")
        self.assertEqual(browser.errors(), [])


if __name__ == "__main__":
    unittest.main()
