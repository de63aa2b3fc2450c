#include "measure/cuda/inject/stall_sampler.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "hardware/error.h"
#include "measure/cuda/counters/range_profiler.h"
#include "measure/cuda/inject/kernel_name.h"

namespace ridge::measure::cuda {
namespace {

constexpr std::size_t instructions_at_once = 8192;
// 2^14 cycles, nine microseconds: a launch of 100 us on 132 multiprocessors gives 1500 samples.
constexpr std::uint32_t interval_bits = 14;
constexpr std::size_t most_module_bytes = std::size_t{1} << 29U;
constexpr std::string_view reason_start = "smsp__pcsamp_warps_issue_stalled_";
constexpr std::string_view not_issued = "_not_issued";

bool has_lines(std::span<const char> cubin) {
    constexpr std::string_view section = ".debug_line";
    return std::search(cubin.begin(), cubin.end(), section.begin(), section.end()) != cubin.end();
}

struct SourceLine {
    std::string file{};
    std::uint32_t line = 0;
};

SourceLine line_of(const Cupti& cupti, std::span<const char> cubin, const std::string& function,
                   std::uint64_t address) {
    CUpti_GetSassToSourceCorrelationParams parameters{};
    parameters.size = CUpti_GetSassToSourceCorrelationParamsSize;
    parameters.cubin = cubin.data();
    parameters.cubinSize = cubin.size();
    parameters.functionName = function.c_str();
    parameters.pcOffset = address;
    if (cupti.source_line(&parameters) != CUPTI_SUCCESS) return {};
    SourceLine found{.file = {}, .line = parameters.lineNumber};
    if (parameters.dirName != nullptr && *parameters.dirName != '\0') {
        found.file = std::string(parameters.dirName) + '/';
    }
    if (parameters.fileName != nullptr) found.file += parameters.fileName;
    std::free(parameters.fileName);
    std::free(parameters.dirName);
    return found;
}

std::uint64_t checksum_of(const Cupti& cupti, std::span<const char> cubin) {
    CUpti_GetCubinCrcParams parameters{};
    parameters.size = CUpti_GetCubinCrcParamsSize;
    parameters.cubin = cubin.data();
    parameters.cubinSize = cubin.size();
    return cupti.cubin_checksum(&parameters) == CUPTI_SUCCESS ? parameters.cubinCrc : 0;
}

CUpti_PCSamplingConfigurationInfo attribute(CUpti_PCSamplingConfigurationAttributeType type) {
    CUpti_PCSamplingConfigurationInfo info{};
    info.attributeType = type;
    return info;
}

}  // namespace

StallSampler::Buffer::Buffer(std::size_t count)
    : reasons(count * instructions_at_once), places(instructions_at_once) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        places[i].size = sizeof(CUpti_PCSamplingPCData);
        places[i].stallReason = reasons.data() + i * count;
    }
    data.size = sizeof(CUpti_PCSamplingData);
    data.collectNumPcs = places.size();
    data.pPcData = places.data();
}

StallSampler::StallSampler(Session& session, CUpti_SubscriberHandle subscriber)
    : session_(&session) {
    for (const CUpti_CallbackId each :
         {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}) {
        session.cupti().enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, each);
    }
}

void StallSampler::give_up(const std::string& why) {
    ended_ = true;
    session_->note("no stall reasons by line: " + why);
}

std::vector<std::string> StallSampler::reasons_of(CUcontext context) const {
    const Cupti& cupti = session_->cupti();
    std::size_t count = 0;
    CUpti_PCSamplingGetNumStallReasonsParams number{};
    number.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
    number.ctx = context;
    number.numStallReasons = &count;
    const CUptiResult counted = cupti.stall_reason_count(&number);
    if (const auto refusal = refusal_of(counted)) throw Busy{*refusal};
    cupti.require(counted, "cuptiPCSamplingGetNumStallReasons");
    std::vector<std::uint32_t> places(count);
    std::vector<std::array<char, CUPTI_STALL_REASON_STRING_SIZE>> texts(count);
    std::vector<char*> pointers(count);
    for (std::size_t i = 0; i < count; ++i) pointers[i] = texts[i].data();
    CUpti_PCSamplingGetStallReasonsParams named{};
    named.size = CUpti_PCSamplingGetStallReasonsParamsSize;
    named.ctx = context;
    named.numStallReasons = count;
    named.stallReasonIndex = places.data();
    named.stallReasons = pointers.data();
    cupti.require(cupti.stall_reasons(&named), "cuptiPCSamplingGetStallReasons");
    std::vector<std::string> reasons(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::string_view name = texts[i].data();
        if (name.ends_with(not_issued)) continue;
        if (name.starts_with(reason_start)) name.remove_prefix(reason_start.size());
        if (reasons.size() <= places[i]) reasons.resize(places[i] + std::size_t{1});
        reasons[places[i]] = name;
    }
    return reasons;
}

void StallSampler::start(CUcontext context) {
    const Cupti& cupti = session_->cupti();
    // Reasons and configuration exist only once sampling is enabled; it begins when configured.
    CUpti_PCSamplingEnableParams enable{};
    enable.size = CUpti_PCSamplingEnableParamsSize;
    enable.ctx = context;
    const CUptiResult enabled = cupti.stall_enable(&enable);
    if (const auto refusal = refusal_of(enabled)) throw Busy{*refusal};
    cupti.require(enabled, "cuptiPCSamplingEnable");
    Sampled sampled;
    sampled.reasons = reasons_of(context);
    sampled.last = std::make_unique<Buffer>(sampled.reasons.size());
    std::array attributes{
        attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE),
        attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD),
        attribute(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)};
    attributes[0].attributeData.collectionModeData.collectionMode =
        CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
    attributes[1].attributeData.samplingPeriodData.samplingPeriod = interval_bits;
    attributes[2].attributeData.samplingDataBufferData.samplingDataBuffer = &sampled.last->data;
    CUpti_PCSamplingConfigurationInfoParams config{};
    config.size = CUpti_PCSamplingConfigurationInfoParamsSize;
    config.ctx = context;
    config.numAttributes = attributes.size();
    config.pPCSamplingConfigurationInfo = attributes.data();
    cupti.require(cupti.stall_config(&config), "cuptiPCSamplingSetConfigurationAttribute");
    contexts_.emplace(context, std::move(sampled));
}

void StallSampler::context_created(CUcontext context) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    try {
        start(context);
    } catch (const Busy& busy) {
        give_up(busy.reason.reason + "; " + busy.reason.remedy);
    } catch (const std::exception& error) {
        give_up(error.what());
    }
}

void StallSampler::take(const Buffer& buffer, const Sampled& sampled) {
    total_ += static_cast<double>(buffer.data.totalSamples);
    dropped_ += static_cast<double>(buffer.data.droppedSamples);
    for (std::size_t i = 0; i < std::min(buffer.data.totalNumPcs, buffer.places.size()); ++i) {
        const CUpti_PCSamplingPCData& place = buffer.places[i];
        if (place.functionName == nullptr) continue;
        Samples& samples = places_[{
            .module = place.cubinCrc, .function = place.functionName, .address = place.pcOffset}];
        for (std::size_t r = 0; r < place.stallReasonCount; ++r) {
            const CUpti_PCSamplingStallReason& reason = place.stallReason[r];
            const std::size_t number = reason.pcSamplingStallReasonIndex;
            if (number >= sampled.reasons.size() || sampled.reasons[number].empty()) continue;
            samples[sampled.reasons[number]] += reason.samples;
        }
    }
}

void StallSampler::fetch(CUcontext context, const Sampled& sampled) {
    constexpr int most_rounds = 1000;
    for (int round = 0; round < most_rounds; ++round) {
        Buffer buffer(sampled.reasons.size());
        CUpti_PCSamplingGetDataParams parameters{};
        parameters.size = CUpti_PCSamplingGetDataParamsSize;
        parameters.ctx = context;
        parameters.pcSamplingData = &buffer.data;
        const CUptiResult result = session_->cupti().stall_data(&parameters);
        if (buffer.data.hardwareBufferFull != 0 || result == CUPTI_ERROR_OUT_OF_MEMORY) {
            session_->note("stall reasons by line: some samples came faster than they were read");
        }
        if (result != CUPTI_SUCCESS) return;
        take(buffer, sampled);
        if (buffer.data.remainingNumPcs == 0) return;
    }
}

void StallSampler::collect() {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    for (const auto& [context, sampled] : contexts_) fetch(context, sampled);
}

void StallSampler::stop(CUcontext context, Sampled& sampled) {
    fetch(context, sampled);
    CUpti_PCSamplingDisableParams disable{};
    disable.size = CUpti_PCSamplingDisableParamsSize;
    disable.ctx = context;
    if (session_->cupti().stall_disable(&disable) == CUPTI_SUCCESS) take(*sampled.last, sampled);
}

void StallSampler::context_ends(CUcontext context) {
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(context);
    if (ended_ || found == contexts_.end()) return;
    stop(context, found->second);
    contexts_.erase(found);
}

void StallSampler::module_loaded(std::span<const char> cubin) {
    const std::lock_guard lock(mutex_);
    if (ended_ || module_bytes_ + cubin.size() > most_module_bytes || !has_lines(cubin)) return;
    modules_.emplace_back(cubin.begin(), cubin.end());
    module_bytes_ += cubin.size();
}

void StallSampler::write() {
    const Cupti& cupti = session_->cupti();
    std::map<std::uint64_t, const std::vector<char>*> by_checksum;
    for (const std::vector<char>& module : modules_) {
        by_checksum.emplace(checksum_of(cupti, module), &module);
    }
    for (const auto& [place, samples] : places_) {
        std::string names;
        std::vector<double> values;
        for (const auto& [reason, count] : samples) {
            if (count <= 0.0) continue;
            names += (names.empty() ? "" : " ") + reason;
            values.push_back(count);
        }
        if (values.empty()) continue;
        const auto module = by_checksum.find(place.module);
        const SourceLine line =
            module == by_checksum.end()
                ? SourceLine{}
                : line_of(cupti, *module->second, place.function, place.address);
        programs::ActivityWriter& writer = session_->writer();
        writer.write(
            programs::StallActivity{.address = place.address,
                                    .kernel = kernel_name(writer, place.function.c_str()),
                                    .file = writer.text(line.file),
                                    .line = line.line,
                                    .names = writer.text(names),
                                    .values = {reinterpret_cast<const char*>(values.data()),
                                               values.size() * sizeof(double)}});
    }
    constexpr double some = 0.05;
    if (dropped_ > some * total_) {
        session_->note("stall reasons by line: the GPU dropped " +
                       std::to_string(static_cast<std::int64_t>(dropped_)) + " of " +
                       std::to_string(static_cast<std::int64_t>(total_)) + " samples");
    }
    if (places_.empty() && !ended_) {
        session_->note("no stall reasons by line: no sample fell into a kernel");
    }
    places_.clear();
}

void StallSampler::finish() {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    for (auto& [context, sampled] : contexts_) stop(context, sampled);
    contexts_.clear();
    write();
    ended_ = true;
}

void StallSampler::write_now() {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    for (const auto& [context, sampled] : contexts_) fetch(context, sampled);
    write();
    ended_ = true;
}

}  // namespace ridge::measure::cuda
