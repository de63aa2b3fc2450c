// Calls of every kind of operation, and of the types that GPUs differ in, for tests that ask all
// chips: `asked_operations` as `--op` texts without blanks inside a value.
#pragma once

#include <string>
#include <vector>

namespace ridge::test {

[[nodiscard]] inline const std::vector<std::string>& asked_operations() {
    static const std::vector<std::string> operations{
        "matmul m=512 n=1024 k=768 dtype=bf16",
        "matmul m=7 n=4096 k=4096 dtype=fp16",
        "matmul m=512 n=512 k=512 dtype=fp8",
        "matmul m=64 n=4096 k=4096 dtype=fp8_block",
        "matmul m=64 n=4096 k=4096 dtype=nvfp4",
        "matmul m=512 n=512 k=512 dtype=fp32",
        "matmul m=512 n=512 k=512 dtype=tf32",
        "matmul m=512 n=512 k=512 dtype=int8",
        "matmul m=512 n=512 k=512 dtype=fp64",
        "matmul m=512 n=512 k=512 dtype=bf16 impl=torch",
        "matmul m=512 n=512 k=512 dtype=bf16 impl=mma",
        "attention heads=16 seq=1024 head_dim=64 causal=1 dtype=fp16",
        "attention heads=32 kv_heads=8 seq_q=1 seq_kv=4096 head_dim=128 dtype=bf16",
        "attention heads=16 seq=512 head_dim=64 impl=standard dtype=bf16",
        "attention heads=16 seq=512 head_dim=64 impl=flash2 dtype=bf16",
        "attention heads=16 seq=512 head_dim=64 impl=torch-cudnn dtype=bf16",
        "attention heads=16 kv_heads=8 seq=200 head_dim=96 impl=torch-math dtype=bf16",
        "mla heads=16 seq_q=1 seq_kv=2048",
        "indexer heads=64 seq_q=1 seq_kv=4096",
        "sparse_mla heads=16 seq_q=1 seq_kv=4096 topk=2048",
        "moe tokens=64 hidden=2048 intermediate=1024 experts=16 topk=2",
        "gdn k_heads=16 v_heads=32 seq=1024 part=scan",
        "kda k_heads=16 seq=1 batch=32 part=scan",
        "mamba2 heads=64 head_dim=64 seq=1024 part=conv",
        "topk rows=64 cols=32000 topk=8",
        "rope rows=1024 cols=5120",
        "swiglu rows=1024 cols=4096",
        "quantize rows=1024 cols=4096 dtype=bf16",
        "conv1d seq=1024 cols=2048",
        "elementwise elements=1000000 expr=gelu(x) dtype=fp32",
        "elementwise elements=1000 expr=x+y dtype=bf16 impl=torch",
        "softmax rows=1024 cols=1024 dtype=fp32",
        "softmax rows=1024 cols=1024 dtype=bf16 impl=torch",
        "layernorm rows=1024 cols=1024",
        "rmsnorm rows=1024 cols=1024",
        "sum rows=1024 cols=1024",
        "argmax rows=64 cols=32000",
        "cross_entropy rows=512 cols=32000",
        "scan rows=1024 cols=1024",
        "transpose rows=1024 cols=1024",
        "copy elements=1000000",
        "gather rows=1000 cols=256 table_rows=5000",
        "cat rows=256 cols=1024 inputs=2",
        "adamw elements=1000000",
        "access pattern=strided elements=1000000 stride=4",
        "all_reduce bytes=1000000 gpus=4",
        "all_gather bytes=1000000 gpus=2",
        "reduce_scatter bytes=1000000 gpus=8",
        "all_to_all bytes=1000000 gpus=8",
        "broadcast bytes=1000000 gpus=2",
        "send bytes=1000000",
        "host_to_device bytes=1000000",
        "device_to_host bytes=1000000",
        "kernel flop=1000000000 bytes=1000000 grid=1000"};
    return operations;
}

}  // namespace ridge::test
