#include "model/machine/peer_reduce_parameters.h"

#include <array>

namespace ridge::model {
namespace {

using R = PeerReduce;

template <auto member>
constexpr Parameter<R> of_reduce(std::string_view name, hardware::Range range,
                                 std::string_view meaning) {
    return parameter_of<R, member>(name, range, meaning, everywhere(Origin::tables));
}

// clang-format off
constexpr std::array reduce_table{
    of_reduce<&R::one_start>("one_start", ranges::span_of_time, "one-shot: launch and the barriers before and after"),
    of_reduce<&R::peer>("peer", ranges::span_of_time, "each further GPU in a barrier"),
    of_reduce<&R::one_rate>("one_rate", ranges::share_of_peak, "one-shot: rate of reading the peers' messages over the link rate"),
    of_reduce<&R::two_start>("two_start", ranges::span_of_time, "two-shot: the same as one_start"),
    of_reduce<&R::two_rate>("two_rate", ranges::share_of_peak, "two-shot: rate over the link rate"),
    of_reduce<&R::library_start>("library_start", ranges::span_of_time, "the library's: fixed time"),
    of_reduce<&R::library_peer>("library_peer", ranges::span_of_time, "the library's: each further GPU"),
    of_reduce<&R::library_rate>("library_rate", ranges::share_of_peak, "the library's: rate over the link rate, with two GPUs"),
    of_reduce<&R::four>("four", ranges::factor, "that rate with four GPUs, over that with two"),
    of_reduce<&R::eight>("eight", ranges::factor, "that rate with eight GPUs, over that with two"),
    of_reduce<&R::host>("host", ranges::span_of_time, "eager call of the engine's own kernel: the least time between two"),
    of_reduce<&R::library_host>("library_host", ranges::span_of_time, "eager call of the library's kernel: the same"),
};

constexpr std::array<LawAttribute, 1> reduce_attributes{{
    {"own", 1, "1: the engine has kernels of its own for these GPUs"},
}};
// clang-format on

}  // namespace

std::span<const Parameter<PeerReduce>> peer_reduce_table() {
    return reduce_table;
}
std::span<const LawAttribute> peer_reduce_attributes() {
    return reduce_attributes;
}

}  // namespace ridge::model
