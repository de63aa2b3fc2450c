#include "programs/traffic/encoder.h"

#include <algorithm>
#include <initializer_list>

#include "hardware/checked.h"
#include "model/predict.h"
#include "programs/host.h"

namespace ridge::programs {
namespace {

/// A kernel of the encoder; zero if it is not modelled.
Time kernel_time(const model::Operation& operation, const model::Machine& machine) {
    const model::Outcome outcome = model::predict(operation, {}, machine);
    const auto* const prediction = std::get_if<model::Prediction>(&outcome);
    return prediction == nullptr ? Time{} : prediction->time + gap_of_stream();
}

/// Attention among the patches of each image. Kernels are made for few head sizes; others are padded.
Time attention_time(model::Attention attention, const model::Machine& machine) {
    const std::int64_t size = attention.head_dim;
    for (const std::int64_t padded : {std::int64_t{1}, std::int64_t{8}, std::int64_t{32},
                                      std::int64_t{64}, std::int64_t{128}}) {
        attention.head_dim = ceil_divide(size, padded) * padded;
        const Time time = kernel_time(attention, machine);
        if (time > Time{}) return time;
    }
    return Time{};
}

}  // namespace

std::optional<Encoder> encoder_of(const Architecture& a) {
    const Encoder encoder{.depth = a.value("v_depth"),
                          .hidden = a.value("v_hidden"),
                          .inner = a.value("v_inner"),
                          .heads = a.value("v_heads"),
                          .patches = a.value("v_per_token"),
                          .pixels = a.value("v_numbers"),
                          .out = a.value("v_out")};
    const bool known = encoder.depth > 0 && encoder.hidden > 0 && encoder.inner > 0 &&
                       encoder.heads > 0 && encoder.patches > 0 && encoder.pixels > 0;
    return known ? std::optional(encoder) : std::nullopt;
}

Time Encoder::time(const Deployment& d, const model::Machine& machine, std::int64_t tokens,
                   std::int64_t each) const {
    const std::int64_t shared = heads % d.tensor == 0 ? d.tensor : 1;
    const std::int64_t rows = tokens * patches;
    const std::int64_t length = std::max<std::int64_t>(1, std::min(each, tokens)) * patches;
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return kernel_time(model::Matmul{.m = m, .n = n, .k = k, .type = d.type}, machine);
    };
    const Time norm = kernel_time(
        model::RowWise{
            .kind = model::RowKind::layernorm, .rows = rows, .cols = hidden, .type = d.type},
        machine);
    const Time attended = attention_time({.batch = ceil_divide(rows, length),
                                          .heads = heads / shared,
                                          .kv_heads = heads / shared,
                                          .seq_q = length,
                                          .seq_kv = length,
                                          .head_dim = hidden / heads,
                                          .type = d.type},
                                         machine);
    const Time activation =
        kernel_time(model::Copy{.elements = rows * inner / shared, .type = d.type}, machine);
    const Time added = kernel_time(model::Copy{.elements = rows * hidden, .type = d.type}, machine);
    Time layer = 2.0 * (norm + added) + attended + activation;
    layer = layer + product(rows, 3 * hidden / shared, hidden) +
            product(rows, hidden, hidden / shared) + product(rows, inner / shared, hidden) +
            product(rows, hidden, inner / shared);
    if (shared > 1) {
        const model::Collective sum{.kind = model::CollectiveKind::all_reduce,
                                    .gpus = shared,
                                    .bytes = rows * hidden * model::size_of(d.type),
                                    .type = d.type};
        layer = layer + 2.0 * kernel_time(sum, machine);
    }
    const std::int64_t merged = hidden * patches;
    return static_cast<double>(depth) * layer + product(rows, hidden, pixels) +
           product(tokens, merged, merged) +
           product(tokens, std::max<std::int64_t>(out, 1), merged);
}

}  // namespace ridge::programs
