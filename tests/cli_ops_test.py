#!/usr/bin/env python3
"""Every operator of the library through the command line: its inputs, its result, a short search."""

import json
import struct
import unittest

from cli_support import CliTest, npy

# A workload and the inputs that explain lists for it.
OPERATORS = [
    ("matmul:m=13,n=17,k=9,epilogue=bias+gelu", ["A", "B", "bias"]),
    ("matmul:m=13,n=17,k=9,dtype=i8,tb=1,weights=constant", ["A", "B"]),
    ("matmul:m=13,n=17,k=9,dtype=bf16", ["A", "B"]),
    ("batch_matmul:b=3,m=5,n=7,k=4,epilogue=scale+add", ["A", "B", "add0"]),
    ("conv1d:n=1,l=20,ci=5,co=7,k=3,p=1,d=2", ["X", "W"]),
    ("conv2d:n=1,h=7,w=9,ci=6,co=10,k=3,s=2,p=1,g=2,epilogue=bias+relu", ["X", "W", "bias"]),
    ("conv2d:n=1,h=7,w=9,ci=6,co=10,k=3,p=1,layout=nchw,dtype=f16", ["X", "W"]),
    ("conv3d:n=1,depth=3,h=5,w=4,ci=3,co=5,k=2,epilogue=silu", ["X", "W"]),
    ("depthwise_conv2d:n=1,h=7,w=9,c=5,k=3,p=1,mult=2", ["X", "W"]),
    ("conv2d_transpose:n=1,h=4,w=5,ci=3,co=18,k=3,s=2,p=1,op=1,epilogue=bias", ["X", "W", "bias"]),
    ("conv2d_transpose:n=1,h=4,w=5,ci=3,co=6,k=4,s=2,p=1,layout=nchw", ["X", "W"]),
    ("capsule_conv2d:n=1,h=4,w=5,ci=2,co=3,k=3,p=1", ["X", "W"]),
    ("max_pool2d:n=1,h=7,w=9,c=5,k=3,s=2,p=1,ceil=1,layout=nchw", ["X"]),
    ("avg_pool2d:n=1,h=7,w=9,c=5,k=3,s=2,p=1,dtype=u8", ["X"]),
    ("global_avg_pool2d:n=2,h=7,w=7,c=5,dtype=i8", ["X"]),
    ("reduce:op=argmax,shape=7x33,axes=1", ["X"]),
    ("reduce:op=argmin,shape=7x5x13,axes=0x2,dtype=u16", ["X"]),
    ("reduce:op=mean,shape=7x33,axes=0,dtype=f64", ["X"]),
    ("norm2:b=3,m=7,n=13", ["X"]),
    ("softmax:shape=3x17x5,axis=1", ["X"]),
    ("layer_norm:rows=5,cols=33", ["X", "gain", "bias"]),
    ("rms_norm:rows=5,cols=33,dtype=bf16", ["X", "gain"]),
    ("elementwise:op=add+relu,shape=4x1x33,b=5x1", ["A", "B"]),
    ("elementwise:op=cast,to=i8,shape=133", ["A"]),
    ("elementwise:op=div,shape=133,dtype=i32", ["A", "B"]),
    ("transpose:shape=5x7x9,perm=2x0x1,dtype=u8", ["X"]),
    ("embedding:rows=5,cols=9,vocab=7", ["W", "X"]),
    ("attention_scores:seq=9,heads=3,dim=5", ["Q", "K"]),
]

# Nothing to do, or hardly anything.
SMALLEST = [
    "matmul:m=0,n=4,k=3", "matmul:m=3,n=4,k=0", "conv2d:n=0,h=3,w=3,ci=1,co=1,k=3", "conv1d:n=1,l=1,ci=1,co=1,k=1",
    "conv2d_transpose:n=1,h=1,w=1,ci=1,co=1,k=1", "conv2d_transpose:n=1,h=2,w=2,ci=0,co=3,k=2,s=2",
    "capsule_conv2d:n=1,h=1,w=1,ci=1,co=1,k=1,caps=1", "reduce:op=argmax,shape=0x3,axes=1",
    "reduce:op=argmax,shape=1,axes=0", "norm2:b=0,m=3,n=3", "softmax:shape=3x0,axis=1", "rms_norm:rows=1,cols=1",
    "attention_scores:seq=1,heads=1,dim=1", "attention_scores:seq=3,heads=2,dim=0", "elementwise:op=add,shape=0x3",
]

AVX2 = "x86_64 features=+avx2,+fma,+f16c bits=256 regs=16"


class Operators(CliTest):
    def run_checked(self, workload, *args):
        result = json.loads(self.good("run", "--workload", workload, "--threads", "1", "--check", "--json", *args))
        self.assertTrue(result["verified"], workload)

    def test_inputs_are_listed_and_the_default_schedule_is_right(self):
        for workload, names in OPERATORS:
            with self.subTest(workload):
                listed = json.loads(self.good("explain", "--workload", workload, "--threads", "1", "--json"))
                tensors = [t["name"] for t in listed["tensors"] if not t.get("output")]
                self.assertEqual(tensors, names)
                self.run_checked(workload)

    def test_default_schedules_without_wide_vectors(self):
        for workload, _ in OPERATORS:
            with self.subTest(workload):
                self.run_checked(workload, "--target", AVX2)

    def test_smallest_extents(self):
        for workload in SMALLEST:
            with self.subTest(workload):
                self.run_checked(workload)

    def test_a_short_search_is_verified(self):
        for workload in ["conv2d_transpose:n=1,h=4,w=5,ci=3,co=18,k=3,s=2,p=1,op=1,epilogue=bias",
                         "capsule_conv2d:n=1,h=4,w=5,ci=2,co=3,k=3,p=1",
                         "attention_scores:seq=9,heads=3,dim=5",
                         "reduce:op=argmax,shape=7x33,axes=1",
                         "conv2d:n=1,h=7,w=9,ci=6,co=10,k=3,p=1,layout=nchw,epilogue=bias",
                         "matmul:m=13,n=17,k=9,dtype=f16"]:
            with self.subTest(workload):
                result = json.loads(self.good("tune", "--workload", workload, "--threads", "1", "--trials", "8",
                                              "--json"))
                self.assertTrue(result["verified"])
                self.assertEqual(result["failed"]["wrong"], 0)

    def test_bf16_files_hold_the_bits(self):
        # 1, -4 and 2^-126, the least that is normal; doubled.
        bits = [0x3F80, 0xC080, 0x0080]
        path = self.write("a.npy", npy((3,), "<u2", struct.pack("<3H", *bits)))
        out = self.path("y.npy")
        self.good("run", "--workload", "elementwise:op=add,shape=3,dtype=bf16", "--in", "A=" + path, "--in",
                  "B=" + path, "--out", "Y=" + out)
        content = self.contents(out)
        self.assertIn(b"'<u2'", content)
        self.assertEqual(struct.unpack("<3H", content[-6:]), (0x4000, 0xC100, 0x0100))


if __name__ == "__main__":
    unittest.main()
