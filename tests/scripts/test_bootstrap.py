"""Runs scripts/bootstrap with programs of its own on PATH: nothing here touches the system."""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bootstrap"
BASH = shutil.which("bash")
UPDATE = "apt-get update -q"
INSTALL = "apt-get install -y --no-install-recommends"

# Answers for every package asked for but those in $MISSING, until apt-get has installed them; of
# one in $REMOVED only the configuration is left.
DPKG_QUERY = """
echo dpkg-query >> "$LOG"
for package in "${@:3}"; do
    status=installed
    [[ " $REMOVED " != *" $package "* ]] || status=config-files
    if [[ " $MISSING " != *" $package "* || -e $LOG.done ]]; then printf '%s' "$package:$status "; fi
done
[[ -z $MISSING ]]
"""
APT_GET = """
echo "apt-get $*" >> "$LOG"
[[ $1 != install || -n $BROKEN ]] || : > "$LOG.done"
"""
SUDO = 'echo "sudo $*" >> "$LOG"; exec "$@"'


class Bootstrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.log = self.root / "log"
        self.release = "12"
        self.bin = self.root / "bin"
        self.bin.mkdir()
        (self.bin / "env").symlink_to(shutil.which("env"))

    def put(self, name, text=""):
        program = self.bin / name
        program.write_text(f"#!{BASH}\n{text}\n", encoding="utf-8")
        program.chmod(0o755)

    def debian(self, uid=0, sudo=False):
        self.put("dpkg-query", DPKG_QUERY)
        self.put("apt-get", APT_GET)
        self.put("id", f"echo {uid}")
        if sudo:
            self.put("sudo", SUDO)

    def run_script(self, **environment):
        release = self.root / "os-release"
        release.write_text(f'NAME="Debian GNU/Linux"\nVERSION_ID="{self.release}"\n', encoding="utf-8")
        defaults = {"MISSING": "", "REMOVED": "", "BROKEN": "", "HOLON_OS_RELEASE": str(release)}
        run = subprocess.run(
            [BASH, SCRIPT], capture_output=True, text=True, check=False,
            env=defaults | environment | {"PATH": str(self.bin), "LOG": str(self.log)},
        )
        self.assertEqual(run.stdout, "")
        calls = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return run.returncode, run.stderr, calls

    def test_says_and_installs_nothing_when_nothing_is_missing(self):
        self.debian()
        self.assertEqual(self.run_script(), (0, "", ["dpkg-query"]))

    def test_root_installs_just_what_is_missing(self):
        self.debian()
        status, said, calls = self.run_script(MISSING="ninja-build libfmt-dev")
        self.assertEqual((status, said), (0, "bootstrap: installing ninja-build libfmt-dev\n"))
        expected = ["dpkg-query", UPDATE, f"{INSTALL} ninja-build libfmt-dev", "dpkg-query"]
        self.assertEqual(calls, expected)

    def test_a_removed_package_with_configuration_left_is_missing(self):
        self.debian()
        status, said, calls = self.run_script(REMOVED="ccache")
        self.assertIn(f"{INSTALL} ccache", calls)
        self.assertEqual(status, 1, "the fake never installs it")
        self.assertIn("still missing after the installation: ccache", said)

    def test_a_user_installs_by_sudo(self):
        self.debian(uid=1000, sudo=True)
        status, _, calls = self.run_script(MISSING="lld-19")
        self.assertEqual(status, 0)
        prefix = "sudo env DEBIAN_FRONTEND=noninteractive"
        self.assertEqual(calls[1:-1], [f"{prefix} {UPDATE}", UPDATE,
                                       f"{prefix} {INSTALL} lld-19", f"{INSTALL} lld-19"])

    def test_without_root_and_sudo_it_fails_with_the_command(self):
        self.debian(uid=1000)
        status, said, calls = self.run_script(MISSING="lld-19")
        self.assertEqual((status, calls), (1, ["dpkg-query"]))
        self.assertIn(f"apt-get update && {INSTALL} lld-19\n", said)

    def test_fails_when_the_installation_did_not_help(self):
        self.debian()
        status, said, _ = self.run_script(MISSING="lld-19", BROKEN="yes")
        self.assertEqual(status, 1)
        self.assertIn("still missing after the installation: lld-19", said)

    def test_debian_13_gets_its_own_boost(self):
        self.debian()
        self.release = "13"
        _, _, calls = self.run_script(MISSING="libboost1.83-dev libboost-json1.83-dev")
        self.assertIn(f"{INSTALL} libboost1.83-dev libboost-json1.83-dev", calls)

    def test_elsewhere_it_lists_the_packages_and_fails_without_the_tools(self):
        self.put("cmake")
        status, said, _ = self.run_script()
        self.assertEqual(status, 1)
        self.assertIn("libboost1.81-dev", said)
        self.assertIn("not on PATH: clang++-19 ninja git make python3\n", said)

    def test_elsewhere_it_goes_on_when_the_tools_are_there(self):
        for tool in ("clang++-19", "cmake", "ninja", "git", "make", "python3"):
            self.put(tool)
        status, said, _ = self.run_script()
        self.assertEqual(status, 0)
        self.assertIn("libboost1.81-dev", said)


if __name__ == "__main__":
    unittest.main()
