// No description breaks a prediction: not the built-in ones, and none of them with one field
// dropped or wrong by orders of magnitude.
//
// Each case is a machine made from a description in memory and every operation in every
// implementation on it: chosen shapes, and one drawn at random for each. The outcome is a
// prediction with finite numbers and a time at or above its bound and within its band, a refusal
// with a reason, or an InputError that names the field. One field in four of each GPU is dropped,
// and one wrong value in seven taken; a long run (scripts/soak) takes all.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hardware/error.h"
#include "model/advice.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/explain.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/random_operation.h"
#include "tests/support/sample.h"
#include "tests/support/scaled_field.h"

namespace ridge::model {
namespace {

constexpr std::array scales{1e-12, 1e-9, 1e-6, 1e-3, 0.1, 10.0, 1e3, 1e6, 1e9, 1e12};

std::vector<Operation> matmuls() {
    std::vector<Operation> all;
    for (const DataType type : {DataType::bf16, DataType::fp8, DataType::tf32, DataType::fp32}) {
        all.emplace_back(Matmul{.m = 4096, .n = 4096, .k = 4096, .type = type});
        all.emplace_back(Matmul{.m = 40, .n = 512, .k = 16384, .type = type});
    }
    all.emplace_back(Matmul{.m = 1000, .n = 1001, .k = 4097, .type = DataType::bf16});
    all.emplace_back(Matmul{.m = 1000, .n = 1000, .k = 4098, .type = DataType::bf16});
    all.emplace_back(Matmul{.m = 4096, .n = 1, .k = 4096, .type = DataType::bf16});
    all.emplace_back(Matmul{.m = 512,
                            .n = 512,
                            .k = 512,
                            .type = DataType::fp64,
                            .accumulate = DataType::fp64,
                            .output = DataType::fp64});
    for (const DataType type : {DataType::fp8_block, DataType::nvfp4, DataType::int8}) {
        all.emplace_back(Matmul{.m = 64, .n = 7168, .k = 2048, .type = type});
    }
    return all;
}

std::vector<Operation> attentions() {
    const Attention prefill{
        .heads = 32, .kv_heads = 8, .seq_q = 4096, .seq_kv = 4096, .head_dim = 128, .causal = true};
    Attention backward = prefill;
    backward.direction = Direction::backward;
    Attention decode{
        .batch = 16, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 8192, .head_dim = 64};
    Attention writing = decode;
    writing.kv_write = true;
    Attention served = decode;
    served.paged = true;
    served.cache_type = DataType::fp8;
    return {prefill, backward, decode, writing, served};
}

std::vector<Operation> latent_and_experts() {
    const Mla decode{.batch = 32, .heads = 128, .seq_q = 1, .seq_kv = 4096};
    Mla narrow = decode;
    narrow.cache_type = DataType::fp8;
    Mla prefill = decode;
    prefill.phase = MlaPhase::prefill;
    prefill.seq_q = prefill.seq_kv;
    std::vector<Operation> all{decode, narrow, prefill};
    for (const DataType type :
         {DataType::bf16, DataType::fp8, DataType::fp8_block, DataType::nvfp4}) {
        all.emplace_back(Moe{.tokens = 512,
                             .hidden = 7168,
                             .intermediate = 2048,
                             .topk = 8,
                             .experts = 256,
                             .ep = 8,
                             .load = {.exponent_thousandths = 1200},
                             .type = type});
    }
    return all;
}

std::vector<Operation> streams() {
    std::vector<Operation> all;
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        all.emplace_back(Elementwise{.expression = parse_expression("gelu(x + bias)"),
                                     .elements = 1 << 24,
                                     .direction = direction});
        for (const RowKind kind :
             {RowKind::softmax, RowKind::layernorm, RowKind::rmsnorm, RowKind::sum}) {
            all.emplace_back(RowWise{.kind = kind,
                                     .rows = 4096,
                                     .cols = 4097,
                                     .type = DataType::fp32,
                                     .direction = direction});
        }
    }
    all.emplace_back(Elementwise{.expression = parse_expression("x + 1"), .elements = 64});
    all.emplace_back(RowWise{.rows = 128, .cols = 1024});
    all.emplace_back(Transpose{.rows = 4000, .cols = 6001});
    for (const RowKind kind : {RowKind::mean, RowKind::max, RowKind::argmax}) {
        all.emplace_back(RowWise{.kind = kind, .rows = 4096, .cols = 4097, .axis = Axis::columns});
    }
    all.emplace_back(RowWise{.kind = RowKind::cross_entropy, .rows = 2048, .cols = 50257});
    all.emplace_back(RowWise{.kind = RowKind::scan, .rows = 64, .cols = 65536});
    all.emplace_back(Cat{.inputs = 3, .rows = 2048, .cols = 1000});
    all.emplace_back(AdamW{.elements = 1 << 27, .tensors = 148});
    all.emplace_back(Copy{.elements = 1 << 26});
    all.emplace_back(Gather{.rows = 4096, .cols = 1024, .table_rows = 50000});
    for (const AccessPattern pattern : {AccessPattern::strided, AccessPattern::misaligned,
                                        AccessPattern::divergent, AccessPattern::bank_conflict}) {
        all.emplace_back(Access{.pattern = pattern, .elements = 1 << 24, .degree = 8});
    }
    all.emplace_back(Access{.pattern = AccessPattern::chase, .elements = 1 << 24});
    all.emplace_back(Access{.pattern = AccessPattern::reread, .elements = 1 << 24});
    return all;
}

std::vector<Operation> collectives() {
    std::vector<Operation> all;
    for (int kind = 0; kind <= static_cast<int>(CollectiveKind::device_to_host); ++kind) {
        const auto each = static_cast<CollectiveKind>(kind);
        const bool pair = each >= CollectiveKind::send;
        all.emplace_back(Collective{.kind = each, .gpus = pair ? 2 : 8, .bytes = 1 << 26});
    }
    return all;
}

struct Case {
    Operation operation;
    Execution execution;
};

/// `automatic` and the implementations that the table lists.
std::vector<Implementation> ways_of(OperationKind kind) {
    std::vector<Implementation> ways{Implementation::automatic};
    for (const Implementation each : info_of(kind).implementations) ways.push_back(each);
    return ways;
}

std::vector<Case> cases_of(const std::vector<LaunchMode>& launches,
                           const std::vector<L2State>& states) {
    std::vector<Case> cases;
    for (const auto& group :
         {matmuls(), attentions(), latent_and_experts(), streams(), collectives()}) {
        for (const Operation& operation : group) {
            validate(operation);
            for (const Implementation way : ways_of(kind_of(operation))) {
                for (const LaunchMode launch : launches) {
                    for (const L2State l2 : states) {
                        cases.push_back(
                            {operation, {.implementation = way, .l2 = l2, .launch = launch}});
                    }
                }
            }
        }
    }
    return cases;
}

/// Adds a random shape for every kind of operation in every implementation.
void append_drawn(std::vector<Case>& cases, test::Random& random) {
    for (const OperationInfo& info : operation_table()) {
        for (const Implementation way : ways_of(info.kind)) {
            const Operation operation = test::random_operation(random, info.kind);
            Execution execution = test::random_execution(operation, random);
            execution.implementation = way;
            cases.push_back({operation, execution});
        }
    }
}

std::vector<Case> drawn_cases(test::Random& random) {
    std::vector<Case> cases;
    append_drawn(cases, random);
    return cases;
}

bool is_sound(const Prediction& p) {
    const auto is_time = [](Time time) { return std::isfinite(time.base()) && time >= Time{}; };
    constexpr double rounding = 1.0 - 1e-9;
    bool sound = is_time(p.time) && is_time(p.low) && is_time(p.high) && is_time(p.lower_bound);
    sound = sound && p.time > Time{} && p.low <= p.time && p.time <= p.high;
    sound = sound && p.time >= p.lower_bound * rounding;
    for (const Term& term : p.terms) sound = sound && is_time(term.time);
    return sound && std::isfinite(p.intensity.base()) && std::isfinite(p.ridge.base()) &&
           std::isfinite(p.attainable.base()) && std::isfinite(p.work.dram().base());
}

/// Describes the first wrong prediction on a machine; empty if there is none.
std::string fault(const Machine& machine, std::span<const Case> cases) {
    for (const auto& [operation, execution] : cases) {
        const Outcome outcome = predict(operation, execution, machine);
        const auto* const p = std::get_if<Prediction>(&outcome);
        if (p == nullptr && !std::get<NotModelled>(outcome).reason.empty()) continue;
        if (p != nullptr && is_sound(*p)) continue;
        std::string text =
            test::describe(operation) + " impl " + std::string(name_of(execution.implementation)) +
            " " + std::string(name_of(execution.launch)) + " " + std::string(name_of(execution.l2));
        if (p == nullptr) return text + " is refused without a reason";
        return text + ": time " + std::to_string(p->time.in(units::ns)) + " ns in " +
               std::to_string(p->low.in(units::ns)) + " ... " +
               std::to_string(p->high.in(units::ns)) + ", bound " +
               std::to_string(p->lower_bound.in(units::ns));
    }
    return {};
}

/// The same for the machine of a description in which `field` was changed.
std::string fault_of(const hardware::Description& gpu, const std::string& field,
                     std::span<const std::span<const Case>> groups) {
    try {
        const Machine machine = make_machine(gpu);
        for (const std::span<const Case> cases : groups) {
            if (std::string found = fault(machine, cases); !found.empty()) return found;
        }
        return {};
    } catch (const InputError& refused) {
        if (std::string(refused.what()).find(field) != std::string::npos) return {};
        return std::string("an error that does not name the field: ") + refused.what();
    } catch (const std::exception& broken) {
        return broken.what();
    }
}

const std::vector<Case>& chosen_cases() {
    static const std::vector<Case> cases = cases_of({LaunchMode::graph}, {L2State::warm});
    return cases;
}

/// Whether a field is a cost of PyTorch's code, shared by all GPUs, such as
/// model.torch.softmax.warp.chain.
bool is_shared(const std::string& field) {
    return field.starts_with("model.torch.") && std::count(field.begin(), field.end(), '.') > 2;
}

/// The GPUs with the fullest descriptions.
bool is_fully_described(const std::string& gpu) {
    constexpr std::array full{"h200-sxm", "a100-pcie-40gb", "t4", "b200", "mi300x"};
    return std::find(full.begin(), full.end(), gpu) != full.end();
}

/// Checks every GPU with `draws` random cases. Fully described GPUs also run the chosen cases; all
/// others skip the fields that all GPUs share.
template <class Check>
void for_each_gpu(std::uint64_t seed, std::size_t draws, Check&& check) {
    const model::Catalogue gpus = catalogue();
    test::Random random(seed);
    for (const model::CatalogueEntry& entry : gpus.entries()) {
        const bool in_full = is_fully_described(entry.name);
        CAPTURE(entry.name);
        check(gpus.at(entry.name),
              [&](const hardware::Description& changed, const std::string& field) {
                  if (!in_full && is_shared(field)) return;
                  std::vector<Case> drawn;
                  for (std::size_t i = 0; i < draws; ++i) append_drawn(drawn, random);
                  const std::array groups{
                      in_full ? std::span<const Case>(chosen_cases()) : std::span<const Case>{},
                      std::span<const Case>(drawn)};
                  CHECK(fault_of(changed, field, groups) == "");
              });
    }
}

TEST_CASE("every operation on every GPU gives sound numbers or a reason", "[machine]") {
    const model::Catalogue gpus = catalogue();
    const auto cases = cases_of({LaunchMode::kernel, LaunchMode::graph, LaunchMode::stream},
                                {L2State::warm, L2State::cold});
    test::Random random(41);
    for (const model::CatalogueEntry& entry : gpus.entries()) {
        for (const auto view : {model::View::datasheet, model::View::calibrated}) {
            CAPTURE(entry.name);
            const Machine machine = make_machine(gpus.at(entry.name, view));
            CHECK(fault(machine, cases) == "");
            for (std::size_t i = 0; i < test::case_count(20); ++i) {
                CHECK(fault(machine, drawn_cases(random)) == "");
            }
        }
    }
}

TEST_CASE("every prediction can be explained, and advice speeds it up", "[machine]") {
    const model::Catalogue gpus = catalogue();
    test::Random random(44);
    for (const char* const gpu : {"h200-sxm", "a100-pcie-40gb", "l40s", "b200", "mi300x"}) {
        const Machine machine = make_machine(gpus.at(gpu));
        for (std::size_t i = 0; i < test::case_count(5); ++i) {
            for (const auto& [operation, execution] : drawn_cases(random)) {
                const Outcome outcome = predict(operation, execution, machine);
                const auto* const p = std::get_if<Prediction>(&outcome);
                if (p == nullptr) continue;
                CAPTURE(gpu, test::describe(operation), name_of(execution.implementation));
                CHECK_FALSE(explain(operation, *p, machine).empty());
                for (const Advice& each : advise(operation, execution, *p, machine)) {
                    CHECK(each.speed_up > 1.0);
                }
            }
        }
    }
}

TEST_CASE("without any single field, every GPU still gives sound numbers or a reason",
          "[machine]") {
    test::Sample sample(4);
    for_each_gpu(42, test::case_count(1),
                 [&sample](const hardware::Description& gpu, auto&& is_sound_without) {
                     hardware::Description changed = gpu;
                     for (const auto& [path, datum] : gpu.data) {
                         if (!sample.takes_next()) continue;
                         auto dropped = changed.data.extract(path);
                         CAPTURE(path);
                         is_sound_without(changed, path);
                         changed.data.insert(std::move(dropped));
                     }
                 });
}

TEST_CASE(
    "with any field wrong by orders of magnitude, a GPU gives sound numbers or an error that "
    "names it",
    "[machine]") {
    // The fields of a fully described GPU meet every scale. Those of the others, most of which are
    // the same, take turns, except in a long run. Ten scales with a tenth of the draws make as many
    // predictions.
    const std::size_t draws = std::max<std::size_t>(1, test::case_count(1) / scales.size());
    const std::size_t taken = std::min(test::case_count(1), scales.size());
    test::Sample sample(7);  // no divisor of the number of scales, so that they take turns
    std::size_t turn = 0;
    for_each_gpu(43, draws, [&](const hardware::Description& gpu, auto&& is_sound_with) {
        const std::size_t count = is_fully_described(gpu.name) ? scales.size() : taken;
        hardware::Description changed = gpu;
        for (auto& [path, datum] : changed.data) {
            const hardware::Datum described = datum;
            for (std::size_t i = 0; i < count; ++i) {
                const double by = scales[turn++ % scales.size()];
                if (!sample.takes_next()) continue;
                CAPTURE(path, by);
                if (test::scale_field(datum, by)) is_sound_with(changed, path);
                datum = described;
            }
        }
    });
}

}  // namespace
}  // namespace ridge::model
