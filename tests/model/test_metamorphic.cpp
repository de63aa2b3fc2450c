// Changes whose effect is known although the time is not: more work is not faster, more of a
// resource is not slower, a smaller element type is not slower, one step in a size changes little.
//
// Method: operations of all kinds in corners (tests/model/corners.h), in every implementation and
// state, each predicted before and after the change; a tally counts how often and how far the times
// break the rule. Two kinds of kernels are told apart. A framework's kernels choose between code
// paths at thresholds in their sources, and a larger call may take a much faster path; records show
// it (docs/reliability.md). Changes that align a size better are left out. RIDGE_EXPLORE=1 prints
// each tally with its worst case, and the worst of each operation and kernel.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/corners.h"
#include "tests/support/scaled_field.h"

namespace ridge::model {
namespace {

const std::size_t drawn = test::case_count(60000);
const std::array changed_chips{"h200-sxm", "h100-sxm", "b200",  "a100-sxm-80gb",
                               "l40s",     "v100-sxm", "mi300x"};

/// How many of the cases may break a rule by more than `usual`, and how far any of them may.
struct Limits {
    double usual = 1.03;
    double share = 0.0;
    double ever = 1.0;
};

class Broken {
  public:
    Broken(std::string rule, const Limits& limits) : rule_(std::move(rule)), limits_(limits) {}

    /// `kind` is the operation and its kernel, by which broken cases are counted.
    template <class Text>
    void add(double ratio, const std::string& kind, Text&& text) {
        ++cases_;
        if (ratio > limits_.usual) {
            ++beyond_;
            Kind& of = kinds_[kind];
            ++of.beyond;
            if (ratio > of.worst) of = {.beyond = of.beyond, .worst = ratio, .where = text()};
        }
        if (ratio <= worst_) return;
        worst_ = ratio;
        if (ratio > limits_.usual) where_ = text();
    }

    void check() const {
        if (std::getenv("RIDGE_EXPLORE") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
            std::cout << rule_ << ": " << beyond_ << " of " << cases_ << " beyond " << limits_.usual
                      << ", worst " << worst_ << ": " << where_ << '\n';
            for (const auto& [kind, of] : kinds_) {
                std::cout << "    " << of.beyond << " " << kind << ", worst " << of.worst << ": "
                          << of.where << '\n';
            }
        }
        CAPTURE(rule_, cases_, beyond_, worst_, where_);
        CHECK(cases_ > 100);
        CHECK(static_cast<double>(beyond_) <= limits_.share * static_cast<double>(cases_));
        CHECK(worst_ <= limits_.ever);
    }

  private:
    struct Kind {
        std::size_t beyond = 0;
        double worst = 0.0;
        std::string where{};
    };

    std::string rule_;
    Limits limits_;
    std::map<std::string, Kind> kinds_{};
    std::size_t cases_ = 0;
    std::size_t beyond_ = 0;
    double worst_ = 0.0;
    std::string where_{};
};

std::optional<Prediction> answer_of(const Operation& operation, const Execution& execution,
                                    const Machine& machine) {
    const Outcome outcome = predict(operation, execution, machine);
    const auto* p = std::get_if<Prediction>(&outcome);
    if (p == nullptr) return std::nullopt;
    return *p;
}

std::string change_text(const Operation& operation, const Execution& execution,
                        const Machine& machine, const Prediction& before, const Prediction& after,
                        const std::string& change) {
    return test::describe(operation) + " impl=" + std::string(name_of(before.implementation)) +
           " l2=" + std::string(name_of(execution.l2)) +
           " launch=" + std::string(name_of(execution.launch)) + " on " + machine.name + ", " +
           change + ": " + std::to_string(before.time.in(units::us)) + " -> " +
           std::to_string(after.time.in(units::us)) + " us";
}

std::string kind_text(const Operation& operation, const Prediction& p) {
    return std::string(name_of(operation)) + " " + std::string(name_of(p.implementation));
}

/// Whether the kernel is a framework's: PyTorch's own, or one that its compiler writes.
bool of_framework(const Prediction& p) {
    const std::string_view name = name_of(p.implementation);
    return name.rfind("torch", 0) == 0 || name == "compiled";
}

/// Whether a size of the larger call is a multiple of a higher power of two (up to 16 elements).
bool aligns_better(const Operation& before, const Operation& after) {
    constexpr std::int64_t vector = 16;
    const Parameters from = parameters_of(before);
    const Parameters to = parameters_of(after);
    return std::any_of(field_table().begin(), field_table().end(), [&](const FieldInfo& info) {
        if (info.kind != FieldKind::count || !from.has(info.field) || !to.has(info.field)) {
            return false;
        }
        return std::gcd(from.count(info.field), vector) < std::gcd(to.count(info.field), vector);
    });
}

std::vector<Machine> changed_machines() {
    std::vector<Machine> machines;
    for (const char* gpu : changed_chips) machines.push_back(make_machine(catalogue().at(gpu)));
    return machines;
}

TEST_CASE("more work is not faster", "[property]") {
    test::Random random(71);
    Broken kernels("more work, ridge's and libraries' kernels", {.share = 0.01, .ever = 40.0});
    Broken framework("more work, a framework's kernels", {.share = 0.025, .ever = 40.0});
    const std::vector<Machine> machines = changed_machines();
    for (std::size_t i = 0; i < drawn; ++i) {
        const Operation operation = test::cornered(test::random_operation(random), random);
        const Execution execution = test::random_execution(operation, random);
        const Machine& machine = machines[i % machines.size()];
        const auto before = answer_of(operation, execution, machine);
        if (!before) continue;
        for (const auto& each : test::grown(operation)) {
            const Operation& larger = each.second;
            if (aligns_better(operation, larger)) continue;
            const auto after = answer_of(larger, execution, machine);
            if (!after) continue;
            (of_framework(*before) ? framework : kernels)
                .add(before->time / after->time, kind_text(operation, *before), [&] {
                    return change_text(operation, execution, machine, *before, *after,
                                       test::describe(larger));
                });
        }
    }
    kernels.check();
    framework.check();
}

/// The description with every field under one of the prefixes doubled; nothing if it has none.
std::optional<hardware::Description> doubled(const hardware::Description& gpu,
                                             const std::vector<std::string>& prefixes) {
    hardware::Description more = gpu;
    bool changed = false;
    for (auto& [path, datum] : more.data) {
        for (const std::string& prefix : prefixes) {
            if (path.rfind(prefix, 0) == 0 && test::scale_field(datum, 2.0)) changed = true;
        }
    }
    if (!changed) return std::nullopt;
    return more;
}

struct ResourceChange {
    std::string name;
    std::vector<std::string> prefixes;  ///< of fields of the description
    Limits limits{.ever = 1.03};
    Limits limits_if_dirty{.ever = 1.03};
};

/// Twice the SMs: kernels that split work, or thread blocks that no longer share an SM, may lose. A
/// larger L2 full of another's dirty lines has more to write back. Links: another algorithm of NCCL
/// is chosen from a larger message on.
std::vector<ResourceChange> resources() {
    return {{.name = "SMs",
             .prefixes = {"sm.count", "peak."},
             .limits = {.share = 0.02, .ever = 15.0},
             .limits_if_dirty = {.share = 0.02, .ever = 15.0}},
            {.name = "DRAM bandwidth", .prefixes = {"dram.bandwidth", "measured.dram"}},
            {.name = "L2 size",
             .prefixes = {"l2.size"},
             .limits = {.share = 0.001, .ever = 1.2},
             .limits_if_dirty = {.share = 0.05, .ever = 1.25}},
            {.name = "L2 bandwidth", .prefixes = {"l2.bandwidth", "measured.l2"}},
            {.name = "peaks", .prefixes = {"peak."}, .limits = {.share = 1e-3, .ever = 1.05}},
            {.name = "links",
             .prefixes = {"link.", "pcie."},
             .limits = {.share = 0.01, .ever = 2.2},
             .limits_if_dirty = {.share = 0.01, .ever = 2.2}}};
}

TEST_CASE("more of a resource is not slower", "[property]") {
    test::Random random(72);
    const Catalogue all = catalogue();
    for (const auto& [resource, prefixes, limits, limits_if_dirty] : resources()) {
        const std::string change = "twice the " + resource;
        Broken broken(change, limits);
        Broken dirty(change + ", dirty L2", limits_if_dirty);
        for (const char* gpu : changed_chips) {
            const auto more = doubled(all.at(gpu), prefixes);
            if (!more) continue;
            const Machine machine = make_machine(all.at(gpu));
            const Machine faster = make_machine(*more);
            for (std::size_t i = 0; i < drawn / 20; ++i) {
                const Operation operation = test::cornered(test::random_operation(random), random);
                const Execution execution = test::random_execution(operation, random);
                const auto before = answer_of(operation, execution, machine);
                const auto after = answer_of(operation, execution, faster);
                if (!before || !after) continue;
                (execution.l2 == L2State::dirty ? dirty : broken)
                    .add(after->time / before->time, kind_text(operation, *before), [&] {
                        return change_text(operation, execution, machine, *before, *after, change);
                    });
            }
        }
        broken.check();
        dirty.check();
    }
}

/// The operation with its sizes rounded up to 16 elements, so that its rows stay aligned with a smaller
/// type.
Operation aligned(const Operation& operation) {
    constexpr std::int64_t vector = 16;
    Parameters parameters = parameters_of(operation);
    for (const Field field : {Field::m, Field::n, Field::k, Field::rows, Field::cols,
                              Field::elements, Field::hidden, Field::intermediate}) {
        if (!parameters.has(field)) continue;
        parameters.set_count(field, (parameters.count(field) + vector - 1) / vector * vector);
    }
    try {
        const Operation found = make_operation(kind_of(operation), parameters);
        validate(found);
        return found;
    } catch (const InputError&) {
        return operation;
    }
}

/// The operation with the next smaller type of the same kind, if it has one.
std::optional<Operation> with_smaller_type(const Operation& operation) {
    const std::map<std::string, std::string> smaller{
        {"fp64", "fp32"}, {"fp32", "bf16"}, {"tf32", "bf16"}, {"bf16", "fp8"}, {"fp16", "fp8"}};
    Parameters parameters = parameters_of(operation);
    if (!parameters.has(Field::dtype)) return std::nullopt;
    const auto found = smaller.find(parameters.text(Field::dtype));
    if (found == smaller.end()) return std::nullopt;
    parameters.set(Field::dtype, found->second);
    try {
        const Operation changed = make_operation(kind_of(operation), parameters);
        validate(changed);
        return changed;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

TEST_CASE("a smaller element type is not slower", "[property]") {
    test::Random random(73);
    Broken kernels("smaller type, ridge's and libraries' kernels", {.share = 0.15, .ever = 12.0});
    Broken framework("smaller type, a framework's kernels", {.share = 0.06, .ever = 60.0});
    const std::vector<Machine> machines = changed_machines();
    for (std::size_t i = 0; i < 3 * drawn; ++i) {
        const Operation operation = aligned(test::cornered(test::random_operation(random), random));
        const auto smaller = with_smaller_type(operation);
        if (!smaller) continue;
        const Execution execution = test::random_execution(operation, random);
        const Machine& machine = machines[i % machines.size()];
        const auto before = answer_of(operation, execution, machine);
        const auto after = answer_of(*smaller, execution, machine);
        if (!before || !after || before->implementation != after->implementation) continue;
        (of_framework(*before) ? framework : kernels)
            .add(after->time / before->time, kind_text(operation, *before), [&] {
                return change_text(operation, execution, machine, *before, *after,
                                   test::describe(*smaller));
            });
    }
    kernels.check();
    framework.check();
}

/// Sizes that are multiples of 64, each changed by one step of 64 of a size of at least 1024.
TEST_CASE("one step in an aligned size changes the time by less than 1.3", "[property]") {
    constexpr std::int64_t step = 64;
    constexpr std::int64_t least = 1024;
    test::Random random(74);
    Broken kernels("one step, ridge's and libraries' kernels",
                   {.usual = 1.3, .share = 0.01, .ever = 10.0});
    Broken framework("one step, a framework's kernels",
                     {.usual = 1.3, .share = 0.03, .ever = 40.0});
    const std::vector<Machine> machines = changed_machines();
    for (std::size_t i = 0; i < drawn; ++i) {
        Operation operation = test::random_operation(random);
        Parameters parameters = parameters_of(operation);
        std::vector<Field> sizes;
        for (const FieldInfo& info : field_table()) {
            if (info.kind != FieldKind::count || !parameters.has(info.field)) continue;
            const std::int64_t count = parameters.count(info.field);
            if (count < least) continue;
            parameters.set_count(info.field, count - count % step);
            sizes.push_back(info.field);
        }
        if (sizes.empty()) continue;
        const Field field = random.pick(sizes);
        Parameters more = parameters;
        more.set_count(field, more.count(field) + step);
        std::optional<Operation> next;
        try {
            operation = make_operation(kind_of(operation), parameters);
            next = make_operation(kind_of(operation), more);
            validate(operation);
            validate(*next);
        } catch (const InputError&) {
            continue;
        }
        const Execution execution = test::random_execution(operation, random);
        const Machine& machine = machines[i % machines.size()];
        const auto before = answer_of(operation, execution, machine);
        const auto after = answer_of(*next, execution, machine);
        if (!before || !after) continue;
        const double ratio = std::max(after->time / before->time, before->time / after->time);
        (of_framework(*before) ? framework : kernels)
            .add(ratio, kind_text(operation, *before), [&] {
                return change_text(operation, execution, machine, *before, *after,
                                   test::describe(*next));
            });
    }
    kernels.check();
    framework.check();
}

/// A call in a stream waits for its submission, a replayed graph for the gap before its kernel.
TEST_CASE("the launch mode is never ignored", "[property]") {
    test::Random random(75);
    const Time short_kernel = 10.0 * units::us;
    std::map<std::string, std::string> ignored;  ///< one call of each kind
    std::size_t compared = 0;
    const std::vector<Machine> machines = changed_machines();
    for (std::size_t i = 0; i < drawn; ++i) {
        const Operation operation = test::cornered(test::random_operation(random), random);
        Execution execution = test::random_execution(operation, random);
        const Machine& machine = machines[i % machines.size()];
        execution.launch = LaunchMode::kernel;
        const auto alone = answer_of(operation, execution, machine);
        // A copy from memory that is not pinned is the host's work in every mode; an engine's
        // all-reduce hides its call if it is longer.
        if (!alone || alone->implementation == Implementation::pageable ||
            alone->implementation == Implementation::custom) {
            continue;
        }
        // `auto` may choose a framework's kernels in a stream.
        execution.implementation = alone->implementation;
        execution.launch = LaunchMode::stream;
        const auto called = answer_of(operation, execution, machine);
        if (!called) continue;
        ++compared;
        // A kernel that is longer than the host's call hides it, and a time may be raised to what its bytes allow.
        const bool raised = alone->time <= alone->lower_bound * (1.0 + 1e-9);
        if (called->time > alone->time || raised || alone->time > short_kernel) continue;
        const std::string kind =
            std::string(name_of(operation)) + " " + std::string(name_of(alone->implementation));
        ignored[kind] = change_text(operation, execution, machine, *alone, *called, "as a call");
    }
    CHECK(compared > drawn / 2);
    for (const auto& [kind, where] : ignored) FAIL_CHECK(where);
}

/// Whether a note says why the time is far from what the rule expects.
bool is_excused(const Prediction& p) {
    return noted<note::UnsplitKeys>(p) != nullptr || noted<note::RooflineOnly>(p) != nullptr;
}

TEST_CASE("options of attention in corners", "[attention][property]") {
    test::Random random(76);
    Broken masks("a causal mask", {.usual = 1.6, .share = 0.01, .ever = 8.0});
    Broken pages("a page table", {.usual = 3.0, .share = 0.02, .ever = 100.0});
    Broken queries("one query more, shorter", {.usual = 2.0, .share = 0.01, .ever = 40.0});
    const std::vector<Machine> machines = changed_machines();
    for (std::size_t i = 0; i < drawn; ++i) {
        Operation drawn_call =
            test::cornered(test::random_attention(random, test::Heads::grouped), random);
        Attention op = std::get<Attention>(drawn_call);
        op.window = 0;
        op.causal = false;
        const Execution execution = test::random_execution(op, random);
        const Machine& machine = machines[i % machines.size()];
        const auto before = answer_of(op, execution, machine);
        if (!before || is_excused(*before)) continue;
        const auto compare = [&](Broken& broken, const Attention& changed, bool inverse) {
            const auto after = answer_of(changed, execution, machine);
            if (!after || is_excused(*after)) return;
            const double ratio = after->time / before->time;
            broken.add(inverse ? 1.0 / ratio : ratio, kind_text(op, *before), [&] {
                return change_text(op, execution, machine, *before, *after,
                                   test::describe(changed));
            });
        };
        Attention causal = op;
        causal.causal = true;
        if (op.seq_q <= op.seq_kv) compare(masks, causal, false);
        Attention paged = op;
        paged.paged = !op.paged;
        if (op.direction == Direction::forward) compare(pages, paged, false);
        Attention more = op;
        ++more.seq_q;
        compare(queries, more, true);
    }
    masks.check();
    pages.check();
    queries.check();
}

}  // namespace
}  // namespace ridge::model
