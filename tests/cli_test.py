#!/usr/bin/env python3
"""The command line on good and bad input: nothing malformed may crash it, hang it or make it allocate."""

import json
import os
import struct
import subprocess
import unittest

from cli_support import CliTest, ESPALIER, SMALL, is_sanitized, npy, read_npy

VERBS = ["tune", "run", "bench", "explain", "transfer", "records", "compile", "worker"]

HUGE = "2147483647"
ANY = (1, 2)

# Arguments, exit status, what the message must mention.
BAD = [
    (["frobnicate"], (2,), ["unknown verb 'frobnicate'", "expected"]),
    (["tuen"], (2,), ["'tuen'", "'tune'"]),
    (["tune"], (2,), ["--workload is missing"]),
    (["tune", "--wrokload", SMALL], (2,), ["'--wrokload'", "--workload"]),
    (["run", "--workload", SMALL, "--frobnicate"], (2,), ["'--frobnicate'"]),
    (["run", "--workload", SMALL, "stray"], (2,), ["'stray'"]),
    (["tune", "--workload", SMALL, "--trials", "-1"], (2,), ["--trials", "'-1'"]),
    (["tune", "--workload", SMALL, "--trials", "ten"], (2,), ["--trials", "'ten'", "integer"]),
    (["tune", "--workload", SMALL, "--trials", "9" * 30], (2,), ["--trials"]),
    (["tune", "--workload", SMALL, "--trials"], (2,), ["--trials"]),
    (["tune", "--workload", SMALL, "--seconds", "0"], (2,), ["--seconds", "'0'"]),
    (["tune", "--workload", SMALL, "--seconds", "nan"], (2,), ["--seconds", "'nan'"]),
    (["tune", "--workload", SMALL, "--seed", "1.5"], (2,), ["--seed", "'1.5'"]),
    (["tune", "--workload", SMALL, "--threads", "0"], (2,), ["--threads", "'0'"]),
    (["tune", "--workload", SMALL, "--threads", "1000000"], (2,), ["--threads"]),
    (["tune", "--workload", SMALL, "--policy", "oracle"], (2,), ["oracle", "random", "descent"]),
    (["run", "--workload", SMALL, "--target", "z80"], (2,), ["z80"]),
    (["run", "--workload", SMALL, "--target", "x86_64 bits=-3"], (2,), ["--target"]),
    (["explain", "--workload", SMALL, "--show", "secrets"], (2,), ["--show", "'secrets'", "nest"]),
    (["bench"], (2,), ["--suite", "--workload"]),
    (["bench", "--workload", SMALL, "--batch-ms", "1e25"], (2,), ["--batch-ms", "60000"]),
    (["transfer", "--workload", SMALL], (2,), ["--from"]),
    (["transfer", "--from", "/nonexistent.jsonl", "--workload", SMALL], (1,), ["/nonexistent.jsonl"]),
    (["tune", "--workload", SMALL, "--policy", "paper"], (2,), ["paper", "--seeds-from"]),
    (["compile", "--workload", SMALL, "--emit", "elf"], (2,), ["--emit", "'elf'", "object"]),
    (["compile", "--workload", SMALL, "--symbol", "a b"], (2,), ["--symbol", "'a b'"]),
    (["compile", "--workload", SMALL, "--symbol", "int"], (2,), ["--symbol", "'int'", "keyword"]),
    (["compile", "--workload", SMALL, "--symbol", "new"], (2,), ["--symbol", "'new'", "keyword"]),
    (["records"], (2,), ["show", "merge"]),
    (["records", "burn", "x"], (2,), ["'burn'", "show"]),
    (["records", "merge", "a"], (2,), ["--out"]),
    (["records", "show"], (2,), ["one file"]),
]

BAD_WORKLOADS = [
    ("", ["--workload"]),
    ("matmull:m=1,n=1,k=1", ["matmull", "matmul"]),
    ("matmul", ["m"]),
    ("matmul:m=4,n=4", ["k"]),
    ("matmul:m=4,n=4,k=4,q=4", ["q"]),
    ("matmul:m=4,n=4,k=4,k=4", ["k"]),
    ("matmul:m=,n=4,k=4", ["m"]),
    ("matmul:m=four,n=4,k=4", ["four"]),
    ("matmul:m=4,n=4,k=4,", []),
    ("matmul:m=4;n=4;k=4", []),
    ("matmul:m=-4,n=4,k=4", ["-4"]),
    (f"matmul:m={HUGE},n={HUGE},k={HUGE}", ["bytes"]),
    ("matmul:m=99999999999999999999,n=4,k=4", ["99999999999999999999"]),
    ("matmul:m=4,n=4,k=4,dtype=f7", ["f7"]),
    ("matmul:m=4,n=4,k=4,epilogue=bias+warp", ["warp"]),
    ("conv2d:n=1,h=8,w=8,ci=4,co=4,k=3,s=0", ["s"]),
    ("conv2d:n=1,h=8,w=8,ci=4,co=4,k=0", ["k"]),
    ("conv2d:n=1,h=2,w=2,ci=4,co=4,k=5", ["k"]),
    ("conv2d:n=1,h=8,w=8,ci=4,co=4,k=3,g=3", ["g"]),
    ("conv2d:n=1,h=8,w=8,ci=4,co=4,k=3,layout=chwn", ["chwn"]),
    ("max_pool2d:n=1,h=8,w=8,c=4,k=2,p=2", ["p"]),
    ("reduce:op=median,shape=4x4,axes=0", ["median"]),
    ("reduce:op=sum,shape=4x4,axes=7", ["7"]),
    ("transpose:shape=2x3,perm=0x0", ["perm"]),
    ("elementwise:op=relu,shape=2x-3", ["-3"]),
    ("matmul:m=4,n=4,k=4,epilogue=" + "+".join(["relu"] * 20000), ["epilogue", "64 steps"]),
    ("elementwise:shape=4,op=" + "+".join(["add"] * 65), ["op", "64 steps"]),
    ("no/such/file.dag", ["no/such/file.dag"]),
]


class Usage(CliTest):
    def test_bad_arguments_are_named(self):
        for args, codes, words in BAD:
            with self.subTest(args=args):
                self.assert_fails(self.run_tool(*args, timeout=10), codes, *words)

    def test_bad_workloads_are_named_and_nothing_is_allocated(self):
        memory = None if is_sanitized() else 2 << 30
        for workload, words in BAD_WORKLOADS:
            for verb in ("explain", "tune"):
                with self.subTest(workload=workload, verb=verb):
                    done = self.run_tool(verb, "--workload", workload, timeout=10, memory=memory)
                    self.assert_fails(done, ANY, *words)

    def test_a_workload_that_does_not_fit_into_memory_is_refused(self):
        done = self.run_tool("run", "--workload", "elementwise:op=relu,shape=400000x400000", timeout=10)
        self.assert_fails(done, (1,), "GiB")

    def test_dag_files_that_are_none_are_refused(self):
        for text in ["", "\n\n", "A = placeholder f32[", "\x00\xff\x00", "return R", "A = placeholder f32[4]\n" * 2]:
            with self.subTest(text=text):
                path = self.write("bad.dag", text)
                self.assert_fails(self.run_tool("explain", "--workload", path, timeout=10), ANY)
        self.assert_fails(self.run_tool("explain", "--workload", str(self.folder), timeout=10), ANY)

    def test_what_messages_quote_is_harmless_and_short(self):
        for word in ("\x1b[31m", "x" * 100000, "\u00e9" * 3000):
            with self.subTest(word=word[:8]):
                done = self.run_tool("explain", "--workload", word, timeout=10)
                self.assert_fails(done, (2,))
                self.assertNotIn("\x1b", done.stderr)
                self.assertLess(len(done.stderr), 3000)

    def test_a_pipe_that_nobody_holds_the_other_end_of_is_no_hang(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        for args in (["tune", "--network", pipe], ["tune", "--workload", SMALL, "--model", pipe],
                     ["tune", "--workload", SMALL, "--records", pipe], ["bench", "--suite", pipe],
                     ["explain", "--workload", pipe], ["explain", "--workload", SMALL, "--trace", pipe],
                     ["transfer", "--workload", SMALL, "--from", pipe], ["records", "show", pipe],
                     ["run", "--workload", SMALL, "--in", f"A={pipe}"], ["run", "--workload", SMALL, "--out", f"Y={pipe}"]):
            with self.subTest(args=args):
                self.assert_fails(self.run_tool(*args, timeout=20), ANY)

    def test_no_verb_is_wrong_usage(self):
        done = self.run_tool()
        self.assertEqual(done.returncode, 2)
        self.assertIn("Usage:", done.stderr)

    def test_help_is_there_for_every_verb(self):
        top = self.good("--help")
        for verb in VERBS:
            self.assertIn(f"\n  {verb} ", top)
            self.assertIn(f"espalier {verb}", self.good(verb, "--help"))

    def test_help_of_tune_lists_the_contract(self):
        text = self.good("tune", "--help")
        for option in ("--workload", "--target", "--threads", "--trials", "--seconds", "--seed", "--policy",
                       "--records", "--seeds-from", "--network", "--propose", "--search-threads", "--json", "--quiet"):
            self.assertIn(option, text)

    def test_version_names_llvm_target_and_build(self):
        text = self.good("--version")
        self.assertRegex(text, r"LLVM 19\.\d+\.\d+")
        self.assertIn("build ", text)
        self.assertRegex(text, r"target (x86_64|aarch64) ")


class Streams(CliTest):
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_tool("--version", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)

    def test_a_worker_that_cannot_answer_says_so(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_tool("worker", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)

    def test_a_reader_that_goes_away_is_survived(self):
        explain = ["explain", "--workload", SMALL]
        for args in (["--version"], explain, [*explain, "--show", "asm"]):
            with self.subTest(args=args):
                reader, writer = os.pipe()
                os.close(reader)
                done = self.run_tool(*args, stdout=writer)
                os.close(writer)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_closed_streams_are_survived(self):
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            with self.subTest(closed=closed):
                words = " ".join(f"{fd}>&-" if fd else "0<&-" for fd in closed)
                records = self.path("records.jsonl")
                script = f'exec "$0" tune --workload {SMALL} --threads 1 --trials 2 --records "$1" {words}'
                done = subprocess.run(["sh", "-c", script, ESPALIER, records], env=self.environment(), timeout=60,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(records, encoding="utf-8") as file:
                    for line in file:
                        json.loads(line)

    def test_numbers_have_points_in_any_locale(self):
        for locale in ("de_DE.UTF-8", "C", "nonsense"):
            done = self.run_tool("run", "--workload", SMALL, "--json", env={"LC_ALL": locale})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(json.loads(done.stdout)["us"], 0)


class Run(CliTest):
    def test_it_is_checked_and_says_which_look_up_was_used(self):
        result = self.good_json("run", "--workload", SMALL, "--check", "--threads", "1")
        self.assertTrue(result["verified"])
        self.assertEqual(result["lookup"], "default")
        self.assertEqual(result["outputs"][0]["shape"], [24, 24])

    def test_text_output_says_the_same(self):
        text = self.good("run", "--workload", SMALL, "--check")
        self.assertIn("look-up: default", text)
        self.assertIn("checked against the naive evaluator", text)

    def test_given_inputs_give_the_right_output(self):
        a = self.write("a.npy", npy((2, 3), data=struct.pack("<6f", 1, 2, 3, 4, 5, 6)))
        # In Fortran order: the columns of [[1, 0], [0, 1], [1, 1]].
        b = self.write("b.npy", npy((3, 2), order="True", data=struct.pack("<6f", 1, 0, 1, 0, 1, 1)))
        out = self.path("y.npy")
        self.good("run", "--workload", "matmul:m=2,n=2,k=3", "--in", f"A={a}", "--in", f"B={b}", "--out", f"Y={out}")
        self.assertEqual(read_npy(out), ((2, 2), (4, 5, 10, 11)))

    def test_the_same_seed_gives_the_same_output(self):
        for name in ("one", "two"):
            self.good("run", "--workload", SMALL, "--seed", "5", "--out", f"Y={self.path(name)}")
        self.assertEqual(self.contents(self.path("one")), self.contents(self.path("two")))

    def test_bad_arrays_are_named(self):
        good = self.write("good.npy", npy((24, 24)))
        cases = [
            (["--in", "A"], ["NAME=FILE"]),
            (["--in", "=x"], ["NAME=FILE"]),
            (["--in", f"C={good}"], ["'C'", "A, B"]),
            (["--in", f"Y={good}"], ["'Y'"]),
            (["--in", f"A={good}", "--in", f"A={good}"], ["twice"]),
            (["--in", f"A={self.path('missing.npy')}"], ["missing.npy"]),
            (["--in", f"A={self.folder}"], []),
            (["--in", "A=/dev/zero"], ["/dev/zero"]),
            (["--in", f"A={self.write('shape.npy', npy((24, 23)))}"], ["[24, 24]", "[24, 23]"]),
            (["--in", f"A={self.write('rank.npy', npy((576,)))}"], ["[24, 24]"]),
            (["--in", f"A={self.write('type.npy', npy((24, 24), dtype='<f8'))}"], ["f32", "f64"]),
            (["--in", f"A={self.write('short.npy', npy((24, 24), data=b'1234'))}"], ["short.npy"]),
            (["--in", f"A={self.write('junk.npy', b'junk' * 9)}"], ["junk.npy"]),
            (["--in", f"A={self.write('empty.npy', b'')}"], ["empty.npy"]),
            (["--in", f"A={self.write('large.npy', npy((10**9, 10**9), data=b''))}"], ["large.npy"]),
            (["--out", f"A={good}"], ["'A'", "Y"]),
            (["--in", f"A={good}", "--out", f"Y={good}"], ["overwrite"]),
            (["--out", f"Y={self.path('no/folder/y.npy')}"], ["no/folder/y.npy"]),
            (["--out", "Y=/dev/full"], ["/dev/full"]),
        ]
        for args, words in cases:
            with self.subTest(args=args):
                self.assert_fails(self.run_tool("run", "--workload", SMALL, *args, timeout=10), ANY, *words)

    def test_an_index_out_of_range_is_an_error(self):
        spec = "embedding:rows=2,cols=4,vocab=8"
        inputs = json.loads(self.good("explain", "--workload", spec, "--json"))["tensors"]
        index = next(t for t in inputs if t["dtype"].startswith("i"))
        size = int(index["dtype"][1:]) // 8
        data = (7).to_bytes(size, "little") + (8).to_bytes(size, "little")
        path = self.write("index.npy", npy((2,), dtype=f"<i{size}", data=data))
        done = self.run_tool("run", "--workload", spec, "--in", f"{index['name']}={path}")
        self.assert_fails(done, ANY, index["name"], "8")

    def test_outputs_of_any_type_are_checked(self):
        for dtype in ("i32", "u8", "i64", "bool", "f16", "bf16", "f64"):
            with self.subTest(dtype=dtype):
                path = self.write("copy.dag", f"A = placeholder {dtype}[5]\nY[i: 5] = A[4 - i]\nreturn Y\n")
                self.assertTrue(self.good_json("run", "--workload", path, "--check")["verified"])

    def test_a_chain_in_which_all_is_read_several_times_is_compiled_in_no_time(self):
        self.good("run", "--workload", "elementwise:shape=64,op=" + "+".join(["gelu_tanh"] * 30), timeout=30)

    def test_a_given_trace_is_taken(self):
        steps = self.good("explain", "--workload", SMALL, "--threads", "1", "--show", "steps")
        result = self.good_json("run", "--workload", SMALL, "--threads", "1", "--check", "--trace",
                                steps.replace("\n", "\\n"))
        self.assertEqual(result["lookup"], "given")
        self.assertTrue(result["verified"])
        for trace in ("Y: explode i", "Y: split zz -> zz.0 zz.1 by 4", "Y: split i", "\x00"):
            with self.subTest(trace=trace):
                done = self.run_tool("run", "--workload", SMALL, "--trace", self.write("trace", trace))
                self.assert_fails(done, ANY)


class Explain(CliTest):
    def test_everything_is_shown(self):
        text = self.good("explain", "--workload", "matmul:m=8,n=8,k=8,epilogue=bias+relu")
        for word in ("definition", "A f32[8, 8]", "bias f32[8]", "Y f32[8, 8], output", "look-up: default",
                     "loop nest"):
            self.assertIn(word, text)

    def test_each_part_is_shown(self):
        expected = {"dag": "return", "sketches": "(preferred)", "steps": "", "nest": "", "cost": "limited by",
                    "features": "hot_compute", "ir": "define", "asm": ".text"}
        for part, word in expected.items():
            with self.subTest(part=part):
                text = self.good("explain", "--workload", SMALL, "--show", part)
                self.assertTrue(text.strip())
                self.assertIn(word, text)

    def test_the_hot_loop_of_assembly_is_marked_and_counted(self):
        args = ("explain", "--workload", "matmul:m=64,n=64,k=64", "--threads", "1", "--target",
                "x86_64 features=+avx2,+fma", "--show", "asm")
        text = self.good(*args)
        self.assertRegex(text, r"(?m)^> \tvfmadd")
        self.assertIn("fma share", text)
        result = self.good_json(*args)
        self.assertIn("vfmadd", result["asm"])
        loop = result["hot_loops"][0]
        self.assertEqual(loop["spill_store"] + loop["spill_reload"], 0)
        self.assertGreater(loop["fma_share"], 0.4)
        self.assertGreater(loop["bytes_per_fma"], 0)

    def test_a_dag_is_read_back_from_its_text(self):
        spec = "conv2d:n=1,h=6,w=6,ci=2,co=4,k=3,p=1,epilogue=bias+relu"
        text = self.good("explain", "--workload", spec, "--show", "dag")
        path = self.write("conv.dag", text)
        self.assertEqual(self.good("explain", "--workload", path, "--show", "dag"), text)
        self.assertTrue(self.good_json("run", "--workload", path, "--check")["verified"])


class Compile(CliTest):
    def test_a_c_program_can_link_what_is_written(self):
        library = os.path.join(os.path.dirname(ESPALIER), "..", "libespalier_rt.a")
        include = os.path.join(os.path.dirname(ESPALIER), "..", "include")
        if not os.path.exists(library) or not os.path.exists(include):
            self.skipTest("not in a build folder")
        if is_sanitized():
            self.skipTest("the run-time library is instrumented, the C program is not")
        prefix = self.path("conv")
        # One pixel a row: Y[w, co] = sum of the three X around w, each times the weight of its tap.
        self.good("compile", "--workload", "conv2d:n=1,h=1,w=4,ci=1,co=16,kh=1,kw=3,ph=0,pw=1", "--threads", "1",
                  "--symbol", "conv", "--out", prefix, "--emit", "object,header,ir,asm")
        self.assertIn(b"@conv(", self.contents(prefix + ".ll"))
        self.assertIn(b"conv:", self.contents(prefix + ".s"))
        program = self.write("main.c", """
            #include <stdio.h>
            #include <stdlib.h>
            #include "conv.h"
            static float* floats(size_t n) { return aligned_alloc(64, (n * 4 + 63) / 64 * 64); }
            int main(void) {
              float *x = floats(4), *w = floats(48), *y = floats(64);
              for (int i = 0; i < 4; ++i) x[i] = i + 1;
              for (int tap = 0; tap < 3; ++tap)
                for (int co = 0; co < 16; ++co) w[tap * 16 + co] = tap + 1 + 100 * co;
              void* workspace = floats(CONV_WORKSPACE_BYTES / 4 + 16);
            #ifdef CONV_W_PACK_BYTES
              void* packed = floats(CONV_W_PACK_BYTES / 4);
              void* pack_params[] = {w, packed};
              if (conv_pack(pack_params, workspace, 0)) return 1;
              void* params[] = {x, packed, y};
            #else
              void* params[] = {x, w, y};
            #endif
              if (conv(params, workspace, 0)) return 1;
              printf("%g %g %g\\n", y[0], y[16], y[63]);
              return 0;
            }""")
        subprocess.run(["cc", program, prefix + ".o", library, "-I", include, "-pthread", "-o", self.path("main")],
                       check=True)
        printed = subprocess.run([self.path("main")], capture_output=True, text=True, check=True).stdout
        # 2*1 + 3*2;  1*1 + 2*2 + 3*3;  1501*3 + 1502*4.
        self.assertEqual(printed, "8 14 10511\n")

    def test_a_folder_that_does_not_exist_is_named(self):
        done = self.run_tool("compile", "--workload", SMALL, "--out", self.path("none/mm"))
        self.assert_fails(done, (1,), "none/mm")


class Records(CliTest):
    def tune(self, name, *args):
        path = self.path(name)
        self.good("tune", "--workload", SMALL, "--threads", "1", "--trials", "3", "--records", path, *args)
        return path

    def test_bad_files_are_refused_everywhere(self):
        foreign = json.dumps({"i": [["[\"key\"]", "llvm"], [[], []]], "r": [[1], 0, 1, 1], "v": "v0.6"}) + "\n"
        newer = json.dumps({"v": 999, "workload": SMALL}) + "\n"
        files = {
            "junk": b"\x00\x01\x02 junk\n" * 50,
            "text": "not a record\n",
            "foreign": foreign,
            "newer": newer,
            "number": "17\n",
            "deep": "[" * 100000 + "\n",
        }
        for name, content in files.items():
            path = self.write(name, content)
            for args in (["records", "show", path], ["run", "--workload", SMALL, "--records", path],
                         ["tune", "--workload", SMALL, "--trials", "1", "--records", path]):
                with self.subTest(file=name, args=args[0]):
                    self.assert_fails(self.run_tool(*args, timeout=10), (1,), name)
            kept = self.contents(path)
            self.assertEqual(kept, content.encode() if isinstance(content, str) else content, "the file was changed")

    def test_files_that_cannot_be_used_are_refused(self):
        for args in (["records", "show", self.path("missing")], ["records", "show", str(self.folder)],
                     ["records", "best", "/dev/zero"], ["run", "--workload", SMALL, "--records", self.path("missing")],
                     ["tune", "--workload", SMALL, "--records", self.path("no/folder/r.jsonl")],
                     ["tune", "--workload", SMALL, "--records", str(self.folder)],
                     ["tune", "--workload", SMALL, "--records", "/dev/full"]):
            with self.subTest(args=args):
                self.assert_fails(self.run_tool(*args, timeout=10), ANY)

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_a_file_without_permission_is_refused(self):
        path = self.write("secret", "")
        os.chmod(path, 0)
        self.assert_fails(self.run_tool("records", "show", path), (1,), "secret")

    def test_a_torn_line_costs_that_line_only(self):
        path = self.tune("records.jsonl")
        content = self.contents(path)
        count = content.count(b"\n")
        with open(path, "wb") as file:
            file.write(content[:-40])
        done = self.run_tool("records", "show", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning", done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["records"]), count - 1)
        self.tune("records.jsonl")
        self.assertEqual(len(self.good_json("records", "show", path)["records"]), count)

    def test_records_are_shown_merged_pruned_and_verified(self):
        one, two = self.tune("one", "--seed", "1"), self.tune("two", "--seed", "2")
        total = sum(len(self.good_json("records", "show", path)["records"]) for path in (one, two))
        self.good("records", "merge", "--out", self.path("both"), one, two, two)
        self.assertEqual(len(self.good_json("records", "show", self.path("both"))["records"]), total)
        self.assertIn("0 faults", self.good("records", "verify", self.path("both")))
        best = self.good_json("records", "best", self.path("both"))["tasks"]
        self.assertEqual(len(best), 1)
        # Times of two runs do not compare.
        self.assertGreater(best[0]["best_us"], 0)
        self.assertGreater(best[0]["default_us"], 0)
        self.good("records", "merge", "--out", one, one, two)
        self.assertEqual(len(self.good_json("records", "show", one)["records"]), total)
        self.good("records", "prune", one)
        self.assertLess(len(self.good_json("records", "show", one)["records"]), total)
        self.assertEqual(self.good_json("records", "best", one)["tasks"][0]["best_us"], best[0]["best_us"])

    def test_merge_does_not_overwrite_a_file_that_it_does_not_read(self):
        one, two = self.tune("one"), self.tune("two", "--seed", "2")
        before = self.contents(two)
        self.assert_fails(self.run_tool("records", "merge", "--out", two, one), ANY, "two")
        self.assertEqual(self.contents(two), before)

    def test_a_record_that_was_tampered_with_is_found(self):
        path = self.tune("records.jsonl")
        lines = self.contents(path).decode().splitlines()
        record = json.loads(lines[0])
        record["trace"] = ["Y: split nonsense by 4"]
        lines[0] = json.dumps(record)
        self.write("records.jsonl", "\n".join(lines) + "\n")
        done = self.run_tool("records", "verify", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(":1:", done.stdout)
        self.assertIn("1 faults", done.stdout)

    def test_run_takes_the_exact_record_and_names_a_compatible_one(self):
        path = self.tune("records.jsonl")
        self.assertEqual(
            self.good_json("run", "--workload", SMALL, "--threads", "1", "--records", path)["lookup"], "exact")
        done = self.run_tool("run", "--workload", SMALL, "--threads", "2", "--records", path, "--json")
        self.assertEqual(json.loads(done.stdout)["lookup"], "compatible")
        self.assertIn("for 1 thread", done.stderr)
        other = self.good_json("run", "--workload", "matmul:m=8,n=8,k=8", "--records", path)
        self.assertEqual(other["lookup"], "transferred")

    def test_the_schedule_of_any_line_can_be_looked_at(self):
        path = self.tune("records.jsonl")
        lines = [json.loads(line) for line in self.contents(path).decode().splitlines()]
        for number in (1, len(lines) // 2):
            with self.subTest(line=number):
                steps = self.good("explain", "--workload", SMALL, "--threads", "1", "--records", path, "--line",
                                  str(number), "--show", "steps")
                self.assertEqual(steps.split("\n")[:-1], lines[number - 1]["trace"])
        task = ("explain", "--workload", SMALL, "--records", path)
        self.assert_fails(self.run_tool(*task, "--line", str(len(lines) + 1)), (1,), "holds no record", "records show")
        self.assert_fails(self.run_tool(*task, "--line", "0"), (2,), "--line")
        self.assert_fails(self.run_tool("run", "--workload", SMALL, "--line", "1"), (2,), "--records")
        self.assert_fails(self.run_tool("run", "--workload", "matmul:m=8,n=8,k=8", "--records", path, "--line", "1"), (2,),
                          "another workload", SMALL)


if __name__ == "__main__":
    unittest.main()
