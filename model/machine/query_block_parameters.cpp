#include "model/machine/query_block_parameters.h"

#include <array>

namespace ridge::model {
namespace {

using Q = QueryBlocks;

template <auto member>
constexpr Parameter<Q> of_queries(std::string_view name, hardware::Range range,
                                  std::string_view meaning) {
    return parameter_of<Q, member>(name, range, meaning, everywhere(Origin::tables));
}

// clang-format off
constexpr std::array query_table{
    of_queries<&Q::start>("start", ranges::span_of_time, "fixed time of the kernel"),
    of_queries<&Q::block>("block", ranges::clocks, "start and end of a block of queries"),
    of_queries<&Q::key>("key", ranges::clocks, "one key of a block, one after the other"),
    of_queries<&Q::queries>("queries", ranges::factor, "queries that a multiprocessor works on at once"),
    of_queries<&Q::spread>("spread", ranges::clocks, "work on one query when all multiprocessors are busy"),
    of_queries<&Q::spread_key>("spread_key", ranges::clocks, "work on one key of a query then"),
};

constexpr std::array<LawAttribute, 1> query_attributes{{
    {"padded", 0, "1: every query treats `topk` keys, however few it sees"},
}};
// clang-format on

}  // namespace

std::span<const Parameter<QueryBlocks>> query_blocks_table() {
    return query_table;
}
std::span<const LawAttribute> query_blocks_attributes() {
    return query_attributes;
}

}  // namespace ridge::model
