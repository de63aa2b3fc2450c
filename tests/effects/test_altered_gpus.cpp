// Results that are built on predictions stay sound if a description lacks a field or holds a wrong
// value: steps of models, serving, reports of traces, effects, device memory and fits.
//
// Each case is a GPU with one field dropped or multiplied, as in
// tests/model/test_incomplete_machines.cpp, which tests the predictions themselves. The outcome is
// finite numbers above their bounds, or an InputError that names the field or what cannot be
// modelled. One alteration of a field in twenty is taken; a long run (scripts/soak) takes all. Each
// meets every step and trace and a few of the effects, which take turns.
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "effects/chart.h"
#include "effects/study.h"
#include "hardware/error.h"
#include "measure/fit/fit_all.h"
#include "model/catalogue/catalogue.h"
#include "model/footprint/memory_fit.h"
#include "programs/advice.h"
#include "programs/configs/presets.h"
#include "programs/largest.h"
#include "programs/model_step.h"
#include "programs/report/trace_report.h"
#include "programs/serving.h"
#include "tests/catch.h"
#include "tests/support/sample.h"
#include "tests/support/scaled_field.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace ridge;

constexpr std::array altered_gpus{"h200-sxm", "a100-pcie-40gb", "mi300x"};
/// Factors of a field; 0 drops the field.
constexpr std::array alterations{0.0, 1e-12, 1e-6, 1e-3, 1e3, 1e6, 1e12};

/// Drops or multiplies one field of a description while the object lives. The description is
/// changed in place, because a copy for each alteration would be slow.
class Altered {
  public:
    Altered(hardware::Description& gpu, const std::string& field, double by)
        : gpu_(gpu), field_(gpu.data.extract(field)) {
        if (by == 0.0) return;
        hardware::Datum changed = field_.mapped();
        differs_ = test::scale_field(changed, by);
        gpu_.data.emplace(field, std::move(changed));
    }
    ~Altered() {
        gpu_.data.erase(field_.key());
        gpu_.data.insert(std::move(field_));
    }
    Altered(const Altered&) = delete;
    Altered& operator=(const Altered&) = delete;

    [[nodiscard]] bool differs() const { return differs_; }

  private:
    hardware::Description& gpu_;
    decltype(gpu_.data)::node_type field_;
    bool differs_ = true;
};

/// Calls `check(description, machine, catalogue, turn)` for every altered GPU of which the model
/// can make a machine.
template <class Check>
void for_each_altered(Check&& check) {
    const model::Catalogue gpus = model::catalogue();
    std::size_t turn = 0;
    test::Sample sample(20);  // no multiple of the number of alterations, so that they take turns
    for (const char* name : altered_gpus) {
        hardware::Description changed = gpus.at(name);
        for (const auto& [field, datum] : gpus.at(name).data) {
            for (const double by : alterations) {
                if (!sample.takes_next()) continue;
                const Altered alteration(changed, field, by);
                if (!alteration.differs()) continue;
                CAPTURE(name, field, by);
                std::string trouble;
                try {
                    const model::Machine machine = model::make_machine(changed);
                    check(changed, machine, gpus, turn++);
                } catch (const InputError& refused) {
                    const std::string said = refused.what();
                    const bool named = said.find(field) != std::string::npos ||
                                       said.find("not modelled") != std::string::npos;
                    if (!named) trouble = said;
                } catch (const std::exception& broken) {
                    trouble = std::string("broke: ") + broken.what();
                }
                CHECK(trouble == "");
            }
        }
    }
}

bool is_time(Time time) {
    return std::isfinite(time.base()) && time > Time{};
}

/// Whether the text is free of "nan" and "inf".
bool reads_well(const std::string& text) {
    std::string word;
    for (const char each : text + " ") {
        if (std::isalpha(static_cast<unsigned char>(each)) != 0) {
            word += each;
            continue;
        }
        if (word == "nan" || word == "inf") return false;
        word.clear();
    }
    return true;
}

std::vector<programs::ModelStep> steps() {
    const programs::Architecture dense = programs::find_model("llama-3.2-1b");
    const programs::Architecture experts = programs::find_model("deepseek-v2-lite");
    programs::Request decode{.phase = programs::Phase::decode, .batch = 8, .seq = 2048};
    decode.software = programs::Software::serving;
    return {programs::make_step(dense, {.phase = programs::Phase::prefill, .seq = 512}),
            programs::make_step(dense, decode),
            programs::make_step(dense, {.phase = programs::Phase::train, .batch = 2, .seq = 512}),
            programs::make_step(experts, decode)};
}

/// Whether the row has a time within its band and above its bound, or a reason why it has none.
bool is_sound(const programs::OperatorRow& row) {
    if (!row.predicted) return !row.reason.empty();
    return std::isfinite(row.predicted->base()) && row.low <= *row.predicted &&
           *row.predicted <= row.high && row.lower_bound <= *row.predicted * (1.0 + 1e-9);
}

/// Names the points of a series that are negative or not finite.
std::string unsound_points(const effects::StudiedSeries& series) {
    std::string all;
    for (const effects::Value& value : series.values) {
        if (!value.predicted || (std::isfinite(*value.predicted) && *value.predicted >= 0.0))
            continue;
        all += series.id + " at " + std::to_string(value.x) + ": " +
               std::to_string(*value.predicted) + "\n";
    }
    return all;
}

}  // namespace

TEST_CASE("steps of models on altered GPUs are sound or refused", "[altered]") {
    const std::vector<programs::ModelStep> all = steps();
    for_each_altered([&](const hardware::Description&, const model::Machine& machine,
                         const model::Catalogue&, std::size_t) {
        for (const programs::ModelStep& step : all) {
            const programs::StepTime time =
                programs::predict(step, machine, programs::host_beside("h200-sxm"));
            if (programs::first_not_modelled(step.program, time.gpu)) continue;
            CHECK(is_time(time.gpu.total.time));
            CHECK(is_time(time.wall));
            CHECK(time.wall >= time.gpu.total.time * (1.0 - 1e-9));
            CHECK(time.gpu.total.low <= time.gpu.total.time);
            CHECK(time.gpu.total.time <= time.gpu.total.high);
        }
    });
}

TEST_CASE("serving and advice on altered GPUs are sound or refused", "[altered]") {
    const programs::Architecture dense = programs::find_model("llama-3.2-1b");
    const programs::Load load{.prompt = 512, .answer = 64, .batches = {1, 64}};
    for_each_altered([&](const hardware::Description& gpu, const model::Machine& machine,
                         const model::Catalogue&, std::size_t turn) {
        if (turn % 5 != 0) return;
        const std::int64_t usable = model::usable_memory(gpu).bytes;
        CHECK(usable >= 0);
        for (const programs::ServingPoint& point : programs::serve(dense, load, machine, usable)) {
            CHECK(is_time(point.ttft));
            CHECK(is_time(point.tpot));
            CHECK(std::isfinite(point.tokens_per_s));
            CHECK(point.tokens_per_s > 0.0);
        }
        const programs::Request request{.phase = programs::Phase::decode, .batch = 4, .seq = 1024};
        for (const programs::Suggestion& each :
             programs::advise(dense, request, machine, {.usable = usable})) {
            CHECK(is_time(each.wall));
            CHECK(std::isfinite(each.factor));
            CHECK(reads_well(each.text));
        }
    });
}

TEST_CASE("reports of traces on altered GPUs are sound", "[altered]") {
    const programs::Trace trace = programs::read_trace(RIDGE_TRACES "/trace_llama_prefill.json.gz");
    for_each_altered([&](const hardware::Description&, const model::Machine& machine,
                         const model::Catalogue&, std::size_t) {
        const programs::TraceReport report = report_of(trace, machine);
        CHECK(std::isfinite(report.weighted_error));
        CHECK(std::isfinite(report.utilisation));
        CHECK(std::isfinite(report.predicted.base()));
        std::string unsound;
        for (const programs::OperatorRow& row : report.operators) {
            if (!is_sound(row)) unsound += row.name + " " + row.shape + "\n";
        }
        CHECK(unsound == "");
        for (const programs::Saving& saving : report.savings) {
            CHECK(std::isfinite(saving.now.base()));
            CHECK(saving.saves() >= Time{});
        }
    });
}

TEST_CASE("effects on altered GPUs are shown or refused with a reason", "[altered]") {
    const std::size_t count = effects::effects().size();
    for_each_altered([&](const hardware::Description& gpu, const model::Machine& machine,
                         const model::Catalogue& gpus, std::size_t turn) {
        constexpr std::size_t apart = 21;
        for (std::size_t i = turn % apart; i < count; i += apart) {
            const effects::Effect& effect = effects::effects()[i];
            CAPTURE(std::string(effect.name));
            const effects::Subject subject{.machine = machine, .gpu = gpu, .catalogue = gpus};
            const effects::Study study = effects::evaluate(effect, subject, {});
            if (!study.refused.empty()) continue;
            for (const auto& figure : study.figures) {
                for (const auto& series : figure.series) CHECK(unsound_points(series) == "");
            }
            for (const std::string& paragraph : study.paragraphs) {
                CAPTURE(paragraph);
                CHECK(reads_well(paragraph));
            }
            CHECK(reads_well(study.verdict));
            static_cast<void>(charts_of(study, subject));
        }
    });
}

TEST_CASE("what fits on altered GPUs is a count or an error that names the field", "[altered]") {
    const model::AttentionCall call{
        .attention = {.heads = 8, .kv_heads = 8, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64},
        .software = model::AttentionSoftware::torch_flash};
    const programs::Architecture dense = programs::find_model("llama-3.2-1b");
    const model::Catalogue gpus = model::catalogue();
    for (const char* name : altered_gpus) {
        for (const double by : alterations) {
            hardware::Description changed = gpus.at(name);
            const Altered alteration(changed, "dram.capacity", by);
            REQUIRE(alteration.differs());
            CAPTURE(name, by);
            try {
                const std::int64_t usable = model::usable_memory(changed).bytes;
                CHECK(usable >= 0);
                const model::Largest most =
                    largest_that_fits(call, model::FitDimension::batch,
                                      model::MemoryPasses::training, {.limit = usable});
                CHECK(most.size >= 0);
                CHECK(programs::largest_batch(dense, {.seq = 512}, usable) >= 0);
            } catch (const InputError& refused) {
                CHECK(std::string(refused.what()).find("dram.capacity") != std::string::npos);
            }
        }
    }
}

TEST_CASE("fits that start from altered GPUs give finite values or a reason", "[altered]") {
    const test::TemporaryFile table(
        "op,m,n,k,measured_us\n"
        "matmul,256,256,256,6.1\n"
        "matmul,512,512,512,7.2\n"
        "matmul,1024,1024,1024,12.4\n"
        "matmul,2048,2048,2048,37\n"
        "matmul,4096,4096,4096,214\n"
        "matmul,8192,8192,8192,1700\n"
        "matmul,128,4096,4096,24\n"
        "matmul,16,4096,4096,15\n"
        "matmul,64,14336,4096,41\n"
        "matmul,1,8192,8192,48\n"
        "matmul,4096,4096,128,22\n"
        "matmul,4096,128,4096,27\n"
        "matmul,3072,1024,8192,92\n"
        "matmul,8192,512,2048,38\n");
    std::size_t tables = 0;
    std::size_t fitted = 0;
    for_each_altered([&](const hardware::Description&, const model::Machine& machine,
                         const model::Catalogue&, std::size_t turn) {
        if (turn % 61 != 0) return;
        ++tables;
        measure::FitRequest request;
        request.data = table.path();
        request.gpu_of_tables = machine.name;
        request.machine = [&](const std::string&) { return machine; };
        const measure::AllFits fits = measure::fit_all(request, machine.name);
        for (const measure::FitStep& step : fits.steps) {
            fitted += step.report.parameters.size();
            for (const measure::FittedParameter& each : step.report.parameters) {
                CAPTURE(each.field);
                CHECK(std::isfinite(each.number));
            }
        }
        CHECK(reads_well(fitted_sections(fits)));
    });
    CHECK(fitted > 3 * tables);
}
