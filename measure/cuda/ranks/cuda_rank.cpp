// A rank on a CUDA device with NCCL; see measure/ranks/rank.h.
//
// Method: the operation runs out of place on buffers that are filled from the rank's number, so that
// every rank can compute what it must receive: it fills a scratch buffer as each other rank filled its
// input, and adds in double precision. Samples of a kernel stand in a batch behind a gate, each after
// a start line, and their durations come from activity records. NCCL writes its log, from which rank
// 0 reads the choice of algorithm, only while the result is verified.
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "hardware/error.h"
#include "measure/cuda/clocks/activity.h"
#include "measure/cuda/clocks/clock_kernels.h"
#include "measure/cuda/libraries/device_description.h"
#include "measure/cuda/libraries/driver.h"
#include "measure/cuda/libraries/nccl.h"
#include "measure/cuda/memory/verify.h"
#include "measure/cuda/plans/plan.h"
#include "measure/cuda/ranks/start_line.h"
#include "measure/ranks/library_log.h"
#include "measure/ranks/rank.h"
#include "measure/ranks/sources.h"

namespace ridge::measure {
namespace cuda {
namespace {

using model::CollectiveKind;
using model::LaunchMode;

constexpr std::uint64_t input_seed = 4000;
constexpr std::int64_t window = 256;  ///< elements that are compared together
constexpr std::int64_t windows = 32;  ///< in each part
constexpr std::int32_t warm_up_runs = 3;

ncclDataType_t nccl_type(model::DataType type) {
    switch (type) {
        case model::DataType::fp64:
            return ncclFloat64;
        case model::DataType::fp32:
        case model::DataType::tf32:
            return ncclFloat32;
        case model::DataType::fp16:
            return ncclFloat16;
        case model::DataType::bf16:
            return ncclBfloat16;
        case model::DataType::int8:
            return ncclInt8;
        default:
            break;
    }
    throw Refusal("collectives of dtype " + std::string(name_of(type)) + " are not measured",
                  "use fp64, fp32, fp16, bf16 or int8");
}

/// NCCL's log in a file, while this exists. Nothing is logged where NCCL cannot change it.
class LibraryLog {
  public:
    LibraryLog(const Nccl& library, std::int32_t rank)
        : library_(library),
          path_(std::filesystem::temp_directory_path() /
                ("ridge-nccl-" + std::to_string(getpid()) + "-" + std::to_string(rank))) {
        setenv("NCCL_DEBUG", "INFO", 1);
        setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
        setenv("NCCL_DEBUG_FILE", path_.c_str(), 1);
        if (library_.read_log_settings != nullptr) library_.read_log_settings();
    }
    ~LibraryLog() {
        setenv("NCCL_DEBUG", "WARN", 1);
        unsetenv("NCCL_DEBUG_SUBSYS");
        unsetenv("NCCL_DEBUG_FILE");
        if (library_.read_log_settings != nullptr) library_.read_log_settings();
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    LibraryLog(const LibraryLog&) = delete;
    LibraryLog& operator=(const LibraryLog&) = delete;

    [[nodiscard]] std::string text() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }

  private:
    const Nccl& library_;
    std::filesystem::path path_;
};

/// The operation with its buffers.
struct Prepared {
    model::Collective operation;
    CollectiveLayout layout;
    ElementType type = ElementType::float32;
    DataPattern pattern = DataPattern::normal;
    Buffer input;
    Buffer output;
    Launch launch;
    std::unique_ptr<Graph> graph;
    std::int32_t graph_repetitions = 0;
};

class CudaRank final : public Rank {
  public:
    CudaRank(const RankPlace& place, DeviceInfo info)
        : place_(place), info_(std::move(info)), library_(nccl_or_refuse()) {}

    ~CudaRank() override {
        prepared_.reset();
        if (communicator_ != nullptr) library_.leave(communicator_);
    }

    void open() {
        auto tracer = ActivityTracer::open();
        if (const auto* missing = std::get_if<Unavailable>(&tracer)) {
            throw Refusal(missing->reason, missing->remedy);
        }
        tracer_ = std::get<std::unique_ptr<ActivityTracer>>(std::move(tracer));
        require(cudaSetDevice(place_.device), "cudaSetDevice");
        static_cast<void>(current_context());
        auto management = Management::open(info_.pci_bus);
        if (auto* opened = std::get_if<std::unique_ptr<Management>>(&management)) {
            management_ = std::move(*opened);
            add_management(*management_, info_);
        }
        if (const auto* table = std::get_if<Cupti>(&cupti())) info_.cupti = table->version_text();
        info_.features.push_back({.name = "activity", .detail = info_.cupti});
        info_.features.push_back(
            {.name = "nccl", .detail = library_.version_text() + ", " + library_.path});
        stream_ = std::make_unique<Stream>();
        gate_ = std::make_unique<Gate>();
        line_ = std::make_unique<StartLine>(place_.rank, place_.ranks);
        start_ = std::make_unique<Event>();
        stop_ = std::make_unique<Event>();
    }

    [[nodiscard]] const DeviceInfo& info() const override { return info_; }
    [[nodiscard]] Environment environment() override {
        return management_ == nullptr ? Environment{} : management_->environment();
    }

    [[nodiscard]] std::string new_id() override {
        ncclUniqueId id{};
        library_.require(library_.unique_id(&id), "ncclGetUniqueId");
        return {id.internal, sizeof(id.internal)};
    }

    void join(const std::string& id) override {
        ncclUniqueId joined{};
        std::copy_n(id.begin(), std::min(id.size(), sizeof(joined.internal)), joined.internal);
        library_.require(library_.join(&communicator_, place_.ranks, joined, place_.rank),
                         "ncclCommInitRank");
    }

    [[nodiscard]] std::string address() override { return line_->address(); }
    void link(const std::vector<std::string>& addresses) override { line_->link(addresses); }

    [[nodiscard]] Maybe<Geometry> prepare(const model::Collective& operation, LaunchMode /*launch*/,
                                          DataPattern pattern) override {
        prepared_.reset();
        try {
            return prepare_or_refuse(operation, pattern);
        } catch (const Refusal& refusal) {
            return Unavailable{.reason = refusal.what(), .remedy = refusal.remedy()};
        } catch (const NotEnoughMemory& refusal) {
            return Unavailable{.reason = refusal.what(), .remedy = "use a smaller message"};
        }
    }

    [[nodiscard]] RankVerdict verify() override {
        Prepared& now = prepared();
        RankVerdict verdict;
        {
            const LibraryLog log(library_, place_.rank);
            poison_output(now);
            now.launch(stream_->handle());
            stream_->synchronize();
            if (place_.rank == 0) {
                verdict.choice = last_choice(log.text()).value_or(CollectiveChoice{});
                verdict.choice->library = "NCCL " + library_.version_text();
            }
        }
        verdict.verification = compare(now);
        return verdict;
    }

    [[nodiscard]] std::vector<RankSample> sample(const RankSampleRequest& request) override {
        Prepared& now = prepared();
        // This also loads the kernel of the start line, which must not happen behind a gate.
        line_->queue(*stream_, 0);
        for (std::int32_t i = 0; i < warm_up_runs; ++i) now.launch(stream_->handle());
        stream_->synchronize();
        std::vector<RankSample> samples;
        while (static_cast<std::int32_t>(samples.size()) < request.count) {
            const std::int32_t left = request.count - static_cast<std::int32_t>(samples.size());
            const std::vector<RankSample> more =
                request.launch == LaunchMode::kernel
                    ? together(now, std::min(left, StartLine::most_samples))
                : request.launch == LaunchMode::graph ? replayed(now, request.repetitions)
                                                      : called(now, request.repetitions);
            samples.insert(samples.end(), more.begin(), more.end());
        }
        return samples;
    }

  private:
    Prepared& prepared() {
        if (prepared_ == nullptr) throw DeviceError("no operation is prepared");
        return *prepared_;
    }

    Geometry prepare_or_refuse(const model::Collective& operation, DataPattern pattern) {
        const ncclDataType_t type = nccl_type(operation.type);
        auto now = std::make_unique<Prepared>();
        now->operation = operation;
        now->pattern = pattern;
        now->type = element_of(operation.type);
        const Maybe<CollectiveLayout> layout =
            layout_of(operation, place_.rank, bytes_per_element(now->type));
        if (const auto* refused = std::get_if<Unavailable>(&layout)) {
            throw Refusal(refused->reason, refused->remedy);
        }
        now->layout = std::get<CollectiveLayout>(layout);
        now->input = filled(*now, place_.rank);
        now->output = Buffer(bytes_of(now->type, now->layout.output));
        now->launch = launch_of_library(*now, type);
        const auto bytes = static_cast<double>(now->input.bytes() + now->output.bytes());
        prepared_ = std::move(now);
        // The first run connects the GPUs, which must not happen in a capture.
        prepared_->launch(stream_->handle());
        stream_->synchronize();
        const Graph graph(prepared_->launch, 1);
        return {.kernels = kernels_of(graph.handle()), .device_memory = bytes * units::B};
    }

    /// The input of any rank.
    [[nodiscard]] Buffer filled(const Prepared& now, std::int32_t rank) const {
        const Context context(stream_->handle(), device_limits(), now.pattern);
        return context.input(now.type, now.layout.input,
                             input_seed + static_cast<std::uint64_t>(rank));
    }

    [[nodiscard]] Launch launch_of_library(const Prepared& now, ncclDataType_t type) const {
        const Nccl* const library = &library_;
        const ncclComm_t communicator = communicator_;
        const void* const in = now.input.as();
        void* const out = now.output.as();
        const auto part = static_cast<std::size_t>(now.layout.part);
        const int rank = place_.rank;
        switch (now.operation.kind) {
            case CollectiveKind::all_reduce:
                return [=](cudaStream_t stream) {
                    library->require(
                        library->all_reduce(in, out, part, type, ncclSum, communicator, stream),
                        "ncclAllReduce");
                };
            case CollectiveKind::all_gather:
                return [=](cudaStream_t stream) {
                    library->require(library->all_gather(in, out, part, type, communicator, stream),
                                     "ncclAllGather");
                };
            case CollectiveKind::reduce_scatter:
                return [=](cudaStream_t stream) {
                    library->require(
                        library->reduce_scatter(in, out, part, type, ncclSum, communicator, stream),
                        "ncclReduceScatter");
                };
            case CollectiveKind::broadcast:
                return [=](cudaStream_t stream) {
                    library->require(
                        library->broadcast(in, out, part, type, 0, communicator, stream),
                        "ncclBroadcast");
                };
            case CollectiveKind::all_to_all:
                return all_to_all(in, out,
                                  part * static_cast<std::size_t>(bytes_per_element(now.type)));
            case CollectiveKind::send:
                return [=](cudaStream_t stream) {
                    if (rank == 0) {
                        library->require(library->send(in, part, type, 1, communicator, stream),
                                         "ncclSend");
                    } else if (rank == 1) {
                        library->require(library->receive(out, part, type, 0, communicator, stream),
                                         "ncclRecv");
                    }
                };
            default:
                break;
        }
        throw Refusal("this is not a collective between GPUs");
    }

    /// As PyTorch's all_to_all_single: a send and a receive for each rank, itself too.
    [[nodiscard]] Launch all_to_all(const void* in, void* out, std::size_t part_bytes) const {
        const Nccl* const library = &library_;
        const ncclComm_t communicator = communicator_;
        const int ranks = place_.ranks;
        return [=](cudaStream_t stream) {
            library->require(library->group_start(), "ncclGroupStart");
            for (int rank = 0; rank < ranks; ++rank) {
                const std::size_t at = static_cast<std::size_t>(rank) * part_bytes;
                library->require(library->send(static_cast<const char*>(in) + at, part_bytes,
                                               ncclInt8, rank, communicator, stream),
                                 "ncclSend");
                library->require(library->receive(static_cast<char*>(out) + at, part_bytes,
                                                  ncclInt8, rank, communicator, stream),
                                 "ncclRecv");
            }
            library->require(library->group_end(), "ncclGroupEnd");
        };
    }

    void poison_output(const Prepared& now) const {
        if (now.layout.output == 0) return;
        poison(now.output.as(), stored(now.type), now.layout.output, stream_->handle());
    }

    /// First elements of the windows that are compared: some in each part of the output.
    static std::vector<std::int64_t> compared(const Prepared& now) {
        std::vector<std::int64_t> firsts;
        const std::int64_t part = now.layout.part;
        for (std::int64_t from = 0; from < now.layout.output; from += part) {
            for (const std::int64_t at : sampled(ceil_div(part, window), windows, 29)) {
                firsts.push_back(from + at * window);
            }
        }
        return firsts;
    }

    Verification compare(const Prepared& now) const {
        const StoredType type = stored(now.type);
        const std::int64_t part = now.layout.part;
        const std::vector<std::int64_t> firsts = compared(now);
        std::vector<std::vector<double>> expected(firsts.size());
        const auto count_at = [&](std::size_t i) {
            return std::min(window, part - firsts[i] % part);
        };
        for (std::int32_t from = 0; from < place_.ranks; ++from) {
            const Buffer input = filled(now, from);
            for (std::size_t i = 0; i < firsts.size(); ++i) {
                const auto index = source_index(now.operation.kind, now.layout, from, firsts[i]);
                if (!index) continue;
                const std::vector<double> values =
                    read_elements(input.as(), type, *index, 1, count_at(i), stream_->handle());
                expected[i].resize(values.size(), 0.0);
                for (std::size_t k = 0; k < values.size(); ++k) expected[i][k] += values[k];
            }
        }
        Comparison comparison;
        for (std::size_t i = 0; i < firsts.size(); ++i) {
            const std::vector<double> got =
                read_elements(now.output.as(), type, firsts[i], 1, count_at(i), stream_->handle());
            for (std::size_t k = 0; k < got.size(); ++k) comparison.add(got[k], expected[i].at(k));
        }
        if (now.layout.output == 0) return {.ok = true};
        const double roundings = static_cast<double>(place_.ranks - 1);
        const bool integers = now.type == ElementType::int8;
        return comparison.verdict(
            adds(now.operation.kind) ? roundings * rounding_tolerance(type) : 0.0,
            integers ? 0
                     : count_poisoned(now.output.as(), type, now.layout.output, stream_->handle()));
    }

    /// Samples of one kernel each, which start together on all GPUs.
    std::vector<RankSample> together(const Prepared& now, std::int32_t count) {
        const std::uint32_t number = tracer_->number_of(stream_->handle());
        std::vector<KernelRecord> records = tracer_->trace([&] {
            const std::int32_t ticket = gate_->close(*stream_);
            for (std::int32_t i = 0; i < count; ++i) {
                line_->queue(*stream_, i);
                now.launch(stream_->handle());
            }
            gate_->open(ticket);
            stream_->synchronize();
        });
        if (gate_->timed_out()) throw DeviceError("the queue of samples took more than 2 s");
        std::erase_if(records, [&](const KernelRecord& one) { return one.stream != number; });
        const std::vector<double> left = line_->left(count);
        std::vector<RankSample> samples;
        const KernelRecord* started = nullptr;
        for (const KernelRecord& record : records) {
            if (StartLine::is_start(record.name)) {
                const std::size_t at = samples.size();
                if (at >= left.size()) throw DeviceError("activity records do not fit the samples");
                samples.push_back({.start = Time::from_base(left[at])});
                started = &record;
            } else if (started != nullptr) {
                RankSample& sample = samples.back();
                if (sample.duration == Time{}) sample.start += between(*started, record.start_ns);
                sample.duration = between(*started, record.end_ns) +
                                  Time::from_base(left[samples.size() - 1]) - sample.start;
            }
        }
        if (samples.size() != left.size()) {
            throw DeviceError("activity records do not fit the samples");
        }
        return samples;
    }

    static Time between(const KernelRecord& start_kernel, std::uint64_t then_ns) {
        return Time::from_base(
            (static_cast<double>(then_ns) - static_cast<double>(start_kernel.end_ns)) * 1e-9);
    }

    std::vector<RankSample> replayed(Prepared& now, std::int32_t repetitions) {
        if (now.graph == nullptr || now.graph_repetitions != repetitions) {
            now.graph = std::make_unique<Graph>(now.launch, repetitions);
            now.graph_repetitions = repetitions;
            now.graph->replay(*stream_);
            stream_->synchronize();
        }
        const std::int32_t ticket = gate_->close(*stream_);
        line_->queue(*stream_, 0);
        start_->record(*stream_);
        now.graph->replay(*stream_);
        stop_->record(*stream_);
        gate_->open(ticket);
        stream_->synchronize();
        if (gate_->timed_out()) throw DeviceError("the queue of samples took more than 2 s");
        return {{.start = Time::from_base(line_->left(1).front()),
                 .duration = Time::from_base(stop_->seconds_since(*start_))}};
    }

    std::vector<RankSample> called(const Prepared& now, std::int32_t repetitions) {
        line_->queue(*stream_, 0);
        stream_->synchronize();
        const auto begun = std::chrono::steady_clock::now();
        for (std::int32_t i = 0; i < repetitions; ++i) now.launch(stream_->handle());
        stream_->synchronize();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
        static_cast<void>(line_->left(1));
        return {{.start = Time{}, .duration = Time::from_base(taken.count())}};
    }

    RankPlace place_;
    DeviceInfo info_;
    const Nccl& library_;
    std::unique_ptr<ActivityTracer> tracer_;
    std::unique_ptr<Management> management_;
    std::unique_ptr<Stream> stream_;
    std::unique_ptr<Gate> gate_;
    std::unique_ptr<StartLine> line_;
    std::unique_ptr<Event> start_;
    std::unique_ptr<Event> stop_;
    ncclComm_t communicator_ = nullptr;
    std::unique_ptr<Prepared> prepared_;
};

}  // namespace
}  // namespace cuda

Maybe<std::unique_ptr<Rank>> open_rank(const RankPlace& place) {
    using namespace cuda;
    if (auto missing = missing_device(place.device)) return *std::move(missing);
    setenv("NCCL_DEBUG", "WARN", 1);
    if (const auto* missing = std::get_if<Unavailable>(&nccl())) return *missing;
    auto rank = std::make_unique<CudaRank>(place, describe_device(place.device));
    try {
        rank->open();
    } catch (const Refusal& refusal) {
        return Unavailable{.reason = refusal.what(), .remedy = refusal.remedy()};
    }
    return std::unique_ptr<Rank>(std::move(rank));
}

std::int32_t device_count() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return count;
}

}  // namespace ridge::measure
