// Savings that a replay tells: a larger batch, padding, data loading; in recorded programs and in planted ones.
#include "programs/report/replayed_savings.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/catalogue/catalogue.h"
#include "programs/report/batch_axis.h"
#include "programs/report/padding.h"
#include "tests/catch.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::programs;

namespace {

const model::Machine& h200() {
    static const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    return machine;
}

/// What was recorded of calls one after another, in microseconds.
class Recording {
  public:
    /// A call with one kernel; the host goes on when it has launched it.
    void call(const std::string& name, const std::string& types, const std::string& dims,
              double kernel, const std::string& values = "") {
        ++id_;
        add(fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"{}","tid":1,"ts":{},"dur":{},)"
                        R"("args":{{"External id":{},"Input type":[{}],"Input Dims":[{}],)"
                        R"("Concrete Inputs":[{}]}}}})",
                        name, now_, host_, id_, types, dims, values));
        add(fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":1,)"
                        R"("ts":{},"dur":1,"args":{{"External id":{},"correlation":{}}}}})",
                        now_ + host_ - 1, id_, id_));
        gpu_ = std::max(gpu_ + 1, now_ + host_ + 2);
        add(fmt::format(R"({{"ph":"X","cat":"kernel","name":"k","tid":7,"ts":{},"dur":{},)"
                        R"("args":{{"External id":{},"correlation":{},"stream":7}}}})",
                        gpu_, kernel, id_, id_));
        gpu_ += kernel;
        now_ += host_;
    }
    void wait(const std::string& range, double time) {
        add(fmt::format(
            R"({{"ph":"X","cat":"user_annotation","name":"{}","tid":1,"ts":{},"dur":{}}})", range,
            now_, time));
        now_ += time;
    }
    void host(double time) { host_ = time; }

    [[nodiscard]] TraceReport report() const {
        const ridge::test::TemporaryFile file(
            R"({"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"traceEvents":[)" + text_ +
            "]}");
        return report_of(read_trace(file.path()), h200());
    }

  private:
    void add(const std::string& event) { text_ += (text_.empty() ? "" : ",\n") + event; }

    std::string text_;
    double now_ = 0.0;
    double gpu_ = 0.0;
    double host_ = 10.0;
    int id_ = 0;
};

const Saving* saving_of(const TraceReport& report, SavingKind kind, const std::string& words = "") {
    for (const Saving& saving : report.savings) {
        if (saving.kind == kind && saving.what.find(words) != std::string::npos) return &saving;
    }
    return nullptr;
}

constexpr const char* two = R"("c10::BFloat16","c10::BFloat16")";
constexpr const char* three = R"("c10::BFloat16","c10::BFloat16","c10::BFloat16")";

/// A layer of a decoder: batch x 512 words of 1024.
void layer(Recording& program, int batch, double longer = 1.0) {
    const int words = 512 * batch;
    program.call("aten::gelu", R"("c10::BFloat16")", fmt::format("[{},512,4096]", batch),
                 8.0 * longer);
    program.call("aten::addmm", three, fmt::format("[1024],[{},4096],[4096,1024]", words),
                 20.0 * longer);
    program.call("aten::add", two, fmt::format("[{},512,1024],[{},512,1024]", batch, batch),
                 5.0 * longer);
}

TraceReport report_on(const char* name) {
    return report_of(read_trace(std::string(RIDGE_TRACES "/") + name + ".json.gz"), h200());
}

}  // namespace

TEST_CASE("a larger batch saves what the host takes, and nothing where kernels do", "[savings]") {
    Recording small;
    small.host(100.0);
    for (int i = 0; i < 8; ++i) layer(small, 4);
    const TraceReport report = small.report();
    const Saving* const batch = saving_of(report, SavingKind::batch);
    REQUIRE(batch != nullptr);
    CHECK(batch->what.find("8 instead of 4") != std::string::npos);
    CHECK(batch->now.in(units::us) == Approx(time_of(report.timeline.span_ns).in(units::us)));
    // Kernels that take twice as long still end before the next launch.
    CHECK(batch->then.in(units::us) == Approx(batch->now.in(units::us) / 2).epsilon(0.01));

    Recording large;
    large.host(2.0);
    for (int i = 0; i < 8; ++i) layer(large, 64, 16.0);
    const TraceReport busy = large.report();
    const Saving* const little = saving_of(busy, SavingKind::batch);
    CHECK((little == nullptr || little->saves() < little->now * 0.15));
}

TEST_CASE("a batch that shapes do not tell is not named", "[savings]") {
    Recording flat;  // nothing but matrices
    flat.host(100.0);
    for (int i = 0; i < 8; ++i) {
        flat.call("aten::mm", two, "[2048,4096],[4096,1024]", 20.0);
        flat.call("aten::relu", R"("c10::BFloat16")", "[2048,1024]", 5.0);
    }
    CHECK(saving_of(flat.report(), SavingKind::batch) == nullptr);

    Recording mixed;  // words come first in one half, samples in the other
    mixed.host(100.0);
    for (int i = 0; i < 8; ++i) {
        mixed.call("aten::gelu", R"("c10::BFloat16")", "[512,6,1024]", 10.0);
        mixed.call("aten::gelu", R"("c10::BFloat16")", "[7,512,1024]", 10.0);
    }
    CHECK(saving_of(mixed.report(), SavingKind::batch) == nullptr);
}

TEST_CASE("words of all sentences together are no batch", "[savings]") {
    Recording packed;
    packed.host(100.0);
    for (int i = 0; i < 8; ++i) {
        packed.call("aten::mm", two, "[888,2048],[2048,2048]", 20.0);
        packed.call("aten::mul", two, "[888,16,128],[888,16,128]", 5.0);
        packed.call("aten::mul", two, "[888,1,128],[888,1,128]", 5.0);
    }
    CHECK(saving_of(packed.report(), SavingKind::batch) == nullptr);
}

TEST_CASE("a recurrent layer takes its batch second", "[savings]") {
    const auto program = [](const char* state) {
        Recording made;
        made.host(200.0);
        for (int i = 0; i < 8; ++i) {
            made.call("aten::gelu", R"("float")", state, 5.0);
            made.call("aten::_cudnn_rnn", R"("float")", "[100,16,512]", 50.0);
        }
        return made.report();
    };
    CHECK(saving_of(program("[16,100,512]"), SavingKind::batch, "32 instead of 16") != nullptr);
    CHECK(saving_of(program("[100,16,512]"), SavingKind::batch) == nullptr);
}

TEST_CASE("the batch of recorded programs is found by its shapes", "[savings]") {
    for (const char* name : {"trace_gpt2_train", "trace_llama_prefill", "trace_llama_compiled"}) {
        INFO(name);
        const TraceReport report = report_on(name);
        const Saving* const batch = saving_of(report, SavingKind::batch, "4 instead of 2");
        REQUIRE(batch != nullptr);
        CHECK(batch->then > batch->now * 0.5 - 1.0 * units::us);
    }
}

TEST_CASE("a vocabulary that does not fill loads is padded, an even one is not", "[savings]") {
    const auto program = [](int vocabulary, double product) {
        Recording made;
        made.call("aten::mm", two, fmt::format("[4096,768],[768,{}]", vocabulary), product);
        made.call("aten::_log_softmax", R"("float","Scalar","Scalar")",
                  fmt::format("[4096,{}],[],[]", vocabulary), 750.0, R"("","-1","False")");
        return made.report();
    };
    const TraceReport odd = program(50257, 2400.0);
    const Saving* const padding = saving_of(odd, SavingKind::padding);
    REQUIRE(padding != nullptr);
    CHECK(padding->what == "50257 as 50304");
    CHECK(padding->count == 2);
    CHECK(padding->now.in(units::us) == Approx(3151.0));
    CHECK(padding->then < padding->now * 0.5);
    CHECK(padding->then.in(units::us) > 750.0);
    CHECK(saving_of(program(50304, 450.0), SavingKind::padding) == nullptr);
    CHECK(saving_of(report_on("trace_gpt2_train"), SavingKind::padding, "50257 as 50304") !=
          nullptr);
    CHECK(saving_of(report_on("trace_llama_prefill"), SavingKind::padding) == nullptr);
}

TEST_CASE("heads of 65 are padded with the widths made of them", "[savings]") {
    Recording program;
    for (int i = 0; i < 4; ++i) {
        program.call("aten::addmm", three, "[1560],[12288,520],[520,1560]", 50.0);
        for (int j = 0; j < 3; ++j) {
            program.call("aten::fill_", R"("c10::BFloat16","Scalar")", "[32,8,384,72],[]", 5.0);
            program.call("aten::copy_", two, "[32,8,384,65],[32,8,384,65]", 20.0);
        }
        program.call("aten::_flash_attention_forward", three,
                     "[32,384,8,72],[32,384,8,72],[32,384,8,72]", 60.0);
    }
    const TraceReport report = program.report();
    const Saving* const padding = saving_of(report, SavingKind::padding, "heads of 65 as 72");
    REQUIRE(padding != nullptr);
    // Copies and fills go, 300 us; products of more columns take a little longer.
    CHECK(padding->saves().in(units::us) > 250.0);
    CHECK(padding->saves().in(units::us) < 330.0);
}

TEST_CASE("waiting for a loader counts as far as the GPU waits with it", "[savings]") {
    const auto program = [](double wait) {
        Recording made;
        for (int i = 0; i < 4; ++i) {
            made.wait("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", wait);
            for (int j = 0; j < 8; ++j) layer(made, 4);
        }
        return made.report();
    };
    const double without = time_of(program(0.0).timeline.span_ns).in(units::us);
    const TraceReport late = program(2000.0);
    const Saving* const loading = saving_of(late, SavingKind::loading, "DataLoader");
    REQUIRE(loading != nullptr);
    CHECK(loading->count == 4);
    CHECK(loading->then.in(units::us) == Approx(without).epsilon(0.02));
    CHECK(loading->saves().in(units::us) > 4000.0);
    // The GPU has work for longer than the loader takes.
    CHECK(saving_of(program(5.0), SavingKind::loading) == nullptr);
}

TEST_CASE("what is found by kernels is said from the first kernel to the last, too", "[savings]") {
    const auto program = [](double host) {
        Recording made;
        made.host(host);
        for (int i = 0; i < 6; ++i) {
            made.call("aten::mm", R"("float","float")", "[4096,4096],[4096,4096]", 3000.0);
        }
        return made.report();
    };
    const TraceReport busy = program(10.0);
    const Saving* const faster = saving_of(busy, SavingKind::precision);
    REQUIRE(faster != nullptr);
    REQUIRE(faster->end_to_end.has_value());
    CHECK(faster->end_to_end->in(units::us) == Approx(faster->saves().in(units::us)).epsilon(0.01));
    // The host launches each product after the one before has long ended: only the last one counts.
    const TraceReport idle = program(8000.0);
    const Saving* const hidden = saving_of(idle, SavingKind::precision);
    REQUIRE(hidden != nullptr);
    CHECK(hidden->saves().in(units::us) == Approx(faster->saves().in(units::us)));
    CHECK(hidden->end_to_end->in(units::us) ==
          Approx(faster->saves().in(units::us) / 6).epsilon(0.01));
}

TEST_CASE("a fusion saves the host the calls that it replaces", "[savings]") {
    const auto program = [](double host) {
        Recording made;
        made.host(host);
        for (int i = 0; i < 6; ++i) {
            made.call("aten::mm", two, "[2048,2048],[2048,2048]", 30.0);
            made.call("aten::gelu", R"("c10::BFloat16")", "[2048,2048]", 10.0);
            made.call("aten::mul", two, "[2048,2048],[2048,2048]", 10.0);
        }
        return made.report();
    };
    const TraceReport idle = program(200.0);
    const Saving* const fused = saving_of(idle, SavingKind::fusion);
    REQUIRE(fused != nullptr);
    CHECK(fused->count == 6);
    // Six calls of 200 us that the GPU waited for, and a little of the last kernel.
    CHECK(fused->end_to_end->in(units::us) == Approx(1200.0).epsilon(0.02));
    CHECK(fused->saves().in(units::us) < 100.0);
    const TraceReport busy = program(1.0);
    const Saving* const shorter = saving_of(busy, SavingKind::fusion);
    REQUIRE(shorter != nullptr);
    CHECK(shorter->end_to_end->in(units::us) ==
          Approx(shorter->saves().in(units::us)).epsilon(0.1));
}
