"""`ridge.torch`: operators, time and memory of a model from fake tensors, without a GPU."""

import unittest

try:
    import torch
except ImportError:
    torch = None

import ridge

GPU = "h100-sxm"


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Estimates(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.LayerNorm(2048), torch.nn.Linear(2048, 512)
        )
        self.example = torch.randn(1024, 512)

    def estimate(self, **options):
        from ridge.torch import estimate

        return estimate(self.model, self.example, gpu=GPU, **options)

    def names(self, report):
        return [row["name"] for row in report.to_dict()["operators"]]

    def test_shapes_from_values(self):
        from ridge.torch import estimate

        class Kept(torch.nn.Module):
            def forward(self, x):
                return torch.exp(x[x > 0])

        kept, x = Kept(), torch.tensor([1.0, -1.0, 2.0, 3.0])
        if hasattr(torch, "compile"):  # before PyTorch 2.0 fake tensors say it otherwise
            with self.assertRaisesRegex(ridge.InputError, r"(nonzero|index).*test_torch\.py:\d+.*values=True"):
                estimate(kept, x, gpu=GPU)
        report = estimate(kept, x, gpu=GPU, values=True)
        shapes = {row["name"]: row["shape"] for row in report.to_dict()["operators"]}
        self.assertIn("[3]", shapes["aten::exp"])

    def test_inference_mode_is_recorded_as_its_parts(self):
        class Without(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            @torch.inference_mode()
            def forward(self, x):
                return self.model(x).to(torch.bfloat16).matmul(torch.zeros(512, 64, dtype=torch.bfloat16))

        from ridge.torch import estimate

        report = estimate(Without(self.model), self.example, gpu=GPU)
        self.assertEqual(report.to_dict()["not_modelled"], 0)
        self.assertGreater(report.gpu_time_us, self.estimate().gpu_time_us)
        names = self.names(report)
        self.assertEqual([each for each in names if each in ("aten::linear", "aten::matmul", "aten::to", "aten::zeros")], [])
        self.assertIn("aten::fill_", names)

    @unittest.skipUnless(hasattr(torch, "compile"), "needs PyTorch 2")
    def test_recurrent_layers_are_operators_of_cudnn(self):
        from ridge.torch import estimate

        def layers(model, x, **options):
            rows = estimate(model, x, gpu=GPU, mode="train", **options).to_dict()["operators"]
            return {row["name"]: row for row in rows if "rnn" in row["name"]}

        for kind, options in ((torch.nn.LSTM, {}), (torch.nn.LSTM, {"proj_size": 32}), (torch.nn.GRU, {"bias": False}), (torch.nn.RNN, {})):
            model = kind(64, 128, num_layers=2, bidirectional=True, batch_first=True, **options)
            for values in (False, True):
                found = layers(model, torch.randn(8, 20, 64), values=values)
                self.assertEqual(set(found), {"aten::_cudnn_rnn", "aten::_cudnn_rnn_backward"})
                self.assertTrue(all(row["count"] == 1 and row["time_us"] > 0.0 for row in found.values()))
        longer = layers(torch.nn.LSTM(64, 128), torch.randn(40, 8, 64))["aten::_cudnn_rnn"]["time_us"]
        shorter = layers(torch.nn.LSTM(64, 128), torch.randn(20, 8, 64))["aten::_cudnn_rnn"]["time_us"]
        self.assertGreater(longer, 1.4 * shorter)

    @unittest.skipUnless(hasattr(torch, "compile"), "needs PyTorch 2")
    def test_recurrent_layers_keep_their_values(self):
        from ridge._dispatch import AsOnGpu
        from ridge._recorder import Recorder

        class Packed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.LSTM(16, 32, num_layers=2)

            def forward(self, x):
                packed = torch.nn.utils.rnn.pack_padded_sequence(x, [6, 4, 2])
                return torch.nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0])[0]

        model, x = Packed(), torch.randn(6, 3, 16)
        with torch.no_grad():
            plain = model(x)
            with Recorder(model) as recorder, AsOnGpu(GPU, True):
                recorded = model(x)
        self.assertTrue(torch.equal(plain, recorded))
        self.assertIn("aten::_cudnn_rnn", {call.name for call in recorder.calls.values()})

    def test_an_index_of_the_last_dimension(self):
        from ridge.torch import estimate

        class Columns(torch.nn.Module):
            def forward(self, x, place):
                return x[:, place]

        x, place = torch.randn(2, 150000), torch.randint(0, 150000, (150000,))
        report = estimate(Columns(), x, place, gpu=GPU)
        self.assertLess(report.gpu_time_us, 100.0)  # 300,000 elements, not 150,000 rows of them

    def test_workspace_of_a_convolution(self):
        from ridge.torch import estimate

        model, x = torch.nn.Conv2d(16, 16, 3, padding=1, bias=False), torch.randn(4, 16, 32, 32)
        first = estimate(model, x, gpu=GPU)
        last = estimate(model, x.contiguous(memory_format=torch.channels_last), gpu=GPU)
        # The input, the result and the filters in another layout (docs/vram.md, V16).
        turned = 4 * (2 * x.numel() + 16 * 16 * 9)
        self.assertAlmostEqual(first.peak_bytes - last.peak_bytes, turned, delta=4096)

    def test_inference(self):
        report = self.estimate()
        counts = {}
        for row in report.to_dict()["operators"]:
            counts[row["name"]] = counts.get(row["name"], 0) + row["count"]
        self.assertEqual(counts, {"aten::addmm": 2, "aten::gelu": 1, "aten::native_layer_norm": 1})
        self.assertEqual(report.parameters, sum(p.numel() for p in self.model.parameters()))
        self.assertEqual(report.weights_bytes, 4 * report.parameters)
        self.assertEqual(report.not_modelled, 0)
        self.assertLessEqual(report.gpu_time_low_us, report.gpu_time_us)
        self.assertLessEqual(report.gpu_time_us, report.gpu_time_high_us)

    def test_product_costs_what_predict_says(self):
        report = self.estimate()
        single = ridge.predict(
            "matmul", m=1024, n=2048, k=512, dtype="fp32", b_layout="column", epilogue="bias", l2="cold", impl="torch", gpu=GPU
        )
        shapes = {row["shape"]: row for row in report.to_dict()["operators"] if row["name"] == "aten::addmm"}
        wide = next(row for shape, row in shapes.items() if "[512,2048]" in shape)
        self.assertAlmostEqual(wide["time_us"] / wide["count"], single.time_us, places=6)

    def test_memory(self):
        report = self.estimate()
        inputs = self.example.numel() * 4
        hidden = 1024 * 2048 * 4
        # At the peak: weights, input, and the norm's input and result with two vectors of statistics.
        self.assertEqual(report.workspace_bytes, 32 << 20)  # cuBLAS's workspace on Hopper, for the one thread that multiplies
        peak = report.peak_bytes - report.workspace_bytes
        self.assertGreaterEqual(peak, report.weights_bytes + inputs + 2 * hidden)
        self.assertLess(peak, report.weights_bytes + inputs + 3 * hidden + (8 << 20))
        self.assertGreaterEqual(report.reserved_bytes, report.peak_bytes)

    def test_training_keeps_activations_and_makes_gradients(self):
        inference, training = self.estimate(), self.estimate(mode="train")
        self.assertGreater(training.gpu_time_us, 1.8 * inference.gpu_time_us)
        self.assertEqual(training.workspace_bytes, 2 * inference.workspace_bytes)
        self.assertGreater(training.peak_bytes, inference.peak_bytes + inference.weights_bytes // 2)
        self.assertIn("aten::native_layer_norm_backward", self.names(training))
        stepped = self.estimate(mode="train", optimizer="adamw")
        self.assertGreater(stepped.gpu_time_us, training.gpu_time_us)
        # Weights, gradients and two moments. The activations are freed by then.
        self.assertGreaterEqual(stepped.peak_bytes, 4 * inference.weights_bytes)

    def test_the_model_is_left_as_it_was(self):
        before = [p.detach().clone() for p in self.model.parameters()]
        self.estimate(mode="train", optimizer="sgd")
        for old, new in zip(before, self.model.parameters()):
            self.assertTrue(torch.equal(old, new))
            self.assertIsNone(new.grad)
        self.assertEqual(tuple(self.model(self.example).shape), (1024, 512))

    def test_modules(self):
        modules = {row["name"] for row in self.estimate().to_dict()["modules"]}
        self.assertIn("0: Linear", modules)
        self.assertIn("2: LayerNorm", modules)

    def test_half_the_bytes(self):
        self.model = self.model.to(torch.bfloat16)
        self.example = self.example.to(torch.bfloat16)
        report = self.estimate()
        self.assertEqual(report.weights_bytes, 2 * report.parameters)

    def test_errors(self):
        with self.assertRaises(ridge.InputError) as caught:
            self.estimate(mode="serve")
        self.assertEqual(caught.exception.field, "mode")
        with self.assertRaises(ridge.InputError):
            self.estimate(mode="train", optimizer="lion")
        from ridge.torch import estimate

        with self.assertRaises(ridge.InputError):
            estimate(self.model, self.example, gpu="h1000")

    def test_page(self):
        report = self.estimate()
        self.assertIn("addmm", repr(report))
        self.assertIn("<code>aten::addmm</code>", report._repr_html_())


class Attending(torch.nn.Module if torch else object):
    """Attention with dropout after a projection."""

    def __init__(self, dropout=0.1):
        super().__init__()
        self.qkv = torch.nn.Linear(256, 768)
        self.dropout = dropout

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x).view(*x.shape[:2], 12, 64).transpose(1, 2).chunk(3, dim=1)
        p = self.dropout if self.training else 0.0
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return torch.nn.functional.dropout(out, 0.1, self.training)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Dispatch(unittest.TestCase):
    """Attention and dropout use the GPU's operators, whatever this machine would run."""

    def operators(self, model, *args, **options):
        from ridge.torch import estimate

        report = estimate(model, *args, **{"gpu": GPU, **options})
        return {row["name"].removeprefix("aten::"): row["count"] for row in report.to_dict()["operators"]}, report

    @unittest.skipIf(not hasattr(torch and torch.nn.functional, "scaled_dot_product_attention"), "PyTorch before 2.0")
    def test_attention_with_dropout_is_one_operator_of_the_gpu(self):
        x = torch.randn(2, 512, 256, dtype=torch.bfloat16)
        model = Attending().to(torch.bfloat16).train()
        for gpu, backend in (("h100-sxm", "cudnn"), ("a100-sxm-80gb", "flash")):
            if not hasattr(torch.ops.aten, f"_scaled_dot_product_{backend}_attention"):
                continue
            names, report = self.operators(model, x, mode="train", gpu=gpu)
            self.assertEqual(names[f"_scaled_dot_product_{backend}_attention"], 1)
            self.assertEqual(names[f"_scaled_dot_product_{backend}_attention_backward"], 1)
            self.assertEqual(names["native_dropout"], 1)
            self.assertFalse({"bmm", "_softmax", "_safe_softmax", "bernoulli_"} & set(names))
            # There is no matrix of scores, which would take 4 MiB: 2 x 4 x 512 x 512 elements of two bytes.
            self.assertLess(report.peak_bytes - report.workspace_bytes, 10 << 20)

    @unittest.skipIf(not hasattr(torch and torch.nn.functional, "scaled_dot_product_attention"), "PyTorch before 2.0")
    def test_single_precision_takes_the_memory_efficient_kernel(self):
        names, _ = self.operators(Attending().eval(), torch.randn(2, 512, 256))
        self.assertIn("_scaled_dot_product_efficient_attention", names)

    @unittest.skipIf(not hasattr(torch and torch.nn.functional, "scaled_dot_product_attention"), "PyTorch before 2.0")
    def test_backends_by_shape(self):
        from ridge._dispatch import attention_backend

        def backend(capability, heads=8, kv_heads=8, keys=128, width=64, dtype=torch.bfloat16, mask=None, causal=False):
            q = torch.empty(1, heads, 128, width, dtype=dtype, device="meta")
            k = torch.empty(1, kv_heads, keys, width, dtype=dtype, device="meta")
            return attention_backend(q, k, k, mask, causal, capability)

        self.assertEqual(backend((9, 0)), "cudnn")
        self.assertEqual(backend((9, 0), width=256), "cudnn")
        self.assertEqual(backend((10, 0), width=256), "flash")
        self.assertEqual(backend((9, 0), keys=1), "flash")
        self.assertEqual(backend((8, 0)), "flash")
        self.assertEqual(backend((8, 0), mask=torch.ones(1)), "efficient")
        self.assertEqual(backend((8, 0), keys=64, causal=True), "efficient")
        self.assertEqual(backend((8, 0), kv_heads=2), "flash")
        self.assertEqual(backend((8, 0), kv_heads=2, mask=torch.ones(1)), "math")
        self.assertEqual(backend((8, 0), kv_heads=3), "math")
        self.assertEqual(backend((7, 0), dtype=torch.float16), "efficient")
        self.assertEqual(backend((9, 0), width=512), "efficient")
        self.assertEqual(backend((9, 0), dtype=torch.float64), "math")

    def test_attention_module_of_pytorch(self):
        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = torch.nn.MultiheadAttention(256, 4, dropout=0.1, batch_first=True)

            def forward(self, x):
                return self.attention(x, x, x, need_weights=False)[0]

        names, report = self.operators(Layer().to(torch.bfloat16).train(), torch.randn(4, 128, 256).to(torch.bfloat16), mode="train")
        self.assertEqual(report.not_modelled, 0)
        if hasattr(torch.ops.aten, "_scaled_dot_product_cudnn_attention"):
            self.assertIn("_scaled_dot_product_cudnn_attention_backward", names)

    @unittest.skipIf(not hasattr(torch, "compile"), "PyTorch before 2.0 takes no tensors but those in arguments")
    def test_a_cache_in_an_argument_counts(self):
        class Cache:
            def __init__(self):
                self.keys = torch.zeros(1, 1 << 20)

        class Appends(torch.nn.Module):
            def forward(self, x, cache):
                cache.keys = torch.cat([cache.keys, x], dim=-1)
                return cache.keys.sum()

        from ridge.torch import estimate

        report = estimate(Appends(), torch.zeros(1, 128), Cache(), gpu=GPU)
        self.assertGreaterEqual(report.peak_bytes, 2 * 4 << 20)  # the old cache and the new one


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Planners(unittest.TestCase):
    """PyTorch's own planners with ridge's times."""

    def model(self):
        torch.manual_seed(1)
        return torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))

    def test_an_operator_costs_what_the_estimate_says(self):
        from ridge.torch import Costs, estimate

        a, b = torch.randn(256, 512), torch.randn(512, 1024)
        out, milliseconds = Costs(GPU).estimate(torch.ops.aten.mm.default, (a, b), {})
        self.assertEqual(out.shape, (256, 1024))

        class Product(torch.nn.Module):
            def forward(self, x, y):
                return x @ y

        self.assertAlmostEqual(1000.0 * milliseconds, estimate(Product(), a, b, gpu=GPU).gpu_time_us, places=6)

    def test_runtime_estimator_adds_up_modules(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        from ridge.torch import Costs, estimate

        with FakeTensorMode():
            model, x = self.model(), torch.randn(1024, 256)
            try:
                estimator = Costs(GPU).runtime_estimator()
            except ImportError as error:
                self.skipTest(str(error))
            with estimator:
                model(x).sum().backward()
        known = estimate(self.model(), torch.randn(1024, 256), gpu=GPU, mode="train")
        self.assertAlmostEqual(1000.0 * estimator.total_runtime / known.gpu_time_us, 1.0, delta=0.02)
        inside = estimator.mod_runtimes["Sequential.0"]
        self.assertGreater(inside["bw"], inside["fw"])

    @unittest.skipIf(not hasattr(torch, "compile"), "PyTorch before 2.0 has no such partitioner")
    def test_the_partitioner_recomputes_the_product_that_is_cheap(self):
        import functorch.compile as compile_
        import torch._functorch.config as config

        from ridge.torch import Costs

        def chain(x, narrow, wide, back):
            cheap = torch.tanh(x @ narrow)  # a product of 64 along k
            dear = torch.tanh(torch.cat([cheap, cheap], 1) @ wide)  # as large a result, of 2048 along k
            return (dear @ back).sum()

        shapes = ((2048, 64), (64, 1024), (2048, 1024), (1024, 64))
        x, narrow, wide, back = (torch.randn(shape, requires_grad=True) for shape in shapes)
        asked = []

        class Listed(Costs):
            def time_of_node(self, node, override_size=None):
                time = super().time_of_node(node, override_size)
                asked.append((str(node.target), time))
                return time

        costs = Listed(GPU)
        plain = compile_.make_boxed_func
        with config.patch(activation_memory_budget=0.2, activation_memory_budget_runtime_estimator=costs.of_nodes()):
            compiled = compile_.aot_function(chain, lambda graph, _inputs: plain(graph.forward), lambda graph, _inputs: plain(graph.forward),
                                             partition_fn=compile_.min_cut_rematerialization_partition)
            compiled(x, narrow, wide, back).backward()
        products = [time for target, time in asked if target == "aten.mm.default"]
        self.assertTrue(products, "the planner asked for no product's time")
        self.assertGreater(max(products), min(products))
        self.assertEqual(costs.missing, {})
        kept = x.grad.clone()
        x.grad = None
        chain(x, narrow, wide, back).backward()
        self.assertTrue(torch.allclose(kept, x.grad, rtol=1e-3, atol=1e-2))

    def test_gradient_checkpointing_takes_memory_for_time(self):
        from torch.utils.checkpoint import checkpoint

        from ridge.torch import estimate

        class Deep(torch.nn.Module):
            def __init__(self, kept):
                super().__init__()
                self.kept = kept
                self.blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)) for _ in range(6))

            def forward(self, x):
                for block in self.blocks:
                    x = block(x) if self.kept else checkpoint(block, x, use_reentrant=False)
                return x

        x = torch.randn(4096, 256, requires_grad=True)
        kept, again = (estimate(Deep(each), x, gpu=GPU, mode="train") for each in (True, False))
        self.assertLess(again.peak_bytes, 0.6 * kept.peak_bytes)
        self.assertGreater(again.gpu_time_us, 1.1 * kept.gpu_time_us)

    def test_device_map(self):
        from ridge.torch import estimate

        x = torch.randn(1024, 256)
        whole = estimate(self.model(), x, gpu=GPU)
        split = estimate(self.model(), x, gpu=GPU, device_map={"": 0, "2": 1})
        first, second = split.to_dict()["devices"]
        self.assertEqual((first["device"], second["device"]), ("0", "1"))
        self.assertEqual(second["weights_bytes"], 4 * (1024 * 256 + 256))
        self.assertEqual(first["weights_bytes"] + second["weights_bytes"], whole.weights_bytes)
        self.assertAlmostEqual(first["gpu_time_us"] + second["gpu_time_us"], whole.gpu_time_us, places=6)
        self.assertLess(max(first["peak_bytes"], second["peak_bytes"]), whole.peak_bytes)
        with self.assertRaisesRegex(ridge.InputError, "device_map"):
            estimate(self.model(), x, gpu=GPU, mode="train", device_map={"": 0})


if __name__ == "__main__":
    unittest.main()
