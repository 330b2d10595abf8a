"""What tests of the command line share: running the tool, its processes, .npy files."""

import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import uuid

ESPALIER = os.environ.get("ESPALIER", "build/release/bin/espalier")
MARK = "ESPALIER_TEST_MARK"

SMALL = "matmul:m=24,n=24,k=24"


def is_sanitized():
    version = subprocess.run([ESPALIER, "--version"], capture_output=True, text=True, check=True).stdout
    return "address" in version or "thread" in version


class CliTest(unittest.TestCase):
    """Each test has a folder of its own; what it starts carries a mark, and must be gone at its end."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-cli-"))
        self.mark = uuid.uuid4().hex

    def tearDown(self):
        left = self.processes_left(seconds=5)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.assertEqual(left, [], "processes were left behind")

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, text):
        path = self.path(name)
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(path, mode) as file:
            file.write(text)
        return path

    @staticmethod
    def contents(path):
        with open(path, "rb") as file:
            return file.read()

    def environment(self, **changes):
        return {**os.environ, MARK: self.mark, **changes}

    def start(self, *args, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([ESPALIER, *args], text=True, env=self.environment(), **options)

    def run_tool(self, *args, timeout=60, memory=None, env=None, **options):
        """The finished process. `memory` bounds its address space, in bytes."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.run([ESPALIER, *args], text=True, timeout=timeout, env=self.environment(**(env or {})),
                              preexec_fn=limit if memory else None, **options)

    def good(self, *args, **options):
        """Standard output of a run that must succeed."""
        done = self.run_tool(*args, **options)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr}")
        return done.stdout

    def good_json(self, *args, **options):
        return json.loads(self.good(*args, "--json", **options))

    def assert_fails(self, done, codes, *words):
        """It ended with one of the codes, said so in a sentence, and wrote no data."""
        self.assertIn(done.returncode, codes, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^espalier: ")
        for word in words:
            self.assertIn(word, done.stderr)
        for sign in ("terminate called", "internal check failed", "Assertion", "what():", "Sanitizer"):
            self.assertNotIn(sign, done.stderr)
        self.assertEqual(done.stdout or "", "")

    def marked_processes(self):
        """Numbers of the processes with this test's mark, zombies left out."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    marked = f"{MARK}={self.mark}".encode() in file.read()
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if marked and state != "Z":
                found.append(int(entry))
        return found

    def processes_left(self, seconds):
        end = time.monotonic() + seconds
        while (left := self.marked_processes()) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    def workers(self):
        """Numbers of the measuring processes."""
        found = []
        for pid in self.marked_processes():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if len(words) > 1 and words[1] == b"worker":
                found.append(pid)
        return found


def npy(shape, dtype="<f4", data=None, order="False", version=1):
    """The bytes of a .npy file; zeros unless there are data."""
    size = int(dtype[-1])
    count = 1
    for extent in shape:
        count *= extent
    shape_text = "(" + "".join(f"{extent}, " for extent in shape) + ")"
    header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape_text}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(header)) + header.encode() + (
        data if data is not None else bytes(size * count))


def read_npy(path):
    """Shape and float values of a .npy file that the tool wrote."""
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + length].decode(), {"__builtins__": {}})
    data = content[10 + length:]
    return header["shape"], struct.unpack(f"<{len(data) // 4}f", data)
