// Collectives as PyTorch records them, read as operations of the model.
#include <cstdint>
#include <variant>

#include "programs/aten/collective.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::programs;

TEST_CASE("collectives are read from what PyTorch records of them", "[aten]") {
    struct Case {
        const char* text;
        model::CollectiveKind kind;
        std::int64_t bytes;
        std::int64_t gpus;
    };
    using enum model::CollectiveKind;
    for (const Case& each :
         {Case{"allreduce|1024|1024|BFloat16|8", all_reduce, 2048, 8},
          Case{"_allgather_base|128|1024|Float|8", all_gather, 4096, 8},
          Case{"reduce_scatter_tensor_coalesced|1024|128|Half|8", reduce_scatter, 2048, 8},
          Case{"all_to_allv|64|64|Long|4", all_to_all, 512, 4},
          Case{"send|10|10|Byte|4", send, 10, 2}}) {
        INFO(each.text);
        const auto found = collective_work(each.text);
        REQUIRE(found);
        const auto& op = std::get<model::Collective>(found->steps.at(0).operation);
        CHECK(op.kind == each.kind);
        CHECK(op.bytes == each.bytes);
        CHECK(op.gpus == each.gpus);
        CHECK(found->family == OperatorFamily::communication);
    }
    CHECK(collective_text("allreduce|1024|1024|BFloat16|8") == "2.05 kB of bf16 over 8 GPUs");
    for (const char* text : {"", "barrier|1|1|Int|8", "allreduce|0|0|Float|8", "allreduce|8|8|Q|8",
                             "allreduce|8|8|Float|1", "allreduce|8", "allreduce|x|8|Float|8",
                             "allreduce|9223372036854775807|1|Float|8"}) {
        INFO(text);
        CHECK_FALSE(collective_work(text));
    }
}
