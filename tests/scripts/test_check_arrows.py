"""Builds small source trees and checks what scripts/check_arrows says of them."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_arrows"


def check(files):
    """Exit status and printed lines for a tree of {path below src: text}."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            file = Path(root, "src", name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, SCRIPT, root], capture_output=True, text=True, check=False
        )
    return run.returncode, (run.stdout + run.stderr).splitlines()


def include(path):
    return f'#include "{path}"\n'


class CheckArrows(unittest.TestCase):
    def assert_passes(self, source, *targets):
        self.assertEqual(check({source: "".join(map(include, targets))}), (0, []))

    def assert_fails(self, source, target, complaint):
        text = "#pragma once\n\n" + include(target)
        self.assertEqual(check({source: text}), (1, [f"src/{source}:3: {complaint}"]))

    def test_own_folder_and_groups_below_pass(self):
        self.assert_passes("base/a.cc", "base/a.h")
        self.assert_passes("flow/queue/a.cc", "flow/queue/a.h", "record/events/e.h", "store/store.h")
        self.assert_passes("record/events/a.cc", "store/store.h", "domain/ids.h", "base/ids.h")
        self.assert_passes("store/sql/sqlite/a.cc", "store/store.h", "store/migrations/m.h")
        self.assert_passes("provider/chain.cc", "provider/scripted/play.h", "config/config.h")

    def test_arrows_inside_groups_pass(self):
        self.assert_passes("flow/admission/a.cc", "flow/ingress/i.h", "flow/queue/q.h")
        self.assert_passes("flow/scheduler/a.cc", "flow/queue/q.h", "flow/turn/t.h")
        self.assert_passes("flow/turn/a.cc", "flow/queue/q.h", "flow/admission/a.h", "flow/ingress/i.h")
        self.assert_passes("flow/plans/agents/a.cc", "flow/plans/p.h", "exec/plan/run/r.h", "exec/tasks/t.h")
        for entry in ("plan", "gate"):
            self.assert_passes(f"exec/{entry}/a.cc", "exec/tools/t.h", "exec/tasks/t.h", "exec/results/r.h")
        self.assert_passes("exec/tools/builtin/a.cc", "exec/tools/patch/p.h", "exec/tasks/t.h")
        self.assert_passes("agent/context/a.cc", "agent/identity/i.h", "agent/work/w.h", "agent/memory/m.h")
        self.assert_passes("agent/identity/a.cc", "agent/workspace/w.h")
        self.assert_passes("record/briefs/a.cc", "record/events/e.h")

    def test_app_includes_everything(self):
        self.assert_passes("app/main.cc", "surfaces/http/s.h", "service/service.h", "flow/turn/t.h",
                           "store/sql/sqlite/s.h", "provider/scripted/s.h", "base/a.h")

    def test_surfaces_see_service_domain_and_base(self):
        self.assert_passes("surfaces/cli/a.cc", "surfaces/cli/a.h", "service/wire/w.h", "domain/d.h", "base/a.h")

    def test_a_group_above_fails(self):
        self.assert_fails("base/a.h", "domain/ids.h", "base may not include domain (domain is above base)")
        self.assert_fails("exec/tools/a.h", "flow/turn/t.h",
                          "exec/tools may not include flow/turn (flow is above exec)")
        self.assert_fails("flow/turn/a.h", "app/main.h", "flow/turn may not include app (app is above flow)")

    def test_a_surface_that_looks_past_the_service_fails(self):
        rule = "(surfaces sees only service, domain, base)"
        self.assert_fails("surfaces/http/a.h", "store/store.h", f"surfaces/http may not include store {rule}")
        self.assert_fails("surfaces/tui/a.h", "flow/queue/q.h", f"surfaces/tui may not include flow/queue {rule}")
        self.assert_fails("surfaces/http/a.h", "surfaces/cli/c.h",
                          "surfaces/http may not include surfaces/cli (inside surfaces, http sees no other folder)")

    def test_store_and_provider_do_not_know_each_other(self):
        self.assert_fails("store/a.h", "provider/provider.h",
                          "store may not include provider (store sees only config, domain, base)")
        self.assert_fails("provider/a.h", "store/store.h",
                          "provider may not include store (store is above provider)")

    def test_backward_arrows_inside_a_group_fail(self):
        for source, target in [
            ("flow/queue", "flow/admission"), ("flow/ingress", "flow/admission"),
            ("flow/turn", "flow/scheduler"), ("flow/admission", "flow/turn"),
            ("flow/plans", "flow/turn"), ("flow/turn", "flow/plans"),
            ("exec/plan", "exec/gate"), ("exec/gate", "exec/plan"), ("exec/tools", "exec/plan"),
            ("exec/results", "exec/tools"), ("exec/tasks", "exec/tools"),
            ("agent/identity", "agent/context"), ("agent/workspace", "agent/identity"),
            ("record/events", "record/briefs"),
        ]:
            with self.subTest(source=source, target=target):
                status, lines = check({f"{source}/a.h": include(f"{target}/b.h")})
                self.assertEqual((status, len(lines)), (1, 1))
                self.assertIn(f"src/{source}/a.h:1: {source} may not include {target} (inside ", lines[0])

    def test_an_unknown_folder_asks_for_a_reviewed_line(self):
        advice = "add a reviewed line to scripts/check_arrows"
        for name, folder in [("misc/a.cc", "misc"), ("flow/misc/a.cc", "flow/misc"), ("a.cc", "."),
                             ("flow/a.cc", "flow")]:
            with self.subTest(name=name):
                self.assertEqual(check({name: ""}), (1, [f"src/{name}:1: unknown folder {folder}: {advice}"]))
        self.assert_fails("base/a.cc", "bench/b.h", f"unknown folder bench: {advice}")

    def test_test_support_is_for_tests(self):
        self.assert_passes("provider/chain_test.cc", "tests/support/fake_loop.h")
        self.assert_fails("provider/chain.cc", "tests/support/fake_loop.h",
                          "provider may not include tests (only *_test.cc may)")

    def test_no_spelling_of_an_include_slips_through(self):
        above = {"domain/ids.h": ""}
        for text in ("#include <domain/ids.h>", '#  include "domain/ids.h"', '#include "../domain/ids.h"'):
            with self.subTest(text=text):
                status, lines = check({"base/a.h": text + "\n"} | above)
                self.assertEqual((status, len(lines)), (1, 1))

    def test_system_headers_and_neighbours_pass(self):
        files = {"base/a.cc": '#include <vector>\n#include <sys/types.h>\n#include "a.h"\n', "base/a.h": ""}
        self.assertEqual(check(files), (0, []))

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(check({})[0], 2)


if __name__ == "__main__":
    unittest.main()
