"""`ridge.torch`: a model's operators, time and memory from fake tensors, without a GPU."""

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
            "matmul", m=1024, n=2048, k=512, dtype="fp32", b_layout="column", epilogue="bias", l2="cold", impl="library", gpu=GPU
        )
        shapes = {row["shape"]: row for row in report.to_dict()["operators"] if row["name"] == "aten::addmm"}
        wide = next(row for shape, row in shapes.items() if "[512,2048]" in shape)
        self.assertAlmostEqual(wide["time_us"] / wide["count"], single.time_us, places=6)

    def test_memory(self):
        report = self.estimate()
        inputs = self.example.numel() * 4
        hidden = 1024 * 2048 * 4
        # Weights, input, and at the fullest moment the norm's input and result with two vectors of statistics.
        self.assertGreaterEqual(report.peak_bytes, report.weights_bytes + inputs + 2 * hidden)
        self.assertLess(report.peak_bytes, report.weights_bytes + inputs + 3 * hidden + (8 << 20))
        self.assertGreaterEqual(report.reserved_bytes, report.peak_bytes)

    def test_training_keeps_activations_and_makes_gradients(self):
        inference, training = self.estimate(), self.estimate(mode="train")
        self.assertGreater(training.gpu_time_us, 1.8 * inference.gpu_time_us)
        self.assertGreater(training.peak_bytes, inference.peak_bytes + inference.weights_bytes // 2)
        self.assertIn("aten::native_layer_norm_backward", self.names(training))
        stepped = self.estimate(mode="train", optimizer="adamw")
        self.assertGreater(stepped.gpu_time_us, training.gpu_time_us)
        # Weights, gradients and two moments; by then the activations are gone.
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
        self.assertIn("addmm", repr(self.estimate()))


if __name__ == "__main__":
    unittest.main()
