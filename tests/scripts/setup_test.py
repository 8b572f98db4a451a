#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup on machines with and without Rust, whose package manager is a stand-in; scripts/check-setup runs it with Debian's."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("WEFT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
TOOLS = "basename bash cat chmod cmp cp dirname env grep head mkdir sed sort tail touch tr".split()
APT_GET = """#!/usr/bin/env bash
echo "$*" >>"$MACHINE/calls"
case "$*" in
  *--simulate*--no-remove*) [ ! -e "$MACHINE/conflicts" ] ;;
  *--simulate*) [ ! -e "$MACHINE/conflicts" ] || echo "Remv cargo [0.66.0]" ;;
  *install*)
    echo "$*" | tr ' ' '\\n' >>"$MACHINE/installed"
    case "$*" in *cargo-web*) printf '#!/usr/bin/env bash\\necho cargo 1.85.0\\n' >"$MACHINE/bin/cargo"; chmod +x "$MACHINE/bin/cargo" ;; esac ;;
esac
"""
DPKG_QUERY = """#!/usr/bin/env bash
if grep -qx "${@: -1}" "$MACHINE/installed"; then printf installed; else exit 1; fi
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.machine = pathlib.Path(folder.name)
        self.tree = self.machine / "tree"
        (self.tree / "rust/tokenizers-c").mkdir(parents=True)
        (self.machine / "bin").mkdir()
        (self.machine / "home").mkdir()
        shutil.copytree(ROOT / "scripts", self.tree / "scripts")
        for name in ("Cargo.toml", "Cargo.lock"):
            shutil.copy(ROOT / "rust/tokenizers-c" / name, self.tree / "rust/tokenizers-c")
        for tool in TOOLS:
            (self.machine / "bin" / tool).symlink_to(shutil.which(tool))
        for name, text in {"apt-get": APT_GET, "dpkg-query": DPKG_QUERY, "id": "#!/usr/bin/env bash\necho 0\n",
                           "python3": "#!/usr/bin/env bash\nexit 0\n"}.items():
            program(self.machine / "bin" / name, text)
        program(self.tree / ".venv/bin/python3", "#!/usr/bin/env bash\nexit 0\n")
        (self.tree / ".venv/.weft").touch()
        (self.machine / "installed").write_text((self.tree / "scripts/packages.txt").read_text())

    def setup_script(self, home="home"):
        (self.machine / "calls").write_text("")
        done = subprocess.run([self.tree / "scripts/setup"], capture_output=True, text=True,
                              env={"PATH": str(self.machine / "bin"), "HOME": str(self.machine / home), "MACHINE": str(self.machine)})
        return done, (self.machine / "calls").read_text().splitlines()

    def cargo(self, path, version):
        program(path, f"#!/usr/bin/env bash\necho cargo {version}\n")

    def test_debians_own_rust_is_installed_where_there_is_none(self):
        done, calls = self.setup_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        installs = [call for call in calls if call.startswith("install") and "--simulate" not in call]
        self.assertEqual(len(installs), 1, calls)
        self.assertIn("--no-remove", installs[0])
        self.assertTrue(installs[0].endswith(" cargo-web"), installs)
        done, calls = self.setup_script()
        self.assertEqual((done.returncode, done.stdout, calls), (0, "setup: everything is in place\n", []))

    def test_a_recent_rust_is_left_alone(self):
        self.cargo(self.machine / "home/.cargo/bin/cargo", "1.90.1")
        done, calls = self.setup_script()
        self.assertEqual((done.returncode, calls), (0, []), done.stderr)
        # One that is too old in PATH does not stand before it, nor one that does not run.
        self.cargo(self.machine / "bin/cargo", "1.63.0")
        self.assertEqual(self.setup_script()[1], [])
        program(self.machine / "bin/cargo", "#!/usr/bin/env bash\nexit 1\n")
        self.assertEqual(self.setup_script()[1], [])

    def test_no_package_is_removed_for_it(self):
        self.cargo(self.machine / "bin/cargo", "0.66.0")
        (self.machine / "conflicts").touch()
        done, calls = self.setup_script()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"cargo-web cannot be installed beside what is there; cargo would have to go.*rustup\.rs")
        self.assertEqual([call for call in calls if call.startswith("install") and "--simulate" not in call], [])

    def test_another_home_gets_the_crates(self):
        program(self.machine / "bin/cargo", '#!/usr/bin/env bash\n[ "$1" = --version ] && echo cargo 1.85.0 || echo "$HOME" >>"$MACHINE/fetched"\n')
        for home in ("home", "home", "other"):
            self.assertEqual(self.setup_script(home)[0].returncode, 0)
        self.assertEqual([pathlib.Path(home).name for home in (self.machine / "fetched").read_text().split()], ["home", "other"])

    def test_what_is_found_is_said(self):
        self.cargo(self.machine / "bin/cargo", "1.63.0")
        done = subprocess.run([self.tree / "scripts/cargo", "build"], capture_output=True, text=True,
                              env={"PATH": str(self.machine / "bin"), "HOME": "/nonexistent"})
        self.assertEqual(done.returncode, 127)
        self.assertRegex(done.stderr, r"^Cargo 1\.85 or newer is needed, found .*bin/cargo \(1\.63\.0\); .*\n$")


if __name__ == "__main__":
    unittest.main()
