#include "model/core/prediction.h"

#include <array>

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
    kernels += other.kernels;
    return *this;
}

void add_term(Prediction& prediction, Resource resource, Time time, double amount) {
    if (time <= Time{}) return;
    const double rate = amount > 0.0 ? amount / time.base() : 0.0;
    prediction.terms.push_back(
        {.resource = resource, .time = time, .amount = amount, .rate = rate});
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
