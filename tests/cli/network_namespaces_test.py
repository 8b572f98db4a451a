# SPDX-License-Identifier: Apache-2.0
"""Two processes that share nothing but files and a wire: each in a network namespace of its own, as on two machines. Needs root and iproute2."""

import os
import shutil
import subprocess
import unittest

from weft_program import BINARY, Case, environment, losses

PORT = 29511  # free in namespaces that are new


def ip(*arguments):
    return subprocess.run(["ip", *map(str, arguments)], capture_output=True, text=True)


class NetworkNamespacesTest(Case):
    def setUp(self):
        super().setUp()
        if shutil.which("ip") is None:
            self.skipTest("ip (iproute2) is not installed")
        # Names of an interface have at most 15 letters.
        self.names = [f"weft{os.getpid() % 1000000}{side}" for side in "ab"]
        for name in self.names:
            made = ip("netns", "add", name)
            if made.returncode:
                self.skipTest(f"network namespaces cannot be made here: {made.stderr.strip()}")
            self.addCleanup(ip, "netns", "delete", name)
        self.connect()

    def connect(self):
        first, second = self.names
        made = ip("link", "add", first, "netns", first, "type", "veth", "peer", "name", second, "netns", second)
        if made.returncode:
            self.skipTest(f"no wire between namespaces can be made here: {made.stderr.strip()}")
        for number, name in enumerate(self.names, start=1):
            for arguments in (["address", "add", f"10.203.113.{number}/24", "dev", name], ["link", "set", name, "up"], ["link", "set", "lo", "up"]):
                done = ip("-netns", name, *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_train_together_over_the_wire(self):
        out, alone = self.folder / "apart", self.folder / "alone"
        started = []
        for rank, name in enumerate(self.names):
            variables = environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="10.203.113.1", MASTER_PORT=str(PORT), GLOO_SOCKET_IFNAME=name)
            command = [BINARY, *map(str, self.train_arguments(out, "--batch-size", "4", "--seed", "3", "--steps", "10"))]
            started.append(subprocess.Popen(["ip", "netns", "exec", name, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                            env=variables))
            self.addCleanup(started[-1].kill)
        for process in started:
            _, stderr = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 0, stderr)
        self.train("--batch-size", "8", "--seed", "3", "--steps", "10", out=alone)
        # Two batches of 4 and one of 8 round their sums in another order.
        for (step, apart), (_, together) in zip(losses(out), losses(alone), strict=True):
            self.assertLess(abs(apart - together), 1e-5, f"step {step}")


if __name__ == "__main__":
    unittest.main()
