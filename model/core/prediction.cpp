#include "model/core/prediction.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ridge::model {

Work& Work::operator+=(const Work& other) {
    tensor += other.tensor;
    fma += other.fma;
    vector += other.vector;
    special += other.special;
    compulsory_read += other.compulsory_read;
    compulsory_write += other.compulsory_write;
    dram_read += other.dram_read;
    dram_write += other.dram_write;
    l2 += other.l2;
    shared += other.shared;
    kernels = static_cast<std::int32_t>(std::min<std::int64_t>(
        std::numeric_limits<std::int32_t>::max(), std::int64_t{kernels} + other.kernels));
    return *this;
}

Work repeated(Work work, std::int64_t count) {
    const auto times = static_cast<double>(count);
    for (Flop* const flop : {&work.tensor, &work.fma, &work.vector}) *flop *= times;
    for (Bytes* const bytes : {&work.compulsory_read, &work.compulsory_write, &work.dram_read,
                               &work.dram_write, &work.l2, &work.shared}) {
        *bytes *= times;
    }
    work.special *= times;
    work.kernels = static_cast<std::int32_t>(
        std::min<double>(std::numeric_limits<std::int32_t>::max(), times * work.kernels));
    return work;
}

void add_term(Prediction& prediction, Resource resource, Time time, double amount) {
    if (time <= Time{}) return;
    prediction.terms.push_back({.resource = resource, .time = time, .amount = amount});
}

std::string_view name_of(Resource resource) {
    constexpr std::array<std::string_view, 14> names{
        "tensor",  "fma",    "special", "dram",     "l2",    "shared",     "link",
        "latency", "launch", "store",   "quantise", "issue", "load_store", "parallelism"};
    return names[static_cast<std::size_t>(resource)];
}

std::string_view name_of(Bound bound) {
    constexpr std::array<std::string_view, 2> names{"memory", "compute"};
    return names[static_cast<std::size_t>(bound)];
}

std::string_view name_of(Confidence confidence) {
    constexpr std::array<std::string_view, 3> names{"roofline", "family", "calibrated"};
    return names[static_cast<std::size_t>(confidence)];
}

}  // namespace ridge::model
