// What each instruction of a procedure is: a call of the recorder.
#include <array>

#include "hardware/error.h"
#include "programs/software/model_run.h"

namespace ridge::programs {

using model::DataType;

/// An instruction with the tensors that it reads. They are given up when the call has returned.
struct ModelRun::Call {
    Op op;
    Math math;
    std::string_view name;
    std::array<Buffer, 3> in{};
    const Linear* weight = nullptr;
    const Instruction& instruction;
    const std::int64_t* numbers;

    [[nodiscard]] std::int64_t n(std::size_t i) const {
        return i < instruction.numbers ? numbers[i] : 0;
    }
};

Buffer& ModelRun::global(std::int32_t index) {
    if (!cache_.empty() && index == keys_) return cache_[layer_].keys;
    if (!cache_.empty() && index == values_global_) return cache_[layer_].values;
    return globals_[static_cast<std::size_t>(index)];
}

const Linear& ModelRun::weight(std::int32_t rule) const {
    const auto index = static_cast<std::size_t>(rule);
    const bool of_layer = architecture_.rules->weights[index].of_layer;
    return of_layer ? layers_[weights_at_].by_rule[index] : model_.by_rule[index];
}

Buffer ModelRun::take(const Operand& operand) {
    switch (operand.kind) {
        case Operand::Kind::value: {
            Buffer& value = values_[static_cast<std::size_t>(operand.number)];
            return operand.last ? std::move(value) : value;
        }
        case Operand::Kind::weight:
            return weight(operand.number).weight;
        case Operand::Kind::global:
            return global(operand.number);
        case Operand::Kind::none:
            break;
    }
    return {};
}

void ModelRun::give(const Operand& operand, Buffer made) {
    if (operand.kind == Operand::Kind::global) {
        const bool cached = operand.number == keys_ || operand.number == values_global_;
        if (cached) run_.mark(made, Purpose::cache);
        global(operand.number) = std::move(made);
    } else if (operand.kind == Operand::Kind::value) {
        if (made) value_types_[static_cast<std::size_t>(operand.number)] = made.type();
        if (!operand.last) values_[static_cast<std::size_t>(operand.number)] = std::move(made);
    }
}

DataType ModelRun::type_of(std::int16_t word) const {
    switch (static_cast<TypeWord>(word)) {
        case TypeWord::type:
            return request_.type;
        case TypeWord::cache_type:
            return request_.cache_type;
        case TypeWord::fp32:
            return DataType::fp32;
        case TypeWord::int8:
            return DataType::int8;
    }
    return request_.type;
}

Buffer ModelRun::execute(const Code& code, Buffer argument) {
    // A layer that runs again for its gradient interrupts no other code, so the values are shared.
    const auto count = static_cast<std::size_t>(code.values);
    if (values_.size() < count) {
        values_.resize(count);
        value_types_.resize(count);
    }
    if (argument) {
        value_types_[0] = argument.type();
        values_[0] = std::move(argument);
    }
    for (const Instruction& each : code.instructions) call(code, each);
    Buffer result = take(code.result);
    for (std::size_t i = 0; i < count; ++i) values_[i].reset();
    return result;
}

/// nn.Linear; under autocast the operands are bf16, and the weight is converted in every step.
Buffer ModelRun::apply(Buffer x, const Linear& layer, std::string_view name) {
    if (!request_.mixed) return run_.linear(std::move(x), layer, name);
    Linear narrow = layer;
    narrow.weight = run_.cast(layer.weight, request_.type, "autocast: weight");
    if (layer.bias) narrow.bias = run_.cast(layer.bias, request_.type, "autocast: bias");
    return run_.linear(run_.cast(std::move(x), request_.type, "autocast: input"), narrow, name);
}

/// What a family's file cannot rule out when it is loaded: a tensor that a procedure did not return,
/// sizes of zero or beyond any model.
void ModelRun::check(const Call& c) const {
    constexpr std::int64_t most = 100'000'000'000'000'000;
    const auto fail = [&](const char* what) {
        throw InputError("family " + architecture_.rules->name + ": " + what + " in '" +
                         std::string(c.name) + "'");
    };
    const bool may_lack = c.op == Op::cat || c.op == Op::batched || c.op == Op::hold;
    const bool attends = c.op == Op::attention || c.op == Op::see;
    const bool pair = c.op == Op::binary || c.op == Op::broadcast || c.op == Op::grouped ||
                      attends || c.op == Op::assembled || c.op == Op::cat;
    if (c.instruction.operands > 0 && !may_lack && !c.in[0]) fail("a tensor that nothing made");
    if (pair && !c.in[1]) fail("a tensor that nothing made");
    if (attends && !c.in[2]) fail("a tensor that nothing made");
    const bool recurs = c.op == Op::gated_delta || c.op == Op::kimi_delta || c.op == Op::mamba2;
    const bool chooses = c.op == Op::attend_chosen || c.op == Op::index_keys;
    const bool rows = c.op == Op::mean || c.op == Op::softmax || c.op == Op::layer_norm ||
                      c.op == Op::fused_norm || c.op == Op::merged_norm || c.op == Op::grouped ||
                      attends || c.op == Op::repeated || c.op == Op::expert_block || recurs ||
                      chooses || c.op == Op::transposed;
    const std::size_t sizes = recurs || c.op == Op::see           ? 6
                              : c.op == Op::grouped || attends    ? 4
                              : chooses || c.op == Op::transposed ? 2
                                                                  : 1;
    for (std::size_t i = 0; i < c.instruction.numbers; ++i) {
        if (c.n(i) < 0 || c.n(i) > most) fail("a size beyond any model");
        if (rows && i < sizes && c.n(i) == 0) fail("a size of zero");
    }
}

void ModelRun::call(const Code& code, const Instruction& instruction) {
    const Operand* const operands = code.operands.data() + instruction.first_operand;
    if (instruction.op == Op::release) {
        for (std::size_t i = 0; i < instruction.operands; ++i) {
            if (operands[i].kind == Operand::Kind::global) global(operands[i].number).reset();
            static_cast<void>(take(operands[i]));
        }
        return;
    }
    // In training, the mask of a compiled model is made once.
    if (instruction.op == Op::laid && code.numbers[instruction.first_number + 1] != 0 &&
        global(operands[0].number)) {
        return;
    }
    if (instruction.module >= 0) {
        run_.module(modules_[static_cast<std::size_t>(instruction.module)]);
    }
    Call made{.op = instruction.op,
              .math = static_cast<Math>(instruction.word),
              .name = instruction.label,
              .instruction = instruction,
              .numbers = code.numbers.data() + instruction.first_number};
    if (instruction.weight >= 0) made.weight = &weight(instruction.weight);
    run_.plain(made.weight != nullptr && made.weight->plain);
    for (std::size_t i = 0; i < instruction.operands && i < made.in.size(); ++i) {
        const bool lends = instruction.op == Op::cast_like && i == 1;
        if (!lends) made.in[i] = take(operands[i]);
    }
    check(made);
    if (instruction.op == Op::split || instruction.op == Op::split_group) {
        return split_call(code, made);
    }
    if (instruction.results == 0) return launch_call(made);
    Buffer out;
    if (instruction.op == Op::cast_like) {
        const DataType type = value_types_[static_cast<std::size_t>(operands[1].number)];
        out = run_.cast(std::move(made.in[0]), type, made.name);
    } else {
        out = elementwise_call(made);
    }
    give(operands[instruction.operands], std::move(out));
    made.in[2].reset();
    made.in[1].reset();
}

Buffer ModelRun::elementwise_call(Call& c) {
    auto& [x, y, z] = c.in;
    switch (c.op) {
        case Op::unary:
            return run_.unary(c.math, std::move(x), c.name);
        case Op::binary:
            return run_.binary(c.math, std::move(x), std::move(y), c.name);
        case Op::broadcast:
            return run_.broadcast(c.math, std::move(x), std::move(y), c.name, c.n(0) != 0);
        case Op::cast:
            return run_.cast(std::move(x), type_of(c.instruction.word), c.name);
        case Op::dropout:
            return run_.dropout(std::move(x), 1.0, c.name);
        case Op::in_place:
            return run_.in_place(c.math, std::move(x), c.name);
        case Op::made:
            return run_.made(c.math, c.n(0), type_of(static_cast<std::int16_t>(c.n(1))), c.name);
        case Op::fused:
            return run_.fused(c.math, std::move(x), static_cast<int>(c.n(0)), c.name);
        case Op::merged:
            return y ? run_.merged(c.math, {&x, &y}, Reading::vectors, c.name)
                     : run_.merged(c.math, {&x}, Reading::vectors, c.name);
        case Op::merged_indexed:
            return run_.merged(c.math, {&x}, Reading::indexed, c.name);
        default:
            return rows_call(c);
    }
}

Buffer ModelRun::rows_call(Call& c) {
    auto& [x, y, z] = c.in;
    switch (c.op) {
        case Op::mean:
            return run_.mean(std::move(x), c.n(0), c.name);
        case Op::softmax:
            return run_.softmax(std::move(x), c.n(0), c.name);
        case Op::layer_norm:
            return run_.layer_norm(std::move(x), c.weight->weight, c.weight->bias, c.n(0), c.name);
        case Op::fused_norm:
            return run_.fused_norm(std::move(x), c.n(0), c.name);
        case Op::merged_norm:
            return run_.merged_norm(std::move(x), c.weight->weight, c.weight->bias, c.n(0),
                                    static_cast<int>(c.n(1)), c.name);
        case Op::cross_entropy:
            return run_.cross_entropy(std::move(x), c.n(0), c.n(1));
        case Op::normalised:
            return run_.normalised(std::move(x), c.name);
        case Op::picked:
            return run_.picked(x, c.n(0), c.name);
        case Op::sum_of_rows:
            return run_.sum_of_rows(std::move(x), c.n(0), c.n(1), c.n(2), c.name);
        default:
            return moving_call(c);
    }
}

Buffer ModelRun::moving_call(Call& c) {
    auto& [x, y, z] = c.in;
    switch (c.op) {
        case Op::alloc:
            return run_.allocate(c.n(0), type_of(c.instruction.word), c.name);
        case Op::alloc_cache:
            return run_.allocate(c.n(0), request_.cache_type, c.name);
        case Op::alloc_like:
            return run_.allocate(c.n(0), x.type(), c.name);
        case Op::apart:
            return x.apart();
        case Op::together:
            return x.together();
        case Op::contiguous:
            return run_.contiguous(std::move(x), c.name);
        case Op::heads:
            return run_.heads(std::move(x), c.n(0) != 0, c.name);
        case Op::slice:
            return run_.slice(x, c.n(0), c.name);
        case Op::cat:
            return run_.cat(std::move(x), std::move(y), c.n(0), c.name);
        case Op::gather_rows:
            return run_.gather_rows(x, c.n(0), c.n(1), c.n(2), c.name);
        case Op::transposed:
            return run_.transposed(x, c.n(0), c.n(1), c.name);
        case Op::repeated:
            return run_.repeated(std::move(x), c.n(0), c.name);
        case Op::assembled:
            return run_.assembled(x, y, c.n(0), c.name);
        case Op::with_gradient:
            return run_.with_gradient_of(std::move(x), c.n(0), c.name);
        case Op::hold:
            return std::move(x);
        case Op::laid:
        case Op::laid_like: {
            const DataType type = x ? x.type() : request_.type;
            Buffer made = run_.allocate(c.n(0), type, c.name);
            x.reset();
            run_.compiled_copy(c.n(0), type, type, Reading::vectors, c.name);
            return made;
        }
        default:
            return product_call(c);
    }
}

Buffer ModelRun::product_call(Call& c) {
    auto& [x, y, z] = c.in;
    switch (c.op) {
        case Op::embedding:
            return run_.embedding(x, c.n(0), c.n(1), c.n(2), c.name);
        case Op::linear: {
            if (!z) return apply(std::move(x), *c.weight, c.name);
            Linear layer = *c.weight;
            layer.weight = z;
            return apply(std::move(x), layer, c.name);
        }
        case Op::patches:
            return run_.patches(x, *c.weight, c.name);
        case Op::grouped:
            return run_.grouped(x, y, c.n(0), c.n(1), c.n(2), c.n(3), c.name);
        case Op::attention:
        case Op::see:
            return attention_call(c);
        case Op::enter_shards:
            return run_.enter_shards(std::move(x), c.n(0), c.name);
        case Op::all_gathered:
            return run_.all_gathered(std::move(x), c.n(0), c.name);
        case Op::gated_delta:
        case Op::kimi_delta:
        case Op::mamba2:
            return recurrence_call(c);
        case Op::attend_chosen:
            return chosen_call(c);
        case Op::unmodelled:
            run_.launch({.kind = KernelKind::unmodelled,
                         .in = x.type(),
                         .out = x.type(),
                         .a = c.n(0),
                         .name = c.name});
            return run_.allocate(c.n(0), x.type(), c.name);
        default:
            RIDGE_CONTRACT(c.instruction.results == 0);
            return {};
    }
}

Buffer ModelRun::recurrence_call(Call& c) {
    const DataType type = c.in[0].type();
    model::Recurrence shape{.kind = c.op == Op::mamba2       ? model::RecurrenceKind::mamba2
                                    : c.op == Op::kimi_delta ? model::RecurrenceKind::kda
                                                             : model::RecurrenceKind::gdn,
                            .part = model::RecurrencePart::conv,
                            .phase = request_.tokens() == 1 ? model::RecurrencePhase::generation
                                                            : model::RecurrencePhase::context,
                            .batch = request_.batch,
                            .seq = request_.tokens(),
                            .k_heads = c.n(0),
                            .head_k_dim = c.n(1),
                            .v_heads = c.n(2),
                            .head_v_dim = c.n(3),
                            .conv = c.n(4),
                            .chunk = c.n(5),
                            .type = type};
    run_.serving_kernel(shape, type, request_.training(), "short convolution");
    shape.part = model::RecurrencePart::scan;
    run_.serving_kernel(shape, type, request_.training(), c.name);
    return run_.allocate(shape.batch * shape.seq * shape.v_heads * shape.head_v_dim, type, c.name);
}

/// The indexer's scores in 8 bits, and the choice of keys: index heads, their size, keys, chosen keys.
void ModelRun::index_call(Call& c) {
    const DataType type = c.in[0].type();
    const std::int64_t queries = request_.tokens();
    run_.serving_kernel(model::SparseAttention{.part = model::SparsePart::index,
                                               .batch = request_.batch,
                                               .heads = c.n(0),
                                               .seq_q = queries,
                                               .seq_kv = std::max(c.n(2), queries),
                                               .head_dim = c.n(1),
                                               .type = DataType::fp8},
                        type, request_.training(), "indexer: scores");
    run_.serving_kernel(model::TokenWise{.kind = model::TokenKind::topk,
                                         .rows = request_.batch * queries,
                                         .cols = c.n(2),
                                         .width = std::min(c.n(3), c.n(2)),
                                         .type = DataType::fp32,
                                         .output = DataType::fp32},
                        type, request_.training(), "indexer: choice");
}

/// Attention to the chosen keys: heads, chosen keys, width of values, further width of keys, all keys.
Buffer ModelRun::chosen_call(Call& c) {
    const DataType type = c.in[0].type();
    const std::int64_t queries = request_.tokens();
    run_.serving_kernel(model::SparseAttention{.part = model::SparsePart::attend,
                                               .batch = request_.batch,
                                               .heads = c.n(0),
                                               .seq_q = queries,
                                               .seq_kv = std::max(c.n(4), queries),
                                               .topk = c.n(1),
                                               .latent_dim = c.n(2),
                                               .rope_dim = c.n(3),
                                               .type = type},
                        type, request_.training(), c.name);
    return run_.allocate(request_.batch * queries * c.n(0) * c.n(2), type, c.name);
}

Buffer ModelRun::attention_call(Call& c) {
    if (c.op == Op::see) {
        const AttentionShape whole{.batch = c.n(0),
                                   .heads = c.n(2),
                                   .kv_heads = c.n(3),
                                   .queries = c.n(1),
                                   .keys = c.n(1),
                                   .head_dim = c.n(4),
                                   .value_dim = c.n(5),
                                   .masked = c.n(6) != 0};
        return run_.attention(c.in[0], c.in[1], c.in[2], whole, c.name);
    }
    const bool causal = architecture_.value("causal") > 0;
    const AttentionShape shape{.batch = request_.batch,
                               .heads = c.n(0),
                               .kv_heads = c.n(1),
                               .queries = request_.tokens(),
                               .keys = c.n(4),
                               .head_dim = c.n(2),
                               .value_dim = c.n(3),
                               .window = c.n(5),
                               .causal = causal && request_.phase != Phase::decode,
                               .paged = procedures_.merges(),
                               .masked = c.n(6) != 0,
                               .dropout = c.n(7) != 0,
                               .latent_dim = c.n(8),
                               .rope_dim = c.n(9)};
    return run_.attention(c.in[0], c.in[1], c.in[2], shape, c.name);
}

void ModelRun::split_call(const Code& code, Call& c) {
    const Instruction& instruction = c.instruction;
    std::vector<std::int64_t> sizes(c.numbers, c.numbers + instruction.numbers);
    if (c.op == Op::split_group) {
        std::int64_t all = 0;
        for (const std::int64_t rows : sizes) all += rows;
        for (std::int64_t& rows : sizes) rows *= c.in[0].elements() / all;
    }
    std::vector<Buffer> parts = run_.split(c.in[0], sizes, c.name);
    const Operand* const results =
        code.operands.data() + instruction.first_operand + instruction.operands;
    for (std::size_t i = 0; i < instruction.results && i < parts.size(); ++i) {
        give(results[i], std::move(parts[i]));
    }
}

/// Calls of which only the launch matters. Least times are in nanoseconds.
void ModelRun::launch_call(Call& c) {
    auto& [x, y, z] = c.in;
    switch (c.op) {
        case Op::small:
            return run_.small(c.name, c.n(0), static_cast<double>(c.n(1)) * units::ns);
        case Op::sort:
            return run_.sort(c.n(0), c.name);
        case Op::index_keys:
            return index_call(c);
        case Op::repeat:
            return run_.repeat(c.n(0));
        case Op::hold:
            held_.push_back(std::move(x));
            return;
        case Op::as_cache:
            return run_.mark(x, Purpose::cache);
        case Op::copy:
            return run_.compiled_copy(x.elements(), x.type(), x.type(), Reading::vectors, c.name);
        case Op::copy_elements:
            return run_.compiled_copy(c.n(0), request_.type, request_.type, Reading::vectors,
                                      c.name);
        case Op::all_reduce:
            return run_.collective(model::CollectiveKind::all_reduce,
                                   c.n(0) * model::size_of(request_.type), c.n(1), "all_reduce");
        case Op::batched:
            return run_.batched(c.n(0), c.n(1), c.n(2), c.n(3), x ? x.type() : request_.type,
                                c.name, c.n(4) != 0 ? ProductForm::forward : ProductForm::plain);
        case Op::expert_block:
            return run_.launch({.kind = KernelKind::expert_block,
                                .in = x.type(),
                                .out = x.type(),
                                .inputs = static_cast<std::int8_t>(c.n(4)),
                                .gated = c.n(5) != 0,
                                .launches = 6,
                                .a = c.n(0),
                                .b = c.n(1),
                                .c = c.n(2),
                                .d = c.n(3),
                                .name = c.name});
        default:
            return;
    }
}

}  // namespace ridge::programs
