#include "programs/traces/activity_trace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "hardware/error.h"
#include "programs/traces/activity_records.h"
#include "programs/traces/counter_sums.h"
#include "programs/traces/nsight_systems.h"
#include "programs/traces/trace_builder.h"

namespace ridge::programs {
namespace {

// Larger times and durations are rejected, so that sums of them still fit.
constexpr std::uint64_t latest = std::uint64_t{1} << 61U;
constexpr std::uint64_t longest_duration = 100'000'000'000'000;  // 28 hours

/// Kernels are the same if these values are equal.
using LaunchKey = std::tuple<TextId, std::array<std::int64_t, 3>, std::array<std::int64_t, 3>>;

struct LaunchShape {
    TextId name = TextId::empty;
    std::array<std::int64_t, 3> grid{};
    std::array<std::int64_t, 3> block{};
    std::int64_t registers = 0;
    std::int64_t shared_bytes = 0;
};

/// The data that all files of a run add to.
struct Run {
    explicit Run(Trace& of) : trace(of), builder(of) {}

    Trace& trace;
    TraceBuilder builder;
    std::int64_t processes = 0;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> devices;  ///< by UUID
    std::int64_t next_device = 0;
    std::map<LaunchKey, CounterSums> counted;
    std::map<TextId, std::vector<StallSample>> stalls;  ///< by the name of the kernel
};

/// One number for each of the names, which have blanks between them.
std::map<std::string, double> samples_of(std::string_view names, std::string_view values) {
    std::map<std::string, double> samples;
    while (!names.empty() && values.size() >= sizeof(double)) {
        const std::size_t end = std::min(names.find(' '), names.size());
        double value = 0.0;
        std::memcpy(&value, values.data(), sizeof value);
        constexpr double most = 1e18;
        if (end > 0 && value > 0.0 && value < most) {
            samples[std::string(names.substr(0, end))] += value;
        }
        values.remove_prefix(sizeof value);
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return samples;
}

/// Reads one file into the run.
class ProcessReader {
  public:
    ProcessReader(const std::string& file, Run& run)
        : records_(file), run_(run), process_(run.processes++) {}

    void read() {
        const std::size_t first = run_.trace.kernels.size();
        const std::size_t first_sample = run_.trace.samples.size();
        while (records_.next()) take();
        close_open_ranges();
        for (std::size_t i = first; i < run_.trace.kernels.size(); ++i) {
            run_.trace.kernels[i].device = global_device(run_.trace.kernels[i].device);
        }
        for (std::size_t i = first_sample; i < run_.trace.samples.size(); ++i) {
            run_.trace.samples[i].device = global_device(run_.trace.samples[i].device);
        }
        tell();
    }
    [[nodiscard]] const ReadResult& result() const { return records_.result(); }

  private:
    struct OpenRange {
        TextId name = TextId::empty;
        std::int64_t start_ns = 0;
        std::int64_t thread = 0;
    };

    // One long table: the action for each record.
    void take() {
        switch (records_.tag()) {
            case ActivityTag::process:
                process_info_ = records_.as<ProcessActivity>();
                process_info_.host = {};
                break;
            case ActivityTag::text:
                texts_.push_back(run_.builder.text(records_.payload().substr(0, longest_text)));
                break;
            case ActivityTag::device:
                add_device(records_.as<DeviceActivity>());
                break;
            case ActivityTag::shape:
                add_shape(records_.as<ShapeActivity>());
                break;
            case ActivityTag::kernel:
                add_kernel(records_.as<KernelActivity>());
                break;
            case ActivityTag::copy:
                add_transfer(records_.as<TransferActivity>(), ActivityKind::copy);
                break;
            case ActivityTag::fill:
                add_transfer(records_.as<TransferActivity>(), ActivityKind::fill);
                break;
            case ActivityTag::call:
                add_call(records_.as<CallActivity>());
                break;
            default:
                take_other();
        }
    }
    void take_other() {
        switch (records_.tag()) {
            case ActivityTag::push:
                push(records_.as<PushActivity>());
                break;
            case ActivityTag::pop:
                pop(records_.as<PopActivity>());
                break;
            case ActivityTag::start:
                start(records_.as<StartActivity>());
                break;
            case ActivityTag::stop:
                stop(records_.as<StopActivity>());
                break;
            case ActivityTag::lost:
                lost_ += std::min(records_.as<LostActivity>().records, latest - lost_);
                break;
            case ActivityTag::note:
                note(std::string(records_.payload().substr(0, longest_text)));
                break;
            case ActivityTag::counters:
                add_counters(records_.as<CounterActivity>());
                break;
            case ActivityTag::metrics:
                add_metrics(records_.as<MetricActivity>());
                break;
            case ActivityTag::stalls:
                add_stalls(records_.as<StallActivity>());
                break;
            case ActivityTag::sample:
                add_sample(records_.as<SampleActivity>());
                break;
            case ActivityTag::finish:
                finished_ = true;
                break;
            default:
                break;
        }
    }

    [[nodiscard]] bool counting() const {
        return process_info_.mode == static_cast<std::uint32_t>(RecordingMode::counters);
    }
    [[nodiscard]] std::optional<TextId> text(std::uint32_t number) {
        if (number == 0) return TextId::empty;
        if (number <= texts_.size()) return texts_[number - 1];
        records_.damage("a record names text " + std::to_string(number) + " of " +
                        std::to_string(texts_.size()));
        return std::nullopt;
    }
    [[nodiscard]] const LaunchShape* shape(std::uint32_t number) {
        if (number < shapes_.size()) return &shapes_[number];
        records_.damage("a record names shape " + std::to_string(number) + " of " +
                        std::to_string(shapes_.size()));
        return nullptr;
    }
    [[nodiscard]] bool times(std::uint64_t start, std::uint64_t duration) {
        if (start > latest || duration > longest_duration) {
            records_.damage("a record's time is out of range");
            return false;
        }
        last_ns_ = std::max(last_ns_, static_cast<std::int64_t>(start + duration));
        return true;
    }
    /// Numbers of threads and calls are unique only within a process.
    [[nodiscard]] std::int64_t unique(std::uint32_t number) const {
        return process_ << 32 | static_cast<std::int64_t>(number);
    }

    void add_shape(const ShapeActivity& value) {
        const auto name = text(value.name);
        if (!name) return;
        shapes_.push_back({.name = *name,
                           .grid = {value.grid_x, value.grid_y, value.grid_z},
                           .block = {value.block_x, value.block_y, value.block_z},
                           .registers = value.registers,
                           .shared_bytes = value.shared_bytes});
    }
    void add_kernel(const KernelActivity& value) {
        const LaunchShape* const launch = shape(value.shape);
        if (launch == nullptr || !times(value.start_ns, value.duration_ns)) return;
        run_.builder.add(Kernel{.name = launch->name,
                                .start_ns = static_cast<std::int64_t>(value.start_ns),
                                .duration_ns = static_cast<std::int64_t>(value.duration_ns),
                                .device = value.device,
                                .stream = value.stream,
                                .grid = launch->grid,
                                .block = launch->block,
                                .registers = launch->registers,
                                .shared_bytes = launch->shared_bytes},
                         {.correlation = unique(value.correlation)});
    }
    void add_transfer(const TransferActivity& value, ActivityKind kind) {
        const auto name = text(value.name);
        if (!name || !times(value.start_ns, value.duration_ns)) return;
        run_.builder.add(Kernel{.name = *name,
                                .kind = kind,
                                .start_ns = static_cast<std::int64_t>(value.start_ns),
                                .duration_ns = static_cast<std::int64_t>(value.duration_ns),
                                .device = value.device,
                                .stream = value.stream,
                                .bytes = static_cast<std::int64_t>(std::min(value.bytes, latest))},
                         {.correlation = unique(value.correlation)});
    }
    void add_call(const CallActivity& value) {
        const auto name = text(value.name);
        if (!name || !times(value.start_ns, value.duration_ns)) return;
        const auto start = static_cast<std::int64_t>(value.start_ns);
        run_.builder.add(Launch{.name = *name,
                                .thread = unique(value.thread),
                                .start_ns = start,
                                .end_ns = start + static_cast<std::int64_t>(value.duration_ns)},
                         unique(value.correlation));
    }

    void push(const PushActivity& value) {
        const auto name = text(value.name);
        if (!name || !times(value.time_ns, 0)) return;
        stacks_[value.thread].push_back({.name = *name,
                                         .start_ns = static_cast<std::int64_t>(value.time_ns),
                                         .thread = unique(value.thread)});
    }
    void pop(const PopActivity& value) {
        std::vector<OpenRange>& stack = stacks_[value.thread];
        if (stack.empty() || !times(value.time_ns, 0)) return;
        close(stack.back(), static_cast<std::int64_t>(value.time_ns));
        stack.pop_back();
    }
    void start(const StartActivity& value) {
        const auto name = text(value.name);
        if (!name || !times(value.time_ns, 0)) return;
        started_[value.id] = {.name = *name,
                              .start_ns = static_cast<std::int64_t>(value.time_ns),
                              .thread = unique(value.thread)};
    }
    void stop(const StopActivity& value) {
        const auto found = started_.find(value.id);
        if (found == started_.end() || !times(value.time_ns, 0)) return;
        close(found->second, static_cast<std::int64_t>(value.time_ns));
        started_.erase(found);
    }
    /// A range whose text names an operator (PyTorch's emit_nvtx) becomes an operator.
    void close(const OpenRange& range, std::int64_t end_ns) {
        if (counting()) return;
        Operator op{.name = range.name,
                    .thread = range.thread,
                    .start_ns = range.start_ns,
                    .end_ns = end_ns,
                    .range = true};
        const RangeOperator found = operator_in(run_.trace.text(range.name));
        if (!found.name.empty()) {
            op.name = run_.builder.text(found.name);
            if (!found.inputs.empty()) op.inputs = run_.builder.text(found.inputs);
            op.range = false;
        }
        run_.builder.add(op);
    }
    void close_open_ranges() {
        for (const auto& [thread, stack] : stacks_) {
            for (const OpenRange& range : stack) close(range, last_ns_ + 1);
        }
        for (const auto& [id, range] : started_) close(range, last_ns_ + 1);
    }

    void add_device(const DeviceActivity& value) {
        const std::pair uuid{value.uuid_high, value.uuid_low};
        std::int64_t number = run_.next_device;
        if (uuid != std::pair<std::uint64_t, std::uint64_t>{}) {
            number = run_.devices.try_emplace(uuid, number).first->second;
        }
        local_devices_[value.device] = number;
        if (number < run_.next_device) return;
        ++run_.next_device;
        run_.trace.header.devices.push_back(
            {.id = number,
             .name = std::string(value.name.substr(0, longest_text)),
             .multiprocessors = value.multiprocessors,
             .memory_bytes = static_cast<std::int64_t>(std::min(value.memory_bytes, latest)),
             .major = value.major,
             .minor = value.minor});
    }
    /// A device without its own record is not shared with other processes.
    [[nodiscard]] std::int64_t global_device(std::int64_t local) {
        const auto [place, added] = local_devices_.try_emplace(local, run_.next_device);
        if (added) ++run_.next_device;
        return place->second;
    }

    void add_counters(const CounterActivity& value) {
        const LaunchShape* const launch = shape(value.shape);
        if (launch == nullptr) return;
        run_.counted[{launch->name, launch->grid, launch->block}].add(process_, value);
    }
    void add_metrics(const MetricActivity& value) {
        const LaunchShape* const launch = shape(value.shape);
        const std::optional<TextId> names = text(value.names);
        if (launch == nullptr || !names) return;
        run_.counted[{launch->name, launch->grid, launch->block}].add(run_.trace.text(*names),
                                                                      value);
    }
    void add_stalls(const StallActivity& value) {
        const std::optional<TextId> kernel = text(value.kernel);
        const std::optional<TextId> file = text(value.file);
        const std::optional<TextId> names = text(value.names);
        if (!kernel || !file || !names) return;
        std::vector<StallSample>& sites = run_.stalls[*kernel];
        constexpr std::size_t most_sites = 100'000;
        if (sites.size() == most_sites) return;
        sites.push_back({.file = std::string(run_.trace.text(*file)),
                         .line = value.line,
                         .address = value.address,
                         .samples = samples_of(run_.trace.text(*names), value.values)});
    }
    void add_sample(const SampleActivity& value) {
        if (!times(value.start_ns, value.duration_ns)) return;
        run_.trace.samples.push_back({.device = value.device,
                                      .start_ns = static_cast<std::int64_t>(value.start_ns),
                                      .duration_ns = static_cast<std::int64_t>(value.duration_ns),
                                      .dram_read_bytes = value.dram_read_bytes,
                                      .dram_write_bytes = value.dram_write_bytes,
                                      .sm_active = value.sm_active,
                                      .tensor_active = value.tensor_active});
    }

    [[nodiscard]] std::string who() const {
        return (process_info_.rank >= 0 ? "rank " + std::to_string(process_info_.rank)
                                        : "process " + std::to_string(process_info_.pid));
    }
    void note(const std::string& text) {
        std::vector<std::string>& notes = run_.trace.notes;
        constexpr std::size_t most_notes = 1000;
        if (notes.size() < most_notes) notes.push_back(who() + ": " + text);
    }
    void tell() {
        if (lost_ > 0) {
            note("CUPTI lost " + std::to_string(lost_) +
                 " records, or they had not finished when the process ended");
        }
        if (!finished_ && records_.result().damage.empty()) {
            note("did not end normally; this is what was written until then");
        }
        if (process_info_.rank >= 0 && run_.trace.header.rank < 0) {
            run_.trace.header.rank = process_info_.rank;
        }
        run_.trace.header.world_size =
            std::max<std::int64_t>(run_.trace.header.world_size, process_info_.world);
    }

    ActivityRecords records_;
    Run& run_;
    std::int64_t process_;
    ProcessActivity process_info_{};
    std::vector<TextId> texts_;
    std::vector<LaunchShape> shapes_;
    std::unordered_map<std::uint32_t, std::vector<OpenRange>> stacks_;
    std::map<std::uint64_t, OpenRange> started_;
    std::map<std::int64_t, std::int64_t> local_devices_;
    std::int64_t last_ns_ = 0;
    std::uint64_t lost_ = 0;
    bool finished_ = false;
};

/// Gives every launch the counters of its kernel, grid and block.
void spread_counters(Run& run) {
    if (run.counted.empty()) return;
    Trace& trace = run.trace;
    std::map<LaunchKey, std::int32_t> places;
    for (const auto& [key, sum] : run.counted) {
        places.emplace(key, static_cast<std::int32_t>(trace.counters.size()));
        trace.counters.push_back(sum.mean());
        const auto sampled = run.stalls.find(std::get<0>(key));
        if (sampled != run.stalls.end()) trace.counters.back().stalls = sampled->second;
    }
    for (Kernel& kernel : trace.kernels) {
        if (kernel.kind != ActivityKind::kernel) continue;
        const auto found = places.find({kernel.name, kernel.grid, kernel.block});
        if (found == places.end()) continue;
        kernel.counters = found->second;
        const double bytes = trace.counters[static_cast<std::size_t>(found->second)].dram_bytes();
        if (bytes >= 0.0 && bytes < static_cast<double>(latest)) {
            kernel.dram_bytes = static_cast<std::int64_t>(bytes);
        }
    }
}

}  // namespace

bool is_activity_file(const std::string& file) {
    try {
        const ActivityRecords records(file);
        return true;
    } catch (const InputError&) {
        return false;
    }
}

std::uint64_t run_of(const std::string& file) {
    ActivityRecords records(file);
    while (records.next()) {
        if (records.tag() == ActivityTag::process) return records.as<ProcessActivity>().run;
    }
    return 0;
}

MissingSets missing_sets(const std::vector<std::string>& files) {
    Trace trace;
    Run run(trace);
    for (const std::string& file : files) ProcessReader(file, run).read();
    MissingSets missing;
    const auto sizes = [](const std::array<std::int64_t, 3>& of) {
        std::array<std::uint32_t, 3> all{};
        std::transform(of.begin(), of.end(), all.begin(),
                       [](std::int64_t size) { return static_cast<std::uint32_t>(size); });
        return all;
    };
    for (const auto& [key, sums] : run.counted) {
        const auto& [name, grid, block] = key;
        missing[{std::string(trace.text(name)), sizes(grid), sizes(block)}] = sums.missing();
    }
    return missing;
}

bool launches_once(const std::vector<std::string>& files) {
    return std::all_of(files.begin(), files.end(), [](const std::string& file) {
        ActivityRecords records(file);
        std::set<std::uint32_t> seen;
        while (records.next()) {
            if (records.tag() != ActivityTag::kernel) continue;
            const auto kernel = records.as<KernelActivity>();
            if (kernel.graph_node == 0 && !seen.insert(kernel.shape).second) return false;
        }
        return true;
    });
}

Trace read_activity_files(const std::vector<std::string>& files) {
    Trace trace;
    trace.recorder = TraceSource::activity;
    Run run(trace);
    for (const std::string& file : files) {
        trace.file += (trace.file.empty() ? "" : ", ") + file;
        ProcessReader reader(file, run);
        reader.read();
        const ReadResult& read = reader.result();
        trace.read.bytes += read.bytes;
        trace.read.events += read.events;
        if (!read.damage.empty() && trace.read.damage.empty()) {
            trace.read.damage = (files.size() > 1 ? file + ": " : "") + read.damage;
        }
    }
    run.builder.finish();
    spread_counters(run);
    return trace;
}

}  // namespace ridge::programs
