"""Plans, diagnoses and the program's other commands as functions: the same values as on the command line."""

import json
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import ridge

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests/programs/traces/trace_gpt2_train.json.gz"
RECORDS = ROOT / "records/h200-sxm/copy.jsonl.gz"
GPU = "h100-sxm"
TIMES = {
    "name": ["qkv", "mlp", "scores"],
    "op": ["matmul", "matmul", "softmax"],
    "m": [4096, 4096, None],
    "n": [6144, 14336, None],
    "k": [4096, 4096, None],
    "rows": [None, None, 8192],
    "cols": [None, None, 8192],
    "time_us": [290.0, 1400.0, 900.0],
}


def printed(*words):
    return json.loads(ridge.command(*words, "--json"))


class Plan(unittest.TestCase):
    def test_same_as_the_program(self):
        answer = ridge.plan("qwen3-8b", gpu=GPU, gpus=[1, 2], price=2.5)
        self.assertEqual(answer.to_dict(), printed("plan", "qwen3-8b", "--gpu", GPU, "--gpus", "1,2", "--price", "2.5"))
        self.assertEqual(answer.schema, "ridge/plan/1")
        self.assertTrue(answer.rows[0].fits)
        self.assertIn("Fits on 1 x", answer.verdict)
        self.assertIn("<table>", answer._repr_html_())

    def test_a_dict_is_a_model(self):
        config = {
            "model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
            "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048,
            "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "bfloat16",
        }
        answer = ridge.plan(config, gpu=GPU, gpus=1, batch=4)
        self.assertEqual(answer.parameters, ridge.plan("tinyllama-1.1b", gpu=GPU, gpus=1).parameters)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.json"
            path.write_text(json.dumps(config), encoding="utf-8")
            self.assertEqual(ridge.plan(path, gpu=GPU, gpus=1, batch=4).rows[0].tokens_per_s, answer.rows[0].tokens_per_s)

    def test_errors_name_the_field(self):
        with self.assertRaises(ridge.InputError) as caught:
            ridge.plan("qwen3-8b", gpu=GPU, gpus=0)
        self.assertEqual(caught.exception.field, "gpus")
        with self.assertRaises(ridge.InputError) as caught:
            ridge.plan("matmul", gpu=GPU)
        self.assertIn("ridge predict matmul", str(caught.exception))


class Serve(unittest.TestCase):
    def test_same_as_the_program(self):
        answer = ridge.serve("llama-3.2-1b", gpu=GPU, rate=[5, 20], count=50, ttft="200ms")
        self.assertEqual(answer.to_dict(), printed("serve", "llama-3.2-1b", "--gpu", GPU, "--rate", "5,20", "--count", "50", "--ttft", "200ms"))
        self.assertEqual([load.rate for load in answer.loads], [5.0, 20.0])
        self.assertGreaterEqual(answer.loads[1].ttft.p99_us, answer.loads[0].ttft.p50_us)


    def test_drafts_adapters_and_the_host(self):
        words = {"gpu": GPU, "rate": [3], "count": 40, "draft_model": "llama-3.2-1b", "draft_tree": "2x2", "adapters": 6, "offload": "8GiB"}
        answer = ridge.serve("llama-3.1-8b", **words)
        self.assertGreater(answer.loads[0].drafts_accepted, 0.0)
        self.assertGreater(answer.loads[0].adapters_fetched, 0)
        self.assertGreater(answer.host_cache_tokens, 0)
        self.assertIn("--speculative-config", answer.command)


class Errors(unittest.TestCase):
    def test_the_field_is_data(self):
        error = ridge.InputError("whatever the words are", "rows")
        self.assertEqual((str(error), error.field), ("whatever the words are", "rows"))
        self.assertEqual(pickle.loads(pickle.dumps(error)).field, "rows")
        self.assertIsNone(ridge.InputError("nothing in particular").field)

    def test_every_way_in_names_it(self):
        for ask, field in (
            (lambda: ridge.predict("matmul", m=64, n=64, gpu="h100"), "k"),
            (lambda: ridge.predict("matmul", m=64, n=64, k=64, gpu="h1000"), "gpu"),
            (lambda: ridge.plan("llama-3.1-8b", gpu="h100", price="x"), "price"),
            (lambda: ridge.vram("attention", heads=32, seq=-1, head_dim=64), "seq"),
            (lambda: ridge.model("llama-3.1-8b", gpu="h100", zero=7), "zero"),
        ):
            with self.assertRaises(ridge.InputError) as caught:
                ask()
            self.assertEqual(caught.exception.field, field, str(caught.exception))

    def test_importing_is_quick(self):
        script = "import time; start = time.perf_counter(); import ridge; print(time.perf_counter() - start)"
        took = min(float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout) for _ in range(5))
        # 60 ms on a quiet machine; others may run beside this test.
        self.assertLess(took, 0.3)


class Diagnose(unittest.TestCase):
    def test_tables_and_files_give_the_same(self):
        answer = ridge.diagnose(TIMES, gpu=GPU, on=["b200"])
        rows = [{name: column[i] for name, column in TIMES.items()} for i in range(3)]
        self.assertEqual(ridge.diagnose(rows, gpu=GPU, on="b200").to_dict(), answer.to_dict())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "times.csv"
            names = list(TIMES)
            lines = [",".join("" if row[name] is None else str(row[name]) for name in names) for row in rows]
            path.write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
            self.assertEqual(ridge.diagnose(path, gpu=GPU, on="b200").to_dict(), answer.to_dict())
            self.assertEqual(printed("diagnose", str(path), "--gpu", GPU, "--on", "b200"), answer.to_dict())
        self.assertEqual(answer.rows[0].verdict, "slow")
        self.assertEqual(answer.rows[0].elsewhere[0].gpu, "b200")

    def test_a_time_needs_a_unit(self):
        table = dict(TIMES)
        table["time"] = table.pop("time_us")
        with self.assertRaises(ridge.InputError) as caught:
            ridge.diagnose(table, gpu=GPU)
        self.assertIn("has no unit", str(caught.exception))
        measured = {row.name: row.measured_us for row in ridge.diagnose(table, gpu=GPU, unit="ms").rows}
        self.assertAlmostEqual(measured["mlp"] / 1400e3, 1.0, places=12)

    def test_frames(self):
        try:
            import pandas as pd
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = ridge.diagnose(pd.DataFrame(TIMES), gpu=GPU).to_pandas()
        # By the time to win.
        self.assertEqual(list(frame["name"]), ["scores", "mlp", "qkv"])


class Commands(unittest.TestCase):
    def test_each_command_is_a_function(self):
        cases = [
            (ridge.compare("matmul", m=512, n=512, k=512, dtype=["bf16", "fp8"], gpu=GPU), ["compare", "matmul", "--m", "512", "--n", "512", "--k", "512", "--dtype", "bf16,fp8", "--gpu", GPU]),
            (ridge.compare("model", config="qwen3-0.6b", batch=[1, 8], phase="decode", gpu=GPU), ["compare", "model", "qwen3-0.6b", "--batch", "1,8", "--phase", "decode", "--gpu", GPU]),
            (ridge.occupancy(threads=256, registers=96, gpu=GPU), ["occupancy", "--threads", "256", "--registers", "96", "--gpu", GPU]),
            (ridge.ops(), ["ops"]),
            (ridge.gpus(), ["gpus"]),
            (ridge.effect("coalescing", gpu=GPU), ["effect", "coalescing", "--gpu", GPU]),
            (ridge.vram("qwen3-8b", seq="128Ki", gpu=GPU), ["vram", "qwen3-8b", "--seq", "128Ki", "--gpu", GPU]),
            (ridge.vram("qwen3-8b", seq=[1024, 4096], gpu=GPU), ["vram", "qwen3-8b", "--seq", "1024,4096", "--gpu", GPU]),
            (ridge.model("qwen3-0.6b", gpu=GPU), ["model", "qwen3-0.6b", "--gpu", GPU]),
            (ridge.model("qwen3-0.6b", batch=[1, 8], gpu=GPU), ["model", "qwen3-0.6b", "--batch", "1,8", "--gpu", GPU]),
            (ridge.plan("qwen3-8b", gpu=GPU, gpus=[1, 2]), ["plan", "qwen3-8b", "--gpu", GPU, "--gpus", "1,2"]),
            (ridge.serve("qwen3-8b", gpu=GPU, rate=[2], count=50), ["serve", "qwen3-8b", "--gpu", GPU, "--rate", "2", "--count", "50"]),
            (ridge.diagnose(ROOT / "docs/examples/times.csv", gpu=GPU), ["diagnose", str(ROOT / "docs/examples/times.csv"), "--gpu", GPU]),
            (ridge.kernel(ROOT / "tests/kernel/data/row_sums.sass", gpu=GPU), ["kernel", str(ROOT / "tests/kernel/data/row_sums.sass"), "--gpu", GPU]),
            (ridge.trace(TRACE, gpu=GPU), ["trace", str(TRACE), "--gpu", GPU]),
            (ridge.validate(RECORDS), ["validate", str(RECORDS)]),
            (ridge.check(RECORDS, RECORDS), ["check", str(RECORDS), str(RECORDS)]),
        ]
        functions = {words[0] for _, words in cases} | {"predict", "sweep", "roofline", "explore", "calibrate"}
        # These measure, write files or settings, or belong to a shell.
        others = {"fit", "measure", "plot", "profile", "links", "doctor", "completions"}
        help_text = ridge.command("--help")
        commands = {line.split()[0] for line in help_text.split("Subcommands:")[1].split("Examples:")[0].splitlines() if line[2:3].strip()}
        self.assertEqual(commands - others, functions)
        for answer, words in cases:
            with self.subTest(words[0]):
                plain = [dict(item) if isinstance(item, ridge.Answer) else item for item in answer] if isinstance(answer, list) else answer.to_dict()
                self.assertEqual(json.dumps(plain, default=lambda item: item.to_dict()), json.dumps(printed(*words)))
                self.assertIn("<table>", answer._repr_html_())

    def test_the_module_is_the_program(self):
        run = subprocess.run([sys.executable, "-m", "ridge", "ops", "--json"], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(run.stdout), printed("ops"))
        run = subprocess.run([sys.executable, "-m", "ridge", "prdict"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("did you mean 'predict'", run.stderr)

    def test_a_list_is_csv_in_a_pipe(self):
        run = subprocess.run([sys.executable, "-m", "ridge", "gpus"], capture_output=True, text=True, check=True)
        self.assertTrue(run.stdout.startswith("name,sm_count,"))
        self.assertEqual(run.stdout, ridge.command("gpus", "--format", "csv"))


if __name__ == "__main__":
    unittest.main()
