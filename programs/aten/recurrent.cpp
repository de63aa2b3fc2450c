// Recurrent networks of cuDNN (LSTM, GRU and plain ones), forward and backward. (eq. S9)
#include <algorithm>
#include <array>
#include <string>

#include "hardware/checked.h"
#include "programs/aten/rules.h"
#include "programs/graph/costs.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

/// The network that a call describes.
struct Network {
    std::int64_t gates = 1;
    std::int64_t hidden = 0;
    std::int64_t inputs = 0;
    std::int64_t batch = 0;
    std::int64_t steps = 0;   ///< time steps
    std::int64_t chains = 0;  ///< layers in each direction, which run one after another
    std::int64_t directions = 1;
    model::DataType type = model::DataType::bf16;
    bool persistent = false;  ///< one kernel for all steps of a layer
};

/// Whether cuDNN keeps the weights of all steps in registers: by the size of the state, not in bf16.
bool is_held(std::int64_t gates, std::int64_t hidden, ElementType type, bool backward) {
    if (type == ElementType::bf16) return false;
    const bool half = size_of(type) < 4;
    const char* const most = backward     ? (gates > 1 ? "recurrent.most_held_backward"
                                                       : "recurrent.most_held_plain_backward")
                             : gates == 4 ? "recurrent.most_held_lstm"
                             : gates == 3 ? "recurrent.most_held_gru"
                             : half       ? "recurrent.most_held_plain_half"
                                          : "recurrent.most_held_plain";
    return static_cast<double>(hidden) <= cost(most);
}

constexpr std::size_t forward_mode = 6;  // place of the mode among the arguments
constexpr std::size_t backward_mode = 10;

/// Time steps whose inputs cuDNN multiplies together.
constexpr std::int64_t chunk = 8;

/// Sequences of different lengths, packed: the trace has their number (the state's rows) and all their
/// steps. Lengths are taken to lie evenly between half of the longest and the longest.
void set_lengths(Network& net, const Subject& subject, std::size_t mode_place, std::int64_t rows) {
    for (std::size_t i = 1; i < mode_place; ++i) {
        const Tensor* const state = subject.call.tensor(i);
        if (state == nullptr || subject.call.arguments[i].list || state->dims.size() != 3) continue;
        if (state->dims[0] != net.chains || state->dims[2] != net.hidden) continue;
        net.batch = std::max<std::int64_t>(1, state->dims[1]);
        break;
    }
    const double mean = static_cast<double>(rows) / static_cast<double>(net.batch);
    net.steps =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(mean / cost("recurrent.mean_length")));
    net.batch = std::max<std::int64_t>(1, rows / net.steps);
}

std::optional<Network> network_of(const Subject& subject, bool backward) {
    const std::size_t mode_place = backward ? backward_mode : forward_mode;
    const Call& call = subject.call;
    const Tensor* const x = call.tensor(0);
    const auto mode = call.whole(mode_place);
    const auto hidden = call.whole(mode_place + 1);
    const auto layers = call.whole(mode_place + 3);
    if (x == nullptr || !mode || !hidden || !layers) return {};
    const bool packed = x->dims.size() == 2;
    if (!packed && x->dims.size() != 3) return {};
    constexpr std::array<std::int64_t, 4> gates{1, 1, 4, 3};  // ReLU, tanh, LSTM, GRU
    if (*mode < 0 || *mode > 3 || *hidden < 1 || *layers < 1 || x->elements() < 1) return {};
    const bool batch_first = call.flag(mode_place + 4);
    const std::int64_t directions = call.flag(mode_place + 7) ? 2 : 1;
    Network net{.gates = gates[static_cast<std::size_t>(*mode)],
                .hidden = *hidden,
                .inputs = x->dims.back(),
                .batch = packed ? 1 : x->dims[batch_first ? 0 : 1],
                .steps = packed ? 1 : x->dims[batch_first ? 1 : 0],
                .chains = *layers * directions,
                .directions = directions,
                .type = data_type(type_of(*x, subject))};
    if (packed) set_lengths(net, subject, mode_place, x->dims[0]);
    net.persistent = is_held(net.gates, net.hidden, type_of(*x, subject), backward);
    // cuDNN multiplies fp32 as tf32.
    if (net.type == model::DataType::fp32) net.type = model::DataType::tf32;
    return net;
}

Entry product(const Network& net, std::int64_t m, std::int64_t n, std::int64_t k,
              std::int64_t count, double stretch) {
    Entry entry;
    entry.operation = model::Matmul{.m = m, .n = n, .k = k, .type = net.type};
    entry.execution.l2 = model::L2State::warm;
    entry.count = count;
    entry.stretch = stretch;
    return entry;
}

/// One kernel per time step for all gates.
Entry pointwise_step(const Network& net, Time least) {
    const std::int64_t elements = net.batch * net.hidden * (net.gates + 4);
    return entry_of({.bytes = elements * model::size_of(net.type),
                     .least = least,
                     .count = net.chains * net.steps},
                    "gates");
}

/// One kernel goes through all steps of a layer, a block for each sequence: it loads the weights, then each
/// step waits for the state and multiplies it with them. Those that the block's registers do not hold are
/// loaded in each step again, at worst one for each value of the state, one after another. (eq. S9)
Entry persistent_steps(const Network& net, bool backward) {
    constexpr std::int64_t width = 32;
    const auto named = [backward](const char* name) {
        return cost(std::string("recurrent.") + name + (backward ? "_backward" : ""));
    };
    const auto held = static_cast<double>(ceil_divide(net.hidden, width) * width);
    const double weights = static_cast<double>(net.gates) * held * held;
    const double again =
        named("held_product") * weights +
        named("held_again") * std::max(0.0, weights - cost("recurrent.held_weights"));
    const double step = named("held_step") + std::min(again, cost("recurrent.held_serial") * held);
    Entry entry = entry_of({.bytes = net.batch * net.steps * net.hidden * model::size_of(net.type),
                            .count = net.chains},
                           "steps");
    entry.work = KernelWork{.chains = 1,
                            .chain_clocks = named("held_start") + named("held_load") * weights +
                                            step * static_cast<double>(net.steps),
                            .floors = 1.0};
    return entry;
}

std::optional<Understood> carried_out_by(const Network& net, std::vector<Entry> entries) {
    return carried_out(std::move(entries), OperatorFamily::product,
                       net.batch * net.steps * net.hidden * net.directions,
                       model::size_of(net.type));
}

/// The inputs of a few steps together; then, for each step, a product with the state and the gates.
std::optional<Understood> recurrent(const Subject& subject) {
    const auto net = network_of(subject, false);
    if (!net) return {};
    const std::int64_t rows = net->gates * net->hidden;
    if (net->persistent) {
        return carried_out_by(
            *net, {product(*net, net->batch * net->steps, rows, net->inputs, net->chains, 1.0),
                   persistent_steps(*net, false)});
    }
    const std::int64_t chunks = net->chains * ceil_divide(net->steps, chunk);
    return carried_out_by(
        *net, {product(*net, chunk * net->batch, rows, net->inputs, chunks, 1.0),
               product(*net, net->batch, rows, net->hidden, net->chains * net->steps, 1.0),
               pointwise_step(*net, time_cost("least.gates"))});
}

/// The same in reverse, the gradients of both weights, and the sum for a bias with one block per
/// 128 columns.
std::optional<Understood> recurrent_backward(const Subject& subject) {
    const auto net = network_of(subject, true);
    if (!net) return {};
    const double beside = cost("stretch.recurrent_beside");
    const std::int64_t rows = net->gates * net->hidden;
    const std::int64_t all = net->batch * net->steps;
    if (net->persistent) {
        return carried_out_by(*net, {persistent_steps(*net, true),
                                     product(*net, all, net->inputs, rows, net->chains, 1.0),
                                     product(*net, rows, net->inputs, all, net->chains, 1.0),
                                     product(*net, rows, net->hidden, all, net->chains, 1.0)});
    }
    const std::int64_t chunks = net->chains * ceil_divide(net->steps, chunk);
    Entry bias = entry_of({.bytes = all * rows * model::size_of(net->type), .count = net->chains},
                          "gradient of the bias");
    bias.work = KernelWork{.chains = ceil_divide(rows, 128),
                           .chain_clocks = cost("rows.bias_row") * static_cast<double>(all),
                           .floors = 1.0};
    return carried_out_by(
        *net, {product(*net, chunk * net->batch, net->inputs, rows, chunks, beside),
               product(*net, net->batch, net->hidden, rows, net->chains * net->steps, beside),
               pointwise_step(*net, time_cost("least.gates_backward")),
               product(*net, rows, net->inputs, all, net->chains, beside),
               product(*net, rows, net->hidden, all, net->chains, beside), std::move(bias)});
}

constexpr std::array recurrent_table{Rule{"_cudnn_rnn", recurrent},
                                     Rule{"_cudnn_rnn_backward", recurrent_backward}};

}  // namespace

std::optional<RecurrentShape> recurrent_shape(const Subject& subject) {
    const std::string_view name = bare_operator(subject.call.name);
    const bool backward = name == "_cudnn_rnn_backward";
    if (!backward && name != "_cudnn_rnn") return {};
    const auto net = network_of(subject, backward);
    if (!net) return {};
    constexpr std::int64_t vector = 16;
    const Tensor& x = *subject.call.tensor(0);
    const double wide = static_cast<double>(net->gates * net->hidden) *
                        static_cast<double>(net->hidden + net->inputs);
    return RecurrentShape{
        .steps = net->steps * net->chains,
        .products = wide * static_cast<double>(net->batch * net->steps * net->chains),
        .held = net->persistent,
        .aligned = net->hidden * size_of(type_of(x, subject)) % vector == 0,
        .wide = net->type == model::DataType::tf32};
}

std::span<const Rule> recurrent_rules() {
    return recurrent_table;
}

}  // namespace ridge::programs
