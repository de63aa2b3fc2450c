#include "programs/software/operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "hardware/checked.h"
#include "model/core/join.h"
#include "model/expression/expression.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

using model::DataType;

constexpr std::array<std::string_view, math_count> formulas{
    "x",                         // copy
    "x",                         // cast
    "x * 2",                     // fill
    "x + y",                     // add
    "x + c",                     // add_scalar
    "x * y",                     // multiply
    "x * c",                     // multiply_scalar
    "x * c",                     // divide_scalar
    "-x",                        // negate
    "x^2",                       // square
    "x^3",                       // cube
    "rsqrt(x)",                  // reciprocal_root
    "silu(x)",                   // silu
    "relu(x)",                   // relu
    "gelu(x)",                   // gelu
    "gelu_tanh(x)",              // gelu_tanh
    "tanh(x)",                   // tanh
    "sigmoid(x)",                // sigmoid
    "cos(x)",                    // cosine
    "x * c",                     // masked_fill
    "x * y * c",                 // dropout
    "y * sigmoid(x) * (1 + x)",  // silu_backward
    "y * gelu(x)",               // gelu_backward
    "y * gelu_tanh(x)",          // gelu_tanh_backward
    "y * (1 - x^2)",             // tanh_backward
    "y * relu(x)",               // relu_backward
    "y * x * (1 - x)",           // sigmoid_backward
    "silu(x) * y",               // silu_multiply
    "gelu_tanh(x) * y",          // gelu_multiply
    "x - y",                     // subtract
};

const model::Expression& expression_of(Math math) {
    static const std::array<model::Expression, math_count> parsed = [] {
        std::array<model::Expression, math_count> all;
        for (std::size_t i = 0; i < math_count; ++i) all[i] = model::parse_expression(formulas[i]);
        return all;
    }();
    return parsed[static_cast<std::size_t>(math)];
}

model::Operation pointwise_of(const StepKernel& k) {
    // An operation has one type: bytes in another type are counted as elements of the wider one.
    const std::int64_t in = k.inputs * model::size_of(k.in);
    const std::int64_t out = model::size_of(k.out);
    if (k.math == Math::copy || k.math == Math::cast || k.math == Math::fill ||
        k.math == Math::masked_fill) {
        const DataType type = model::size_of(k.in) > out ? k.in : k.out;
        const std::int64_t bytes = k.a * (in + out);
        return model::Copy{
            .elements = std::max<std::int64_t>(1, bytes / (2 * model::size_of(type))),
            .type = type};
    }
    return model::Elementwise{.expression = expression_of(k.math), .elements = k.a, .type = k.in};
}

model::RowKind row_kind(KernelKind kind) {
    switch (kind) {
        case KernelKind::softmax:
        case KernelKind::log_softmax:
            return model::RowKind::softmax;
        case KernelKind::layer_norm:
            return model::RowKind::layernorm;
        case KernelKind::rms_norm:
            return model::RowKind::rmsnorm;
        default:
            return model::RowKind::sum;
    }
}

model::Operation product_of(const StepKernel& k) {
    model::Matmul op{.batch = k.d, .m = k.a, .n = k.b, .k = k.c, .type = k.in, .output = k.out};
    if (k.in == DataType::fp32) op.type = DataType::fp32;
    switch (k.form) {
        case ProductForm::forward:
            op.b_layout = model::Layout::column_major;
            break;
        case ProductForm::weight_gradient:
            op.a_layout = model::Layout::column_major;
            break;
        case ProductForm::patches:
            op.b_layout = model::Layout::column_major;
            op.type = op.output = DataType::fp32;  // it multiplies on the vector pipe
            break;
        case ProductForm::input_gradient:
        case ProductForm::plain:
            break;
    }
    if (k.bias) op.epilogue = model::Epilogue::bias;
    return op;
}

/// A serving engine's kernels of latent attention: prefill on expanded keys, absorbed decoding.
model::Operation latent_of(const AttentionShape& s, DataType type) {
    const bool decode = s.queries == 1;
    return model::Mla{.phase = decode ? model::MlaPhase::decode : model::MlaPhase::prefill,
                      .batch = s.batch,
                      .heads = s.heads,
                      .seq_q = s.queries,
                      .seq_kv = s.keys,
                      .latent_dim = s.latent_dim,
                      .rope_dim = s.rope_dim,
                      .head_dim = decode ? s.head_dim : s.head_dim - s.rope_dim,
                      .type = type};
}

model::Operation attention_of(const AttentionShape& s, DataType type) {
    if (s.paged && s.latent_dim > 0) return latent_of(s, type);
    return model::Attention{
        .batch = s.batch,
        .heads = s.heads,
        .kv_heads = s.kv_heads,
        .seq_q = s.queries,
        .seq_kv = s.keys,
        .head_dim = std::max(s.head_dim, s.value_dim),
        .window = s.masked ? 0 : s.window,  // a mask hides keys, but they are still multiplied
        .type = type,
        .direction = s.backward ? model::Direction::backward : model::Direction::forward,
        .causal = s.causal && !s.masked,
        .paged = s.paged};
}

/// The expected number of different experts that `rows` choices hit: few tokens read few experts. (W12)
std::int64_t experts_hit(std::int64_t rows, std::int64_t experts) {
    const auto all = static_cast<double>(experts);
    const double missed = std::pow(1.0 - 1.0 / all, static_cast<double>(rows));
    return std::clamp<std::int64_t>(std::llround(all * (1.0 - missed)), 1, experts);
}

model::Operation experts_of(const StepKernel& k) {
    return model::Moe{.tokens = k.a,
                      .hidden = k.b,
                      .intermediate = k.c,
                      .topk = k.inputs,
                      .experts = k.d,
                      .type = k.in,
                      .gated = k.gated};
}

model::Operation operation_of(const StepKernel& k, const Recorder& recorder) {
    switch (k.kind) {
        case KernelKind::pointwise:
            return pointwise_of(k);
        case KernelKind::row_mean:
            // Reads its rows once; measured to take as long as a copy of seven tenths of them.
            return model::Copy{.elements = std::max<std::int64_t>(1, k.a * k.b * 7 / 10),
                               .type = k.in};
        case KernelKind::row_sum:
        case KernelKind::softmax:
        case KernelKind::log_softmax:
        case KernelKind::layer_norm:
        case KernelKind::rms_norm:
        case KernelKind::column_sum:
            if (k.kind == KernelKind::column_sum && k.a <= 64) {  // few long rows: a stream
                return model::Copy{.elements = (k.a + 1) * k.b / 2, .type = k.in};
            }
            return model::RowWise{.kind = row_kind(k.kind), .rows = k.a, .cols = k.b, .type = k.in};
        case KernelKind::cat:
            return model::joined({.elements = k.a,
                                  .largest = k.c,
                                  .piece = k.b,
                                  .run = k.reading == Reading::vectors ? 0 : k.b,
                                  .type = k.in});
        case KernelKind::gather:
        case KernelKind::table_sums:
            return model::Gather{.rows = k.a,
                                 .cols = k.b,
                                 .table_rows = std::max<std::int64_t>(k.c, 1),
                                 .type = k.in};
        case KernelKind::product:
            return product_of(k);
        case KernelKind::transpose:
            return model::Transpose{.rows = k.a, .cols = k.b, .type = k.in, .batch = k.d};
        case KernelKind::attention:
            return attention_of(recorder.attentions()[static_cast<std::size_t>(k.attention)], k.in);
        case KernelKind::experts:
            return grouped_matmul(k.a, k.b, k.c, experts_hit(k.a, k.d), k.in, k.out);
        case KernelKind::optimizer:
            return model::Copy{.elements = k.a * k.inputs / 2, .type = k.in};
        case KernelKind::collective:
            return model::Collective{.kind = static_cast<model::CollectiveKind>(k.c),
                                     .gpus = k.b,
                                     .bytes = k.a,
                                     .type = k.in};
        case KernelKind::expert_block:
            return experts_of(k);
        case KernelKind::serving:
            return std::visit([](const auto& op) { return model::Operation(op); },
                              recorder.serving_operations()[static_cast<std::size_t>(k.attention)]);
        case KernelKind::table_sort:
            return moving(16 * k.a);
        case KernelKind::unmodelled:
        case KernelKind::small:
            return moving(k.a);
    }
    return model::Copy{.elements = 1};
}

double indexed_clocks(const StepKernel& k) {
    const auto elements = static_cast<double>(k.a);
    const bool indexed = k.kind == KernelKind::pointwise &&
                         (k.reading != Reading::vectors || k.math == Math::masked_fill);
    return indexed ? elements * clocks_indexed : 0.0;
}

/// cuBLAS splits k if a product's tiles leave SMs idle and its k is long: with few rows, if the
/// tiles fill less than three quarters of the SMs; for the gradient of a head's input, if they fill
/// at most half. A second kernel adds up the parts. (W2)
bool splits_k(const StepKernel& k, std::int64_t multiprocessors) {
    constexpr std::int64_t most_rows = 64;
    constexpr std::int64_t shortest = 2800;
    constexpr std::int64_t tile = 64;
    if (k.kind != KernelKind::product || k.d != 1 || k.c < shortest) return false;
    if (k.a <= most_rows) return 4 * ceil_divide(k.b, tile) < 3 * multiprocessors;
    constexpr std::int64_t classes = 9000;
    constexpr std::int64_t side = 128;
    return k.form == ProductForm::input_gradient && k.c >= classes &&
           2 * ceil_divide(k.a, side) * ceil_divide(k.b, side) <= multiprocessors;
}

/// cuDNN splits the keys of a decode step if heads and sequences fill at most half of the SMs. (W2)
bool splits_keys(const AttentionShape& s, std::int64_t multiprocessors) {
    return s.queries == 1 && !s.masked && s.keys >= 512 &&
           2 * s.batch * s.kv_heads <= multiprocessors;
}

std::int64_t launches_of(const StepKernel& k, const Recorder& recorder, const Request& request) {
    if (request.software == Software::serving) return k.launches;
    if (splits_k(k, request.multiprocessors)) return 2;
    if (k.kind == KernelKind::attention && k.launches == 1) {
        const auto& shape = recorder.attentions()[static_cast<std::size_t>(k.attention)];
        return splits_keys(shape, request.multiprocessors) ? 2 : 1;
    }
    return k.launches;
}

/// Least times of PyTorch's kernels for one element, measured on an H200 and an H100 (W3).
Time least_of(const StepKernel& k) {
    switch (k.kind) {
        case KernelKind::pointwise:
            if (k.reading == Reading::converting) return time_cost("least.converting");
            return time_cost(k.reading == Reading::indexed ? "least.indexed" : "least.pointwise");
        case KernelKind::row_mean:
        case KernelKind::row_sum:
        case KernelKind::column_sum:
            return time_cost("least.reduction");
        case KernelKind::gather:
            return time_cost("least.gather");
        case KernelKind::small:
            return small_time(k.least);
        default:
            return Time{};
    }
}

/// Stretch of cuDNN's attention with the mask tensor of a compiled model. (W4)
double compiled_attention(const AttentionShape& s) {
    if (s.queries == 1) return 1.0;
    return s.backward ? cost("stretch.masked_backward") : masked_attention_stretch(s.queries);
}

bool is_of_tower(const StepKernel& k, Software software) {
    return k.module == Module::encoder && software == Software::transformers;
}

/// Kernels that are slower than the operation that represents them (W4): a grouped product against
/// a batched one of cuBLAS, cuDNN's attention against flash3 or with a mask tensor, and foreach
/// kernels against a copy.
double stretch_of(const StepKernel& k, const Recorder& recorder, Software software) {
    // A compiler's norm moves more than the two tensors of a plain norm.
    if (k.kind == KernelKind::rms_norm) return std::max(1.0, k.inputs / 2.0);
    if (k.kind == KernelKind::log_softmax && k.inputs > 1) return cost("stretch.log_softmax");
    if (k.kind == KernelKind::experts) return grouped_stretch();
    if (k.kind == KernelKind::optimizer) return cost("stretch.optimizer");
    if (k.form == ProductForm::patches) return cost("stretch.patches");
    if (k.kind != KernelKind::attention) return 1.0;
    const AttentionShape& s = recorder.attentions()[static_cast<std::size_t>(k.attention)];
    if (software == Software::compiled) return compiled_attention(s);
    if (is_of_tower(k, software)) return s.masked ? masked_attention_stretch(s.queries) : 1.0;
    if (s.masked && s.queries > 1) return cost("stretch.masked_eager");
    return s.queries > 1 ? cost("stretch.prompt") : 1.0;
}

/// Adds the work of a table's gradient and of the dropout in attention. (S7, S8)
void add_work(Entry& entry, const StepKernel& k, const Recorder& recorder) {
    if (k.kind == KernelKind::table_sums || k.kind == KernelKind::table_sort) {
        const EmbeddingGradient kernels = embedding_gradient(
            {.rows = k.a, .cols = k.b, .table_rows = std::max<std::int64_t>(k.c, 1), .type = k.in});
        entry.work = k.kind == KernelKind::table_sums ? kernels.sums : kernels.sort;
    }
    if (k.kind != KernelKind::attention) return;
    const AttentionShape& s = recorder.attentions()[static_cast<std::size_t>(k.attention)];
    if (!s.dropout) return;
    if (const auto* attention = std::get_if<model::Attention>(&entry.operation)) {
        entry.beside = drawn_numbers(*attention, model::Implementation::torch_cudnn);
    }
}

model::Execution execution_of(const StepKernel& k, Software software) {
    model::Execution execution;
    if (software == Software::serving) execution.launch = model::LaunchMode::graph;
    switch (k.kind) {
        case KernelKind::product:
        case KernelKind::experts:
        case KernelKind::expert_block:
            // Weights come from memory; the output of the previous kernel is still in the L2.
            execution.l2 = model::L2State::cold;
            break;
        case KernelKind::attention:
            // The heads of towers have odd widths: the backend that PyTorch picks knows them. (W30)
            if (is_of_tower(k, software)) execution.mode = model::RunMode::eager;
            break;
        case KernelKind::collective:
            break;
        default:
            if (software == Software::transformers || k.kind == KernelKind::optimizer) {
                execution.implementation = model::Implementation::torch;
            }
    }
    return execution;
}

/// The type in which a product with such weights multiplies.
DataType type_of(Quantisation quantisation) {
    switch (quantisation) {
        case Quantisation::nvfp4:
            return DataType::nvfp4;
        case Quantisation::int8:
            return DataType::int8;
        case Quantisation::fp8_block:
            return DataType::fp8_block;
        default:
            return DataType::fp8;
    }
}

/// Weights of 4 bits with activations of 16: unpacked while they are loaded.
bool unpacks(Quantisation quantisation) {
    return quantisation == Quantisation::int4 || quantisation == Quantisation::mxfp4;
}

/// Products of layers with quantised weights run in that type. int4 weights are unpacked while they
/// are loaded: with few rows the product takes a little more than a quarter of the time.
void quantise(Entry& entry, const StepKernel& k, Quantisation quantisation) {
    if (auto* block = std::get_if<model::Moe>(&entry.operation);
        block != nullptr && quantisation != Quantisation::none) {
        const bool bytes =
            quantisation == Quantisation::int8 || quantisation == Quantisation::fp8_block;
        if (unpacks(quantisation)) {
            const bool whole = quantisation == Quantisation::int4;
            block->weight_type = whole ? DataType::int4 : DataType::mxfp4;
        } else {
            block->type = bytes ? DataType::fp8 : type_of(quantisation);
        }
        return;
    }
    auto* product = std::get_if<model::Matmul>(&entry.operation);
    const bool of_layers =
        k.module == Module::attention || k.module == Module::mlp || k.kind == KernelKind::experts;
    if (product == nullptr || !of_layers || quantisation == Quantisation::none) return;
    if (unpacks(quantisation)) {
        constexpr std::int64_t few_rows = 64;
        entry.stretch *=
            product->m <= few_rows ? cost("stretch.unpacked_few") : cost("stretch.unpacked");
        return;
    }
    product->type = type_of(quantisation);
}

}  // namespace

Entry entry_of(const Recorder::Counted& counted, const Recorder& recorder, const Request& request) {
    const StepKernel& k = counted.kernel;
    Entry entry;
    entry.operation = operation_of(k, recorder);
    entry.execution = execution_of(k, request.software);
    entry.count = counted.count;
    entry.kernels = launches_of(k, recorder, request);
    if (request.software != Software::serving) {
        entry.stretch = stretch_of(k, recorder, request.software);
        entry.indexed_clocks = indexed_clocks(k);
        add_work(entry, k, recorder);
        const bool told = k.kind == KernelKind::small && k.least > Time{};
        if (told || request.software == Software::transformers) entry.least = least_of(k);
    }
    entry.name = k.name;
    if (k.kind == KernelKind::unmodelled) entry.unmodelled = "its time is not modelled";
    entry.module = k.module;
    entry.pass = k.pass;
    entry.first_layer = counted.layer;
    entry.overlapped = k.kind == KernelKind::collective && k.d == 0;
    if (auto* block = std::get_if<model::Moe>(&entry.operation)) {
        block->tp = request.tensor_parallel;
        block->ep = request.expert_parallel;
    }
    const bool experts = k.kind == KernelKind::experts || k.kind == KernelKind::expert_block;
    if (!k.plain) {
        quantise(entry, k,
                 experts ? request.expert_quantisation.value_or(request.quantisation)
                         : request.quantisation);
    }
    if (auto* attention = std::get_if<model::Attention>(&entry.operation);
        attention != nullptr && request.cache_type != request.type) {
        attention->cache_type = request.cache_type;
    }
    if (auto* latent = std::get_if<model::Mla>(&entry.operation);
        latent != nullptr && request.cache_type != request.type) {
        latent->cache_type = request.cache_type;
    }
    if (auto* sparse = std::get_if<model::SparseAttention>(&entry.operation);
        sparse != nullptr && sparse->part == model::SparsePart::attend &&
        request.cache_type != request.type) {
        sparse->cache_type = request.cache_type;
    }
    return entry;
}

}  // namespace ridge::programs
