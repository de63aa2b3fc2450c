#!/usr/bin/env python3
"""Draws models and steps that no constant was chosen by, to judge `ridge model` on.

    scripts/draw-models.py --seed 17 measure/records/torch-models/drawn

Writes one config.json of each family (sizes at random, 0.1 to 3 billion parameters, or what a family's
experts hold) and steps.csv: a prefill and a decode step of each with batch and length at random, a
training step of every dense one of less than 1.2 billion. scripts/torch-models.py --drawn measures them.

Method: sizes are drawn as people choose them (heads x head_dim, widths in multiples of 64,
vocabularies of any size); lengths and batches are log-uniform and any number; a step holds 3,000 to
20,000 tokens, so that its kernels take over 5 ms. Drawn again until a model has the parameters.
"""
import argparse
import csv
import json
import pathlib
import random

MILLION = 1_000_000


def dense(rng, head_dims=(64, 80, 96, 128)):
    """Sizes of a decoder's layers."""
    head_dim = rng.choice(head_dims)
    heads = rng.randint(6, 26)
    hidden = heads * head_dim
    return {"hidden_size": hidden, "intermediate_size": 64 * round(hidden * rng.uniform(2.0, 4.0) / 64),
            "num_hidden_layers": rng.randint(6, 26), "num_attention_heads": heads,
            "vocab_size": rng.randint(20_000, 160_000), "max_position_embeddings": 32768,
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


# (family, whether it has experts)
FAMILIES = [(llama, False), (qwen3, False), (gemma, False), (gemma3, False), (phi, False), (phi3, False),
            (gpt_neox, False), (gpt2, False), (mixtral, True), (deepseek, True)]


def parameters(fields):
    """About how many; the exact count is what the models are judged on."""
    hidden = fields.get("hidden_size") or fields["n_embd"]
    layers = fields.get("num_hidden_layers") or fields["n_layer"]
    inner = fields.get("intermediate_size") or 4 * hidden
    wide = fields.get("moe_intermediate_size") or inner
    experts = fields.get("num_local_experts") or fields.get("n_routed_experts") or 1
    heads = 4 if fields["model_type"] in ("gemma", "gemma3_text") else 3
    return layers * hidden * (heads * hidden + 3 * wide * experts) + 2 * hidden * fields["vocab_size"]


def log_uniform(rng, low, high):
    return round(low * (high / low) ** rng.random())


def prompt(rng, least, most):
    """Batch and length of a step with least to most tokens."""
    while True:
        batch, seq = log_uniform(rng, 1, 12), log_uniform(rng, 200, 4000)
        if least <= batch * seq <= most:
            return batch, seq


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    steps = []
    for family, experts in FAMILIES:
        fields = family(rng)
        while not 100 * MILLION <= parameters(fields) <= 3000 * MILLION:
            fields = family(rng)
        name = f"drawn-{family.__name__.replace('_', '-')}"
        (args.folder / f"{name}.json").write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
        small = parameters(fields) < 1200 * MILLION
        steps.append((name, "prefill", *prompt(rng, 3000, 20000)))
        steps.append((name, "decode", log_uniform(rng, 1, 48), log_uniform(rng, 200, 3500)))
        if small and not experts:
            steps.append((name, "train", *prompt(rng, 1500, 5000)))
    with open(args.folder / "steps.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["model", "phase", "batch", "seq"])
        out.writerows(steps)


if __name__ == "__main__":
    main()
