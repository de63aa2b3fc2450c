"""More calls of the classes whose laws rest on few, for `torch-operators.py --cases torch_operator_narrow`: convolutions of few channels,
of volumes, grouped, depthwise and transposed, forward and backward, in fp32 as often as in 16 bits; recurrent layers in fp32 of any width.

    case = draw(seed=43, index=17)

Shapes are drawn as in `torch_operator_gaps.py` and `torch_operator_networks.py`. Method and limits: `torch_operator_cases.py`.
"""
import torch

import torch_operator_cases as cases
import torch_operator_gaps as gaps
import torch_operator_layers as layers
import torch_operator_networks as networks

DEVICE = "cuda"
STATES = ("warm", "warm", "warm")


def depthwise(draw):
    shape, _ = networks.image(draw, draw.random.choices((1, 2, 3), (3, 8, 0.5))[0])
    shape[1] = max(8, shape[1])
    return gaps.convolved(draw, shape, shape[1], shape[1], draw.pick(3, 3, 3, 4, 5, 7), draw.pick(1, 1, 2))


def dilated(draw):
    """One-dimensional convolutions of sound, whose taps lie apart."""
    shape, _ = networks.image(draw, 1)
    shape[1] = draw.pick(8, 16, 32, 64, 128, 256, 512)
    while shape[0] > 1 and shape[0] * shape[1] * shape[2] > gaps.MOST:
        shape[0] //= 2
    kernel, dilation = draw.pick(3, 5, 7, 11), draw.pick(1, 2, 3, 4, 5, 8)
    dtype = networks.precision(draw)
    x, _ = layers.laid_out(draw, shape, dtype)
    weight, bias = cases.values([draw.pick(shape[1], shape[1], 2 * shape[1]), shape[1], kernel], dtype), []
    torch.backends.cudnn.allow_tf32 = True
    return cases.with_gradient(lambda x, w: torch.nn.functional.conv1d(x, w, None, padding=dilation * (kernel - 1) // 2, dilation=dilation), x, weight, *bias)


def recurrent(draw):
    """One or two layers in fp32, mostly of widths that fill no 16 bytes or odd multiples of them."""
    kind = draw.pick(torch.nn.LSTM, torch.nn.GRU, torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)
    hidden = draw.pick(draw.size(20, 1200), draw.size(20, 1200), 4 * draw.size(8, 300), 8 * draw.size(8, 150), 64 * draw.size(3, 16))
    width = hidden if draw.chance(0.4) else draw.pick(13, 39, 50, 80, 128, 200, 256, 300, 512, draw.size(8, 800))
    batch, steps = draw.pick(1, 2, 3, 4, 8, 16, 20, 24, 32, 64, 100, 128), draw.size(5, 200)
    steps = min(steps, max(5, (1 << 22) // (batch * hidden)))
    net = kind(width, hidden, draw.pick(1, 1, 1, 2), bidirectional=draw.chance(0.35), batch_first=draw.chance(0.5)).to(cases.DEVICE)
    x = cases.values([batch, steps, width] if net.batch_first else [steps, batch, width], torch.float32)
    torch.backends.cudnn.allow_tf32 = True

    def run():
        net.zero_grad(set_to_none=True)
        net(x)[0].sum().backward()
    return run


CLASSES = [(gaps.few_channels, 10), (gaps.volume, 6), (gaps.grouped, 5), (gaps.transposed, 6), (gaps.multiplied, 4), (depthwise, 6), (dilated, 5), (recurrent, 9)]


def draw(seed, index, scale=1.0):
    drawn = cases.Draw(f"{seed}/{index}", scale)
    cases.DEVICE = networks.DEVICE = gaps.DEVICE = DEVICE
    functions, weights = zip(*CLASSES)
    function = drawn.random.choices(functions, weights)[0]
    torch.backends.cuda.matmul.allow_tf32 = False
    return cases.Case(function.__name__, function(drawn))
