#include "measure/ranks/messages.h"

#include "hardware/error.h"
#include "measure/record/choice_json.h"

namespace ridge::measure {
namespace {

constexpr std::string_view hexadecimal_digits = "0123456789abcdef";

const Json& member(const Json& message, const char* name) {
    const Json* const found = message.find(name);
    if (found == nullptr) throw DeviceError(std::string("a rank's message lacks ") + name);
    return *found;
}

bool flag_in(const Json& message, const char* name) {
    const bool* const flag = member(message, name).if_flag();
    if (flag == nullptr) throw DeviceError(std::string("a rank's message has no flag ") + name);
    return *flag;
}

template <class Q>
void put_if(Json& message, const char* name, const std::optional<Q>& value) {
    if (value) message[name] = value->base();
}

template <class Q>
std::optional<Q> quantity_in(const Json& message, const char* name) {
    if (message.find(name) == nullptr) return std::nullopt;
    return Q::from_base(number_in(message, name));
}

}  // namespace

std::string hexadecimal(std::string_view bytes) {
    std::string digits;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        digits += hexadecimal_digits[value / 16U];
        digits += hexadecimal_digits[value % 16U];
    }
    return digits;
}

std::string bytes_of_hexadecimal(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        const std::size_t high = hexadecimal_digits.find(digits[i]);
        const std::size_t low = hexadecimal_digits.find(digits[i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) {
            throw DeviceError("a rank's message has bytes that are not hexadecimal");
        }
        bytes += static_cast<char>(high * 16U + low);
    }
    return bytes;
}

std::string text_in(const Json& message, const char* name) {
    const std::string* const text = member(message, name).if_text();
    if (text == nullptr) throw DeviceError(std::string("a rank's message has no text ") + name);
    return *text;
}

double number_in(const Json& message, const char* name) {
    const std::optional<double> number = member(message, name).if_number();
    if (!number) throw DeviceError(std::string("a rank's message has no number ") + name);
    return *number;
}

std::int64_t whole_in(const Json& message, const char* name) {
    const std::optional<std::int64_t> whole = member(message, name).if_whole();
    if (!whole) throw DeviceError(std::string("a rank's message has no whole number ") + name);
    return *whole;
}

Json message_of(const DeviceInfo& info) {
    Json features = Json::array();
    for (const Feature& feature : info.features) {
        Json item{{"name", feature.name}, {"detail", feature.detail}};
        if (feature.missing) {
            item["unavailable"] = feature.missing->reason;
            item["remedy"] = feature.missing->remedy;
        }
        features.push_back(std::move(item));
    }
    Json message{{"name", info.name},
                 {"ordinal", info.ordinal},
                 {"compute_capability", info.compute_capability},
                 {"sm_count", info.sm_count},
                 {"memory", info.memory.base()},
                 {"l2", info.l2.base()},
                 {"pci_bus", info.pci_bus},
                 {"mig", info.mig},
                 {"driver", info.driver},
                 {"cuda_driver", info.cuda_driver},
                 {"cuda_runtime", info.cuda_runtime},
                 {"cupti", info.cupti},
                 {"serial", info.serial},
                 {"host", info.host},
                 {"features", std::move(features)}};
    put_if(message, "max_sm_clock", info.max_sm_clock);
    return message;
}

DeviceInfo info_in(const Json& message) {
    DeviceInfo info{
        .name = text_in(message, "name"),
        .ordinal = static_cast<std::int32_t>(whole_in(message, "ordinal")),
        .compute_capability = static_cast<std::int32_t>(whole_in(message, "compute_capability")),
        .sm_count = whole_in(message, "sm_count"),
        .memory = Bytes::from_base(number_in(message, "memory")),
        .l2 = Bytes::from_base(number_in(message, "l2")),
        .max_sm_clock = quantity_in<Frequency>(message, "max_sm_clock"),
        .mig = flag_in(message, "mig"),
        .pci_bus = text_in(message, "pci_bus"),
        .serial = text_in(message, "serial"),
        .host = text_in(message, "host"),
        .driver = text_in(message, "driver"),
        .cuda_driver = text_in(message, "cuda_driver"),
        .cuda_runtime = text_in(message, "cuda_runtime"),
        .cupti = text_in(message, "cupti")};
    for (const Json& item : member(message, "features").items()) {
        Feature feature{.name = text_in(item, "name"), .detail = text_in(item, "detail")};
        if (item.find("unavailable") != nullptr) {
            feature.missing = Unavailable{.reason = text_in(item, "unavailable"),
                                          .remedy = text_in(item, "remedy")};
        }
        info.features.push_back(std::move(feature));
    }
    return info;
}

Json message_of(const Environment& environment) {
    Json message = Json::object();
    put_if(message, "sm_clock", environment.sm_clock);
    put_if(message, "memory_clock", environment.memory_clock);
    put_if(message, "power", environment.power);
    put_if(message, "power_limit", environment.power_limit);
    put_if(message, "energy", environment.energy);
    if (environment.temperature_celsius) message["celsius"] = *environment.temperature_celsius;
    if (environment.other_processes) message["others"] = *environment.other_processes;
    message["reasons"] = environment.clock_reasons;
    return message;
}

Environment environment_in(const Json& message) {
    Environment environment{.sm_clock = quantity_in<Frequency>(message, "sm_clock"),
                            .memory_clock = quantity_in<Frequency>(message, "memory_clock"),
                            .power = quantity_in<Power>(message, "power"),
                            .power_limit = quantity_in<Power>(message, "power_limit"),
                            .energy = quantity_in<Energy>(message, "energy")};
    if (message.find("celsius") != nullptr) {
        environment.temperature_celsius = number_in(message, "celsius");
    }
    if (message.find("others") != nullptr) {
        environment.other_processes = whole_in(message, "others");
    }
    for (const Json& reason : member(message, "reasons").items()) {
        if (const std::string* const word = reason.if_text()) {
            environment.clock_reasons.push_back(*word);
        }
    }
    return environment;
}

Json message_of(const Geometry& geometry) {
    Json kernels = Json::array();
    for (const KernelLaunch& kernel : geometry.kernels) {
        kernels.push_back({{"name", kernel.name},
                           {"grid_x", kernel.grid_x},
                           {"block_threads", kernel.block_threads},
                           {"registers", kernel.registers_per_thread},
                           {"shared_bytes", kernel.shared_bytes},
                           {"repeat", kernel.repeat}});
    }
    Json message{{"kernels", std::move(kernels)}};
    put_if(message, "device_memory", geometry.device_memory);
    return message;
}

Geometry geometry_in(const Json& message) {
    Geometry geometry{.device_memory = quantity_in<Bytes>(message, "device_memory")};
    for (const Json& kernel : member(message, "kernels").items()) {
        geometry.kernels.push_back({.name = text_in(kernel, "name"),
                                    .grid_x = whole_in(kernel, "grid_x"),
                                    .block_threads = whole_in(kernel, "block_threads"),
                                    .registers_per_thread = whole_in(kernel, "registers"),
                                    .shared_bytes = whole_in(kernel, "shared_bytes"),
                                    .repeat = whole_in(kernel, "repeat")});
    }
    return geometry;
}

Json message_of(const RankVerdict& verdict) {
    const Verification& seen = verdict.verification;
    Json message{{"ok", seen.ok},
                 {"max_error", seen.max_error},
                 {"frobenius_error", seen.frobenius_error},
                 {"tolerance", seen.tolerance},
                 {"checked", seen.checked}};
    if (verdict.choice) message["choice"] = json_of(*verdict.choice);
    return message;
}

RankVerdict verdict_in(const Json& message) {
    // An error that is not finite travels as null.
    const auto error = [&](const char* name) {
        constexpr double infinite = 1e300;
        return member(message, name).if_number().value_or(infinite);
    };
    RankVerdict verdict{.verification = {.max_error = error("max_error"),
                                         .frobenius_error = error("frobenius_error"),
                                         .tolerance = number_in(message, "tolerance"),
                                         .checked = whole_in(message, "checked"),
                                         .ok = flag_in(message, "ok")}};
    if (const Json* const choice = message.find("choice")) verdict.choice = choice_in(*choice);
    return verdict;
}

Json message_of(const std::vector<RankSample>& samples) {
    Json list = Json::array();
    for (const RankSample& sample : samples) {
        Json item{{"start", sample.start.base()},
                  {"duration", sample.duration.base()},
                  {"throttled", sample.throttled}};
        put_if(item, "clock", sample.clock);
        list.push_back(std::move(item));
    }
    return Json{{"samples", std::move(list)}};
}

std::vector<RankSample> samples_in(const Json& message) {
    std::vector<RankSample> samples;
    for (const Json& item : member(message, "samples").items()) {
        samples.push_back({.start = Time::from_base(number_in(item, "start")),
                           .duration = Time::from_base(number_in(item, "duration")),
                           .clock = quantity_in<Frequency>(item, "clock"),
                           .throttled = flag_in(item, "throttled")});
    }
    return samples;
}

}  // namespace ridge::measure
