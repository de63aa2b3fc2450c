#!/usr/bin/env python3
"""Draws models and steps that no constant was chosen by, to judge `ridge model`.

    scripts/measure/draw-models.py --seed 17 --families 10 --dense records/torch-models/drawn
    scripts/measure/draw-models.py --seed 41 records/torch-models/judge
    scripts/measure/draw-models.py --seed 23 --short records/torch-models/short

Writes one config.json for each family (random sizes with 0.1 to 3 billion parameters, or as many as a family's
experts hold) and steps.csv: a prefill and a decode step of each model with random batch and length, and a
training step of each model below 1.2 billion (--dense: only of models without experts). --short draws 1 to 300
million parameters in 2 to 12 layers, steps so short that they wait for their host, and training steps of all models
but those with grouped experts of DeepSeek. scripts/measure/torch-models.py --drawn measures them.

Method: sizes are drawn as people choose them (heads x head_dim, widths in multiples of 64,
vocabularies of any size). Lengths and batches are log-uniform and can be any number. A step holds 3,000 to
20,000 tokens, so that its kernels take over 5 ms. A model is drawn again until its parameters are in range.
"""
import argparse
import csv
import json
import pathlib
import random

MILLION = 1_000_000
LARGE = {"heads": (6, 26), "layers": (6, 26), "vocabulary": (20_000, 160_000), "parameters": (100, 3000)}
SMALL = {"heads": (2, 8), "layers": (2, 12), "vocabulary": (2_000, 40_000), "parameters": (1, 300)}
sizes = dict(LARGE)


def dense(rng, head_dims=(64, 80, 96, 128)):
    """Sizes of a decoder's layers."""
    head_dim = rng.choice(head_dims)
    heads = rng.randint(*sizes["heads"])
    hidden = heads * head_dim
    return {"hidden_size": hidden, "intermediate_size": 64 * round(hidden * rng.uniform(2.0, 4.0) / 64),
            "num_hidden_layers": rng.randint(*sizes["layers"]), "num_attention_heads": heads,
            "vocab_size": rng.randint(*sizes["vocabulary"]), "max_position_embeddings": 32768,
            "tie_word_embeddings": rng.random() < 0.5}, head_dim


def grouped(rng, fields):
    """Key heads that divide the query heads."""
    heads = fields["num_attention_heads"]
    fields["num_key_value_heads"] = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    return fields


def llama(rng):
    return grouped(rng, dict(dense(rng)[0], model_type="llama", hidden_act="silu"))


def qwen3(rng):
    fields, head_dim = dense(rng)
    return grouped(rng, dict(fields, model_type="qwen3", hidden_act="silu", head_dim=head_dim,
                             use_sliding_window=False, attention_bias=False))


def gemma(rng):
    fields, _ = dense(rng, (256,))
    heads = rng.choice([4, 6, 8])
    return grouped(rng, dict(fields, model_type="gemma", head_dim=256, num_attention_heads=heads,
                             hidden_size=64 * rng.randint(12, 32), vocab_size=rng.randint(100_000, 256_000),
                             hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True))


def gemma3(rng):
    return dict(gemma(rng), model_type="gemma3_text", sliding_window=rng.choice([512, 1024]),
                sliding_window_pattern=6)


def phi(rng):
    fields, _ = dense(rng, (64, 80))
    return dict(fields, model_type="phi", hidden_act="gelu_new", partial_rotary_factor=0.5,
                num_key_value_heads=fields["num_attention_heads"], resid_pdrop=0.0, tie_word_embeddings=False)


def phi3(rng):
    return grouped(rng, dict(dense(rng, (96, 128))[0], model_type="phi3", hidden_act="silu",
                             sliding_window=None, pad_token_id=0, tie_word_embeddings=False))


def gpt_neox(rng):
    fields, _ = dense(rng, (64, 128))
    return dict(fields, model_type="gpt_neox", hidden_act="gelu", rotary_pct=0.25,
                use_parallel_residual=rng.random() < 0.5, tie_word_embeddings=False)


def gpt2(rng):
    fields, _ = dense(rng, (64, 80))
    return {"model_type": "gpt2", "vocab_size": fields["vocab_size"], "n_positions": 4096,
            "n_embd": fields["hidden_size"], "n_layer": fields["num_hidden_layers"],
            "n_head": fields["num_attention_heads"], "activation_function": "gelu_new",
            "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}


def mixtral(rng):
    fields, _ = dense(rng, (64, 128))
    fields["intermediate_size"] = 64 * rng.randint(8, 28)
    return grouped(rng, dict(fields, model_type="mixtral", hidden_act="silu", sliding_window=None,
                             num_local_experts=rng.choice([4, 8, 16]), num_experts_per_tok=2,
                             tie_word_embeddings=False))


def deepseek(rng):
    fields, _ = dense(rng, (128,))
    return dict(fields, model_type="deepseek_v2", hidden_act="silu", qk_nope_head_dim=128,
                qk_rope_head_dim=64, v_head_dim=128, kv_lora_rank=rng.choice([256, 512]),
                num_hidden_layers=rng.randint(5, 10), num_attention_heads=rng.choice([8, 12, 16]),
                moe_intermediate_size=64 * rng.randint(6, 14), q_lora_rank=None,
                n_routed_experts=rng.choice([16, 32]), n_shared_experts=rng.choice([1, 2]),
                num_experts_per_tok=rng.choice([2, 4, 6]), first_k_dense_replace=1, n_group=1, topk_group=1,
                topk_method="greedy", norm_topk_prob=False, tie_word_embeddings=False)


def mistral(rng):
    return dict(llama(rng), model_type="mistral", sliding_window=None)


def qwen2(rng):
    return dict(llama(rng), model_type="qwen2", use_sliding_window=False)


def gemma2(rng):
    return dict(gemma(rng), model_type="gemma2", sliding_window=4096, final_logit_softcapping=30.0,
                attn_logit_softcapping=50.0, query_pre_attn_scalar=256)


def olmo2(rng):
    return dict(llama(rng), model_type="olmo2")


def narrow(rng, most):
    """The width of experts in models that have many of them."""
    fields = grouped(rng, dense(rng, (64, 128))[0])
    return dict(fields, hidden_act="silu", tie_word_embeddings=False, num_experts_per_tok=rng.choice([2, 4, 8]),
                norm_topk_prob=rng.random() < 0.5), rng.choice([n for n in (8, 16, 32, 64) if n <= most])


def olmoe(rng):
    fields, experts = narrow(rng, 64)
    return dict(fields, model_type="olmoe", num_experts=experts, intermediate_size=64 * rng.randint(2, 12))


def qwen2_moe(rng):
    fields, experts = narrow(rng, 32)
    return dict(fields, model_type="qwen2_moe", num_experts=experts, moe_intermediate_size=64 * rng.randint(2, 12),
                shared_expert_intermediate_size=64 * rng.randint(4, 24), decoder_sparse_step=1)


def qwen3_moe(rng):
    fields, experts = narrow(rng, 64)
    head_dim = fields["hidden_size"] // fields["num_attention_heads"]
    return dict(fields, model_type="qwen3_moe", num_experts=experts, moe_intermediate_size=64 * rng.randint(2, 12),
                head_dim=head_dim, decoder_sparse_step=1, mlp_only_layers=[])


def deepseek3(rng):
    return dict(deepseek(rng), model_type="deepseek_v3", topk_method="noaux_tc", n_group=4, topk_group=2,
                norm_topk_prob=True, q_lora_rank=rng.choice([256, 384]), n_routed_experts=32)


# (family, whether it has experts)
FAMILIES = [(llama, False), (qwen3, False), (gemma, False), (gemma3, False), (phi, False), (phi3, False),
            (gpt_neox, False), (gpt2, False), (mixtral, True), (deepseek, True), (mistral, False), (qwen2, False),
            (gemma2, False), (olmo2, False), (olmoe, True), (qwen2_moe, True), (qwen3_moe, True), (deepseek3, True)]


def parameters(fields):
    """The approximate number of parameters; the exact count is part of what is judged."""
    hidden = fields.get("hidden_size") or fields["n_embd"]
    layers = fields.get("num_hidden_layers") or fields["n_layer"]
    inner = fields.get("intermediate_size") or 4 * hidden
    wide = fields.get("moe_intermediate_size") or inner
    experts = fields.get("num_local_experts") or fields.get("n_routed_experts") or fields.get("num_experts") or 1
    heads = 4 if fields["model_type"] in ("gemma", "gemma2", "gemma3_text") else 3
    return layers * hidden * (heads * hidden + 3 * wide * experts) + 2 * hidden * fields["vocab_size"]


def log_uniform(rng, low, high):
    return round(low * (high / low) ** rng.random())


def prompt(rng, least, most):
    """Batch and length of a step with `least` to `most` tokens."""
    while True:
        batch, seq = log_uniform(rng, 1, 12), log_uniform(rng, 200, 4000)
        if least <= batch * seq <= most:
            return batch, seq


def short_steps(rng, name):
    """Steps that wait for their host."""
    steps = [(name, "prefill", log_uniform(rng, 1, 4), log_uniform(rng, 16, 128)),
             (name, "decode", log_uniform(rng, 1, 8), log_uniform(rng, 40, 600)),
             (name, "train", log_uniform(rng, 1, 3), log_uniform(rng, 16, 128))]
    return steps if "deepseek" not in name else steps[:2]


def long_steps(rng, name, trains):
    """Steps of 3,000 to 20,000 tokens, and a decode step."""
    steps = [(name, "prefill", *prompt(rng, 3000, 20000)),
             (name, "decode", log_uniform(rng, 1, 48), log_uniform(rng, 200, 3500))]
    return steps + [(name, "train", *prompt(rng, 1500, 5000))] if trains else steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--families", type=int, default=len(FAMILIES), help="number of families to draw, from the start of the list")
    parser.add_argument("--short", action="store_true", help="small models, steps that wait for their host")
    parser.add_argument("--dense", action="store_true", help="training steps only of models without experts")
    args = parser.parse_args()
    if args.short:
        sizes.update(SMALL)
    rng = random.Random(args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    least, most = sizes["parameters"]
    steps = []
    for family, experts in FAMILIES[:args.families]:
        fields = family(rng)
        while not least * MILLION <= parameters(fields) <= most * MILLION:
            fields = family(rng)
        name = f"drawn-{family.__name__.replace('_', '-')}"
        (args.folder / f"{name}.json").write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
        trains = parameters(fields) < 1200 * MILLION and not (args.dense and experts)
        steps += short_steps(rng, name) if args.short else long_steps(rng, name, trains)
    with open(args.folder / "steps.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["model", "phase", "batch", "seq"])
        out.writerows(steps)


if __name__ == "__main__":
    main()
