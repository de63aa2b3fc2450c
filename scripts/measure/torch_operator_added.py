"""Generated kernels that add into places, more of them than `torch_operator_generated.py` draws, for
`torch-operators.py --cases torch_operator_added`: gradients of resampling before and after a concatenation, of lookups and of messages.

    case = draw(seed=44, index=17)
    python torch_operator_added.py 44 0 60 12    # fills the cache of compiled code

Method and limits: `torch_operator_generated.py`.
"""
import torch
import torch.nn.functional as F

import torch_operator_cases as cases
import torch_operator_generated as generated

DEVICE = "cuda"
STATES = generated.STATES


def joined(draw):
    """A decoder's step: an image is enlarged, set beside another and passed on."""
    factor = draw.pick(2, 2, 4)
    x, memory = generated.image(draw, factor * factor * 2)
    skip = cases.values([x.shape[0], draw.pick(8, 16, 32, 64), x.shape[2] * factor, x.shape[3] * factor], x.dtype)
    skip = skip if memory is None else skip.contiguous(memory_format=memory)
    mode, act = draw.pick("bilinear", "bilinear", "nearest"), draw.pick(F.silu, F.relu)
    return lambda y, s: act(torch.cat([F.interpolate(y, scale_factor=factor, mode=mode), s], 1)), [x, skip], memory


def messages(draw):
    """Rows taken along edges, weighed, and added up at their targets; or the largest of them."""
    nodes, width = draw.size(256, 40000), draw.pick(16, 32, 64, 100, 128, 256)
    edges = min(nodes * draw.pick(1, 4, 8, 16), generated.MOST // width)
    x, weight = cases.values([nodes, width], draw.pick(torch.float32, torch.float32, torch.bfloat16)), cases.values([edges, 1], torch.float32)
    source, target = cases.indices(nodes, [edges], 1.0), cases.indices(nodes, [edges], draw.pick(1.0, 1.0, 0.1))
    if draw.chance(0.5):
        return lambda x, w: torch.zeros_like(x).index_add(0, target, x[source] * w.to(x.dtype)), [x, weight], None
    return lambda x, w: torch.zeros_like(x).scatter_add(0, target[:, None].expand(-1, width), F.relu(x[source]) * w.to(x.dtype)), [x, weight], None


CLASSES = [(generated.enlarged, 5), (joined, 5), (generated.looked_up, 4), (messages, 4), (generated.normed, 1), (generated.chained, 2), (generated.batch_normed, 1)]


def draw(seed, index, scale=1.0):
    generated.DEVICE = DEVICE
    return generated.draw(seed, index, scale, CLASSES)


if __name__ == "__main__":
    generated.fill(draw)
