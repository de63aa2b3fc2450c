// Properties of every prediction, over random operations (seeded) on many GPUs.
//
// Every case draws operations of all kinds from `random_operation`. Its counts are log-uniform, so
// one element and gigabytes are equally likely. A failing case prints its operation and GPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/predict.h"
#include "model/roof/account.h"
#include "model/roof/roofline.h"
#include "tests/catch.h"
#include "tests/model/random_operation.h"
#include "tests/model/tally.h"

namespace ridge::model {
namespace {

/// Operations per property. On a dozen GPUs these are 10^5 predictions.
const std::size_t cases = test::case_count(9000);

const std::vector<Machine>& machines() {
    static const std::vector<Machine> all = [] {
        const model::Catalogue catalogue = model::catalogue();
        std::vector<Machine> found;
        for (const char* gpu : {"a100-sxm-40gb", "a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200",
                                "l40s", "rtx-4090", "t4", "v100-sxm", "k80", "mi300x", "tpu-v4"}) {
            found.push_back(make_machine(catalogue.at(gpu)));
        }
        return found;
    }();
    return all;
}

std::span<const Implementation> ways_of(const Operation& operation) {
    return info_of(parse_operation_kind(name_of(operation))).implementations;
}

/// Calls `check(operation, execution, machine, prediction)` for every modelled case.
template <class Check>
void for_each_prediction(std::uint64_t seed, Check&& check) {
    test::Random random(seed);
    std::size_t modelled = 0;
    for (std::size_t i = 0; i < cases; ++i) {
        const Operation operation = test::random_operation(random);
        const Execution execution = test::random_execution(operation, random);
        for (const Machine& machine : machines()) {
            const Outcome outcome = predict(operation, execution, machine);
            if (const auto* refused = std::get_if<NotModelled>(&outcome)) {
                REQUIRE_FALSE(refused->reason.empty());
                continue;
            }
            ++modelled;
            INFO(test::describe(operation)
                 << " impl " << name_of(execution.implementation) << " on " << machine.name);
            check(operation, execution, machine, std::get<Prediction>(outcome));
        }
    }
    CHECK(modelled > cases * machines().size() / 3);
}

template <class Quantity>
bool finite(Quantity quantity) {
    return std::isfinite(quantity.base()) && quantity.base() >= 0.0;
}

bool is_sane(const Prediction& p) {
    bool sane = finite(p.time) && finite(p.low) && finite(p.high) && finite(p.lower_bound) &&
                finite(p.peak) && finite(p.bandwidth) && finite(p.intensity) &&
                finite(p.l2_intensity) && finite(p.ridge) && finite(p.attainable) &&
                finite(p.footprint) && finite(p.work.tensor) && finite(p.work.fma) &&
                finite(p.work.dram()) && finite(p.work.l2) && std::isfinite(p.work.special) &&
                p.time > Time{} && !p.terms.empty() && p.work.kernels >= 1;
    for (const Term& term : p.terms) {
        sane =
            sane && finite(term.time) && std::isfinite(term.amount) && std::isfinite(term.rate());
    }
    return sane && p.tiling.wave_efficiency > 0.0 && p.tiling.wave_efficiency <= 1.0 &&
           p.tiling.tile_efficiency > 0.0 && p.tiling.tile_efficiency <= 1.0;
}

bool within_band(const Prediction& p) {
    return p.low <= p.time && p.time <= p.high && p.time >= p.lower_bound * (1.0 - 1e-12);
}

TEST_CASE("every kind of operation is drawn, valid and described", "[property]") {
    test::Random random(10);
    for (const OperationInfo& info : operation_table()) {
        for (int i = 0; i < 200; ++i) {
            const Operation operation = test::random_operation(random, info.kind);
            REQUIRE_NOTHROW(validate(operation));
            REQUIRE(kind_of(operation) == info.kind);
            const std::string text = test::describe(operation);
            INFO(text);
            const OperationText read = parse_operation(text);
            REQUIRE(test::describe(make_operation(read.kind, read.parameters)) == text);
        }
    }
}

TEST_CASE("predictions are finite, positive, within their band and at or above the lower bound",
          "[property]") {
    for_each_prediction(
        1, [](const Operation&, const Execution&, const Machine&, const Prediction& p) {
            REQUIRE(is_sane(p));
            REQUIRE(within_band(p));
        });
}

TEST_CASE("less than one vector takes no longer than one vector", "[property]") {
    const std::vector<const char*> texts{"x + 1", "gelu(x + bias)", "x * y"};
    int compared = 0;
    for (const DataType type : {DataType::fp8, DataType::bf16, DataType::fp32, DataType::fp64}) {
        const auto vector = static_cast<std::int64_t>(16 / size_of(type));
        const auto ways_to_stream = [&](std::int64_t elements) {
            std::vector<Operation> operations{Copy{.elements = elements, .type = type}};
            for (const char* text : texts) {
                operations.emplace_back(Elementwise{
                    .expression = parse_expression(text), .elements = elements, .type = type});
            }
            return operations;
        };
        const std::vector<Operation> whole = ways_to_stream(vector);
        for (std::int64_t elements = 1; elements < vector; ++elements) {
            const std::vector<Operation> less = ways_to_stream(elements);
            for (std::size_t i = 0; i < less.size(); ++i) {
                for (const Machine& machine : machines()) {
                    const Outcome tiny = predict(less[i], {}, machine);
                    if (!std::holds_alternative<Prediction>(tiny)) continue;
                    INFO(test::describe(less[i]) << " on " << machine.name);
                    const Outcome full = predict(whole[i], {}, machine);
                    REQUIRE(std::get<Prediction>(tiny).time <= std::get<Prediction>(full).time);
                    ++compared;
                }
            }
        }
    }
    CHECK(compared == 1248);  // on every GPU, each type that is narrower than a vector
}

// A block of experts is a sum of kernels, and the choice of a product's tile sees only its own
// kernel. Corrections of access patterns depend on the analytic time (docs/model.md K1).
TEST_CASE("more DRAM bandwidth makes no operation slower", "[property]") {
    test::Random random(22);
    test::Tally experts{.usual = 1.0 + 1e-9, .ever = 1.001};
    for_each_prediction(2, [&](const Operation& operation, const Execution& execution,
                               const Machine& machine, const Prediction& p) {
        Machine faster = machine;
        const double factor = random.real(1.0, 4.0);
        faster.dram_bandwidth *= factor;
        if (faster.memory) faster.memory->dram *= factor;
        const Time time = std::get<Prediction>(predict(operation, execution, faster)).time;
        if (std::holds_alternative<Moe>(operation)) {
            experts.add(time / p.time,
                        [&] { return test::describe(operation) + " on " + machine.name; });
        } else {
            const double most = std::holds_alternative<Access>(operation) ? 1.01 : 1.0 + 1e-9;
            REQUIRE(time <= p.time * most);
        }
    });
    experts.check();
}

/// The most that the hardware can do of a term's amount per second, or zero if unknown.
double ceiling_of(const Term& term, const Prediction& p, const Machine& machine) {
    switch (term.resource) {
        case Resource::tensor:
        case Resource::fma:
            return p.peak.base();
        case Resource::special:
            return machine.special_rate.value_or(0.0);
        case Resource::dram:
        case Resource::link:
            return p.bandwidth.base();
        case Resource::l2:
        case Resource::store:
            return l2_ceiling(machine).base();
        default:
            return 0.0;
    }
}

Time time_of(const Prediction& p, Resource resource) {
    Time longest{};
    for (const Term& term : p.terms) {
        if (term.resource == resource) longest = std::max(longest, term.time);
    }
    return longest;
}

TEST_CASE("no term exceeds its ceiling, and the largest term names the limiter", "[property]") {
    for_each_prediction(
        12, [](const Operation&, const Execution&, const Machine& machine, const Prediction& p) {
            for (const Term& term : p.terms) {
                INFO(name_of(term.resource));
                const double ceiling = ceiling_of(term, p, machine);
                if (ceiling > 0.0)
                    REQUIRE(term.amount <= ceiling * term.time.base() * (1.0 + 1e-9));
                if (term.resource == Resource::dram) REQUIRE(term.amount == p.work.dram().base());
            }
            if (p.limiter != Resource::parallelism) {
                const Time named = time_of(p, p.limiter);
                for (const Term& term : p.terms) REQUIRE(term.time <= named * (1.0 + 1e-9));
            }
            REQUIRE(p.lower_bound > Time{});
            REQUIRE(p.time >= machine.kernel_floor * (1.0 - 1e-12));
        });
}

Roofs doubled(Roofs roofs) {
    if (roofs.tensor) *roofs.tensor *= 2.0;
    if (roofs.vector) *roofs.vector *= 2.0;
    if (roofs.special) *roofs.special *= 2.0;
    if (roofs.l2) *roofs.l2 *= 2.0;
    if (roofs.shared) *roofs.shared *= 2.0;
    roofs.dram *= 2.0;
    return roofs;
}

TEST_CASE("doubling every rate halves the roofline's time without launches", "[property]") {
    for_each_prediction(3, [](const Operation& operation, const Execution&, const Machine& machine,
                              const Prediction& p) {
        Machine unlaunched = machine;
        unlaunched.kernel_floor = Time{};
        const Roofs roofs = roofs_of(machine, type_of(operation));
        Prediction before = roofline(p.work, roofs, unlaunched);
        Prediction after = roofline(p.work, doubled(roofs), unlaunched);
        settle_limiter(before);
        settle_limiter(after);
        REQUIRE(after.time * 2.0 == before.time);
        REQUIRE(after.lower_bound * 2.0 == before.lower_bound);
        REQUIRE(after.ridge == before.ridge);
        REQUIRE(after.limiter == before.limiter);
        // Launches only add time.
        REQUIRE(roofline(p.work, roofs, machine).time >= before.time);
    });
}

TEST_CASE("work and footprint grow with every dimension", "[property]") {
    for_each_prediction(4, [](const Operation& operation, const Execution& execution,
                              const Machine& machine, const Prediction& p) {
        for (const auto& [dimension, larger] : test::grown(operation)) {
            const Outcome outcome = predict(larger, execution, machine);
            const auto& q = std::get<Prediction>(outcome);
            INFO("with a larger " << dimension);
            REQUIRE(q.work.flop() >= p.work.flop());
            REQUIRE(q.work.special >= p.work.special);
            REQUIRE(q.work.compulsory_read >= p.work.compulsory_read);
            REQUIRE(q.work.compulsory_write >= p.work.compulsory_write);
            REQUIRE(q.lower_bound >= p.lower_bound);
            // Split keys need scratch memory; a larger grid is not split and needs none.
            if (p.tiling.split == 1) REQUIRE(q.footprint >= p.footprint);
        }
    });
}

TEST_CASE("graphs and streams add gaps between the kernels of an implementation", "[property]") {
    for_each_prediction(5, [](const Operation& operation, Execution execution,
                              const Machine& machine, const Prediction& p) {
        // `auto` may choose a framework's kernels in a stream and a library's otherwise.
        execution.implementation = p.implementation;
        const auto time_of = [&](LaunchMode mode) {
            execution.launch = mode;
            const Outcome outcome = predict(operation, execution, machine);
            return std::get<Prediction>(outcome).time;
        };
        REQUIRE(time_of(LaunchMode::graph) >= time_of(LaunchMode::kernel));
        REQUIRE(time_of(LaunchMode::stream) >= time_of(LaunchMode::kernel));
    });
}

// Found by scripts/soak: a state compared its tile with that of only one other state, and a graph
// changed which one.
TEST_CASE("a replayed graph is no faster than its kernel if L2 loses operands") {
    Matmul op{.m = 2, .n = 256, .k = 8192, .type = DataType::fp16, .output = DataType::bf16};
    op.b_layout = Layout::column_major;
    const Machine t4 = make_machine(catalogue().at("t4"));
    const auto time_of = [&](LaunchMode launch) {
        const Execution execution{
            .implementation = Implementation::library, .l2 = L2State::dirty, .launch = launch};
        return std::get<Prediction>(predict(op, execution, t4)).time;
    };
    CHECK(time_of(LaunchMode::graph) >= time_of(LaunchMode::kernel));
}

Prediction predict_on(const Operation& operation, Implementation implementation,
                      const Machine& machine) {
    validate(operation);
    return std::get<Prediction>(predict(operation, {.implementation = implementation}, machine));
}

TEST_CASE("fewer key heads keep the FLOP and need no more bytes than multi-head attention",
          "[property]") {
    test::Random random(6);
    for (std::size_t i = 0; i < cases; ++i) {
        Attention multi = test::random_attention(random, test::Heads::equal);
        multi.cache_type = std::nullopt;  // flash2 has no cache type
        const Machine& machine = machines()[i % 4];
        const Prediction p = predict_on(multi, Implementation::flash2, machine);
        const double tokens = static_cast<double>(multi.seq_q + multi.seq_kv);
        const double head_bytes =
            static_cast<double>(multi.batch * multi.heads * multi.head_dim * size_of(multi.type));
        if (multi.direction == Direction::forward && multi.window == 0 && !multi.kv_write) {
            // Q and O have seq_q tokens, K and V seq_kv. Training also writes the statistics.
            REQUIRE(p.work.compulsory().base() >= 2.0 * tokens * head_bytes);
        }
        Attention grouped = multi;
        grouped.kv_heads = 1;
        const Prediction g = predict_on(grouped, Implementation::flash2, machine);
        REQUIRE(g.work.flop() == p.work.flop());
        REQUIRE(g.work.compulsory() <= p.work.compulsory());
    }
}

TEST_CASE("causal work is between half and all of full work", "[property]") {
    test::Random random(7);
    for (std::size_t i = 0; i < cases; ++i) {
        Attention full = test::random_attention(random, test::Heads::grouped);
        full.cache_type = std::nullopt;
        full.window = 0;
        full.causal = false;
        full.seq_q = std::min(full.seq_q, full.seq_kv);
        Attention causal = full;
        causal.causal = true;
        const Machine& machine = machines()[i % 4];
        for (const auto implementation : {Implementation::flash1, Implementation::flash2}) {
            INFO(test::describe(full));
            const Work all = predict_on(full, implementation, machine).work;
            const Work masked = predict_on(causal, implementation, machine).work;
            REQUIRE(masked.flop() <= all.flop());
            REQUIRE(masked.flop() * 2.0 >= all.flop());
            REQUIRE(masked.special <= all.special * (1.0 + 1e-12));
        }
    }
}

/// Operations at the largest extents that are allowed.
std::vector<Operation> huge_operations() {
    const auto two_to = [](int exponent) { return std::int64_t{1} << exponent; };
    std::vector<Operation> huge{
        Matmul{.m = two_to(18), .n = two_to(18), .k = two_to(18)},
        Matmul{.m = two_to(48), .n = two_to(6), .k = 1},
        Matmul{.m = 1, .n = two_to(7) - 1, .k = two_to(47)},
        Matmul{.batch = two_to(48), .m = 4, .n = 4, .k = 4},
        Copy{.elements = two_to(48)},
        Transpose{.rows = two_to(27), .cols = two_to(27)},
        RowWise{.kind = RowKind::softmax, .rows = two_to(48), .cols = 64},
        RowWise{.kind = RowKind::layernorm, .rows = 64, .cols = two_to(48)},
        Gather{.rows = two_to(48), .cols = 64, .table_rows = two_to(48)},
        Elementwise{.expression = parse_expression("gelu(x + bias) * y"), .elements = two_to(48)},
        Collective{.kind = CollectiveKind::all_reduce, .gpus = 16, .bytes = two_to(48)}};
    for (const bool causal : {false, true}) {
        for (const auto direction : {Direction::forward, Direction::backward}) {
            Attention op{.heads = 16,
                         .kv_heads = 4,
                         .seq_q = two_to(22),
                         .seq_kv = two_to(22),
                         .head_dim = 64,
                         .direction = direction,
                         .causal = causal};
            huge.emplace_back(op);
            op.window = two_to(21) + 1;
            huge.emplace_back(op);
            huge.emplace_back(Attention{.heads = 1,
                                        .kv_heads = 1,
                                        .seq_q = 1,
                                        .seq_kv = two_to(47),
                                        .head_dim = 128,
                                        .direction = direction,
                                        .causal = causal});
            huge.emplace_back(Attention{.batch = two_to(40),
                                        .heads = 64,
                                        .kv_heads = 1,
                                        .seq_q = 1,
                                        .seq_kv = 4,
                                        .head_dim = 64,
                                        .direction = direction,
                                        .causal = causal});
        }
    }
    return huge;
}

TEST_CASE("huge valid operations stay finite", "[property]") {
    std::size_t modelled = 0;
    for (const Operation& operation : huge_operations()) {
        validate(operation);
        for (const Machine& machine : machines()) {
            for (const Implementation implementation : ways_of(operation)) {
                INFO(test::describe(operation)
                     << " " << name_of(implementation) << " on " << machine.name);
                const Outcome outcome =
                    predict(operation, {.implementation = implementation}, machine);
                const auto* p = std::get_if<Prediction>(&outcome);
                if (p == nullptr) continue;
                ++modelled;
                REQUIRE(is_sane(*p));
                REQUIRE(within_band(*p));
            }
        }
    }
    CHECK(modelled >= 1450);
}

TEST_CASE("exactly the implementations listed in the operation table are modelled", "[property]") {
    test::Random random(9);
    std::size_t modelled = 0;
    for (int i = 0; i < 200; ++i) {
        const Operation operation = test::random_operation(random);
        const std::span<const Implementation> ways = ways_of(operation);
        const auto listed = [ways](Implementation implementation) {
            return std::find(ways.begin(), ways.end(), implementation) != ways.end();
        };
        constexpr auto last = static_cast<std::uint8_t>(Implementation::wgmma);
        for (const Machine& machine : machines()) {
            for (std::uint8_t value = 0; value <= last; ++value) {
                const auto asked = static_cast<Implementation>(value);
                const Outcome outcome = predict(operation, {.implementation = asked}, machine);
                const auto* p = std::get_if<Prediction>(&outcome);
                if (asked != Implementation::automatic && !listed(asked)) {
                    REQUIRE(p == nullptr);
                    REQUIRE(std::get<NotModelled>(outcome).reason ==
                            refusal(kind_of(operation), asked));
                }
                if (p == nullptr) continue;
                ++modelled;
                INFO(test::describe(operation)
                     << " impl " << name_of(asked) << " on " << machine.name);
                REQUIRE(listed(p->implementation));
                REQUIRE((asked == Implementation::automatic || asked == p->implementation));
            }
        }
    }
    CHECK(modelled >= 6000);
}

TEST_CASE("a workload is the sum of its parts", "[property]") {
    test::Random random(8);
    for (int i = 0; i < 100; ++i) {
        const Workload workload{
            {.operation = test::random_operation(random), .execution = {}},
            {.operation = test::random_operation(random),
             .execution = {.launch = LaunchMode::stream},
             .count = 3},
            {.operation = test::random_operation(random), .execution = {.l2 = L2State::cold}}};
        for (const Machine& machine : machines()) {
            const WorkloadPrediction total = predict(workload, machine);
            REQUIRE(total.parts.size() == workload.size());
            for (std::size_t step = 0; step < workload.size(); ++step) {
                const Outcome alone =
                    predict(workload[step].operation, workload[step].execution, machine);
                REQUIRE(alone.index() == total.parts[step].index());
                if (const auto* p = std::get_if<Prediction>(&alone)) {
                    REQUIRE(p->time == std::get<Prediction>(total.parts[step]).time);
                }
            }
            Time time{};
            Time low{};
            Time high{};
            std::int32_t missing = 0;
            for (std::size_t step = 0; step < workload.size(); ++step) {
                const auto* p = std::get_if<Prediction>(&total.parts[step]);
                missing += p == nullptr ? 1 : 0;
                if (p == nullptr) continue;
                const auto count = static_cast<double>(workload[step].count);
                time += count * p->time;
                low += count * p->low;
                high += count * p->high;
                REQUIRE(total.largest_footprint >= p->footprint);
            }
            REQUIRE(total.time == time);
            REQUIRE(total.left_out.operations() == missing);
            // Independent errors partly cancel, so the band is within the sum of the bands.
            REQUIRE(total.low >= low - time * 1e-12);
            REQUIRE(total.high <= high * (1.0 + 1e-12));
            REQUIRE(total.low <= total.time);
            REQUIRE(total.time <= total.high);
        }
    }
}

}  // namespace
}  // namespace ridge::model
