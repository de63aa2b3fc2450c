// Launches on a real GPU match the model's geometry: grid, threads and shared bytes of every
// bundled kernel, as the driver reports them for the recorded graph.
#include <algorithm>
#include <array>
#include <string>

#include "tests/device/machine.h"
#include "tests/support/bundled_launches.h"

using namespace ridge;
using namespace ridge::measure;
using test::device_or_skip;
using test::prepared;

namespace {

// Rows for `expand`: every kernel, with whole and ragged tiles.
constexpr std::array everywhere{
    "matmul dtype=fp32 batch={1,3} m={64,257,2048} n={64,130,1024} k={32,100} "
    "impl={naive,coalesced,tiled,register_tiled}",
    "matmul dtype=bf16 batch={1,3} m={64,257,2048} n={64,136,1024} k=200 impl=mma",
    "attention dtype=bf16 batch=2 heads=8 kv_heads=2 seq={63,1000} head_dim={64,128} "
    "causal={0,1} impl=mma",
    "attention dtype=bf16 batch={1,3} heads=8 kv_heads={1,2,8} seq_q={1,2} seq_kv={100,5000} "
    "head_dim={64,128} impl=mma",
    "softmax dtype={fp32,bf16} rows={1,1001} cols={8,100,1000,1024,4096,32768,40000} "
    "impl={fused,manual}",
    "{layernorm,rmsnorm,sum} dtype={fp32,bf16} rows={1,1001} cols={8,100,1000,4096,40000} "
    "impl=fused",
    "elementwise expr=\"gelu(x + bias)\" dtype={fp32,bf16} elements={1,1000,1001,100003} "
    "impl={fused,unfused}",
    "transpose dtype={fp32,bf16} rows={1,64,1000} cols={64,129} impl={naive,tiled}",
    "copy dtype={fp32,bf16} elements={2,2055,1000000} impl=bundled",
    "gather dtype=bf16 rows={1,1001} cols={2,100,1024} table_rows=5000 impl=bundled",
    "access pattern=strided stride=3 elements={100,10000000} impl=bundled",
    "access pattern=bank_conflict ways=4 elements={100,10000000} impl=bundled",
    "access pattern=divergent paths=4 elements={100,1000000} impl=bundled",
    "access pattern=chase elements={64,98304,1048576} impl=bundled",
    "access pattern=reread elements={2048,100004,4194304} impl=bundled",
};

constexpr std::array hopper_only{
    "matmul dtype=bf16 batch={1,3} m={64,257,2048} n={64,136,1024} k=200 b_layout={row,column} "
    "impl=wgmma",
    "matmul dtype=bf16 m=2048 n=2048 k=200 tile={128x128,128x256} impl=wgmma",
    "attention dtype=bf16 batch=2 heads=8 kv_heads=2 seq={63,1000} head_dim={64,128} "
    "causal={0,1} impl=wgmma",
};

void check_row(Device& device, const char* row) {
    for (const std::string& text : expand(row)) {
        INFO(text);
        const Question question = parse_question(text);
        const auto unit = prepared(device, question);
        const auto expected = test::bundled_launches(question, device.info().sm_count);
        REQUIRE(expected);
        CHECK(test::sorted(test::recorded_launches(unit->geometry())) == test::sorted(*expected));
    }
}

}  // namespace

TEST_CASE("Every bundled kernel is launched with the model's geometry") {
    Device* device = device_or_skip();
    if (device == nullptr) return;
    for (const char* row : everywhere) check_row(*device, row);
    if (device->info().compute_capability != 90) return;
    for (const char* row : hopper_only) check_row(*device, row);
}
