// What the readers of profilers' files, execution traces and request logs find in the files of the tests, whole, cut and
// with wrong bytes, against data/reads.txt (table.h).
//
// A question is "FILE", "FILE cut TENTHS" or "FILE byte PLACE CHARACTER", FILE within tests/. A list is its length and a
// digest of all that its entries have; what is damaged, and notes, are texts.
#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "programs/traces/execution_trace.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace.h"
#include "programs/traces/trace_set.h"
#include "programs/traffic/requests.h"
#include "tests/frozen/table.h"
#include "tests/model/random_operation.h"
#include "tests/support/temporary_folder.h"

namespace ridge::programs {
namespace {

/// FNV-1a over texts, so that any difference shows.
class Digest {
  public:
    template <class... Values>
    void add(Values&&... values) {
        (put(fmt::format("{} ", std::forward<Values>(values))), ...);
        ++count_;
    }
    [[nodiscard]] std::string text() const { return fmt::format("{} x{:016x}", count_, state_); }

  private:
    void put(const std::string& text) {
        for (const char c : text)
            state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
    }

    std::uint64_t state_ = 14695981039346656037U;
    std::size_t count_ = 0;
};

std::string operators_text(const Trace& trace) {
    Digest names;
    Digest times;
    Digest links;
    for (const Operator& each : trace.operators) {
        names.add(trace.text(each.name), trace.text(each.inputs), trace.text(each.collective));
        times.add(each.thread, each.start_ns, each.end_ns);
        links.add(each.external_id, each.sequence, each.record, each.parent, each.range);
    }
    return names.text() + " " + times.text() + " " + links.text();
}

std::string kernels_text(const Trace& trace) {
    Digest names;
    Digest times;
    Digest links;
    Digest sizes;
    for (const Kernel& each : trace.kernels) {
        names.add(trace.text(each.name), static_cast<int>(each.kind), trace.text(each.collective));
        times.add(each.start_ns, each.duration_ns, each.device, each.stream);
        links.add(each.op, each.range, each.launch, each.replay, each.counters);
        sizes.add(each.bytes, each.dram_bytes, fmt::join(each.grid, ","),
                  fmt::join(each.block, ","), each.registers, each.shared_bytes);
    }
    return names.text() + " " + times.text() + " " + links.text() + " " + sizes.text();
}

std::string counters_text(const Trace& trace) {
    std::string text;
    for (const KernelCounters& c : trace.counters) {
        Digest metrics;
        for (const auto& [name, value] : c.metrics) metrics.add(name, value);
        for (const StallSample& stall : c.stalls) {
            metrics.add(stall.file, stall.line, stall.address);
            for (const auto& [name, value] : stall.samples) metrics.add(name, value);
        }
        text += fmt::format(
            " counters {} {} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} "
            "{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {}",
            c.launches, c.passes, c.duration_ns, c.dram_read_bytes, c.dram_write_bytes, c.l2_bytes,
            c.shared_bytes, c.tensor_flop, c.vector_flop, c.special_results, c.occupancy,
            c.tensor_active, c.sm_throughput, c.memory_throughput, c.dram_throughput,
            c.dram_bytes(), c.flop(), metrics.text());
    }
    return text;
}

std::string trace_text(const Trace& trace) {
    Digest launches;
    for (const Launch& each : trace.launches)
        launches.add(trace.text(each.name), each.thread, each.start_ns, each.end_ns);
    Digest samples;
    for (const DeviceSample& each : trace.samples)
        samples.add(each.device, each.start_ns, each.duration_ns, each.dram_read_bytes,
                    each.dram_write_bytes, each.sm_active, each.tensor_active);
    const Timeline t = timeline_of(trace);
    Digest late;
    for (const std::int64_t each : t.late_ns) late.add(each);
    std::string text = fmt::format(
        "{} world {} rank {} bytes {} events {} device {} {} operators {} kernels {} launches {} "
        "samples {} "
        "timeline {} {} {} {} {} {} {} {} {} {}",
        name_of(trace.recorder), trace.header.world_size, trace.header.rank, trace.read.bytes,
        trace.read.events, trace.device_name(), trace.capability(), operators_text(trace),
        kernels_text(trace), launches.text(), samples.text(), t.span_ns, t.busy_ns, t.kernel_ns,
        t.host_late_ns, t.communication_ns, t.communication_hidden_ns, t.gaps, t.starting_ns,
        t.starting_kernels, late.text());
    for (const TraceDevice& each : trace.header.devices)
        text += fmt::format(" gpu {} {} {} {} {} {}", each.id, each.name, each.multiprocessors,
                            each.memory_bytes, each.major, each.minor);
    text += counters_text(trace) + " damage " + trace.read.damage;
    for (const std::string& note : trace.notes) text += " note " + note;
    return text;
}

std::string execution_text(const ExecutionTrace& seen) {
    Digest flows;
    std::size_t operators = 0;
    for (std::int64_t record = 0; record < 3000; ++record) {
        const OperatorFlow* const flow = seen.flow_of(record);
        if (flow == nullptr) continue;
        ++operators;
        flows.add(record, fmt::join(flow->reads, ","), fmt::join(flow->writes, ","));
    }
    return fmt::format("operators {} flows {}", operators, flows.text());
}

std::string requests_text(const std::string& file) {
    Digest requests;
    std::string text;
    for (const TrafficRequest& each : read_request_log(test::text_of(file), "log")) {
        requests.add(each.arrival_ns, each.prompt, each.answer, each.prefix, each.group,
                     each.priority, each.vision, each.images, each.adapter);
        if (text.size() < 200)
            text += fmt::format("{} {} {} ", each.arrival_ns, each.prompt, each.answer);
    }
    return text + requests.text();
}

std::string text_of_file(const std::string& name, const std::string& file) {
    if (name.find("execution") != std::string::npos) {
        return execution_text(read_execution_trace(file));
    }
    if (name.find("requests") != std::string::npos) return requests_text(file);
    Trace trace = read_run({file});
    std::string text = trace_text(trace);
    const auto range = std::find_if(trace.operators.begin(), trace.operators.end(),
                                    [](const Operator& each) { return each.range; });
    if (range == trace.operators.end()) return text;
    const std::string name_of_range = trace.text(range->name);
    keep_range(trace, name_of_range);
    return text + " within " + name_of_range + " " + kernels_text(trace);
}

/// A message names the file, whose folder is another in each run.
std::string without_folder(std::string text, const std::string& folder) {
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
        text.erase(at, folder.size());
    }
    return text;
}

std::string read_answer(const std::string& question) {
    std::istringstream words(question);
    std::string name;
    std::string change;
    words >> name >> change;
    std::string content = test::text_of(RIDGE_TESTS "/" + name);
    if (change == "cut") {
        std::size_t tenths = 0;
        words >> tenths;
        content.resize(content.size() * tenths / 10);
    } else if (change == "byte") {
        std::size_t place = 0;
        int character = 0;
        words >> place >> character;
        content.at(place) = static_cast<char>(character);
    }
    const test::TemporaryFolder folder;
    const std::string file = folder.write(name.substr(name.rfind('/') + 1), content);
    try {
        return without_folder(text_of_file(name, file), folder.path());
    } catch (const InputError& error) {
        return without_folder(std::string("error: ") + error.what(), folder.path());
    }
}

TEST_CASE("files of profilers are read as they were", "[frozen]") {
    test::check_table("reads", read_answer);
}

TEST_CASE("draws the questions of the table of files that are read", "[.][frozen-draw]") {
    constexpr std::array files{"programs/traces/attention_step.execution.json.gz",
                               "programs/traces/attention_step.json.gz",
                               "programs/traces/trace_gpt2_train.json.gz",
                               "programs/traces/trace_llama_compiled.json.gz",
                               "programs/traces/trace_llama_prefill.json.gz",
                               "programs/traces/kernels_h200.counters.ridge",
                               "programs/traces/kernels_h200.ridge",
                               "programs/traces/ranks/busy-link/rank1.json.gz",
                               "programs/traces/ranks/gathers/rank2.json.gz",
                               "programs/data/ncu_torch.csv",
                               "programs/data/nsys_report.sqlite",
                               "programs/data/computed_texts.sqlite",
                               "programs/data/endless_view.sqlite",
                               "fuzz/corpus/requests/log.csv",
                               "fuzz/corpus/requests/log.jsonl",
                               "fuzz/corpus/trace/compressed",
                               "fuzz/corpus/trace/small",
                               "fuzz/corpus/trace/nsight_compute.csv",
                               "fuzz/corpus/trace/xplane",
                               "programs/traces/trace_jax.xplane.pb.gz",
                               "programs/traces/trace_jax.json.gz",
                               "fuzz/corpus/trace/rocprofv3.csv"};
    constexpr std::string_view characters = "0159-.,\"{}[]:\\ aX\n";
    test::Random random(20261130);
    std::vector<std::string> questions;
    for (const char* file : files) {
        const std::size_t size = test::text_of(std::string(RIDGE_TESTS "/") + file).size();
        questions.emplace_back(file);
        for (const int tenths : {3, 9}) questions.push_back(fmt::format("{} cut {}", file, tenths));
        for (int i = 0; size < 12'000 && i < 14; ++i) {
            questions.push_back(fmt::format("{} byte {} {}", file,
                                            random.whole(0, static_cast<std::int64_t>(size) - 1),
                                            static_cast<int>(random.pick(characters))));
        }
    }
    test::write_table("reads", questions, read_answer);
}

}  // namespace
}  // namespace ridge::programs
