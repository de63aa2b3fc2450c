// What the rules make of odd calls of PyTorch's operators: recorded calls with sizes at 0, 1, the corners of kernels and
// beyond all limits, tensors that are scalars, missing, of another type or transposed, and other values of their options.
// As sums over eighty calls (operator_sums.h), against data/odd_calls.txt (table.h).
//
// A question is "aten::mm SEED"; "convolution SEED" draws whole calls of convolutions, with what the names of kernels say
// of them, "invented SEED" changes calls of operators that no recording has.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "programs/aten/call.h"
#include "programs/aten/counts.h"
#include "programs/aten/kernel_parts.h"
#include "programs/aten/templates.h"
#include "tests/frozen/operator_sums.h"
#include "tests/frozen/table.h"
#include "tests/model/random_operation.h"

namespace ridge::programs {
namespace {

constexpr int odd_calls_of_a_line = 80;
constexpr std::array<std::int64_t, 28> odd_sizes{0,
                                                 1,
                                                 1,
                                                 2,
                                                 3,
                                                 4,
                                                 5,
                                                 7,
                                                 8,
                                                 9,
                                                 15,
                                                 16,
                                                 31,
                                                 32,
                                                 33,
                                                 64,
                                                 127,
                                                 128,
                                                 256,
                                                 512,
                                                 1023,
                                                 1024,
                                                 1025,
                                                 4096,
                                                 1 << 20,
                                                 1 << 30,
                                                 std::int64_t{1} << 31,
                                                 std::int64_t{1} << 40};

/// A size of a tensor replaced everywhere in the call, so that the tensors still fit together.
void change_size(Call& call, test::Random& random) {
    std::vector<std::int64_t> sizes;
    for (const Tensor* const each : call.tensors())
        sizes.insert(sizes.end(), each->dims.begin(), each->dims.end());
    if (sizes.empty()) return;
    const std::int64_t old = random.pick(sizes);
    const std::int64_t size = random.pick(odd_sizes);
    for (Argument& argument : call.arguments) {
        for (Tensor& tensor : argument.tensors) {
            if (std::find(tensor.dims.begin(), tensor.dims.end(), old) == tensor.dims.end())
                continue;
            std::replace(tensor.dims.begin(), tensor.dims.end(), old, size);
            tensor.strides.clear();
        }
    }
}

void change_tensor(Tensor& tensor, test::Random& random) {
    constexpr std::array types{ElementType::fp32,   ElementType::fp16,  ElementType::bf16,
                               ElementType::fp64,   ElementType::int64, ElementType::boolean,
                               ElementType::int8,   ElementType::fp8,   ElementType::complex64,
                               ElementType::unknown};
    const std::size_t rank = tensor.dims.size();
    switch (random.whole(0, 6)) {
        case 0:
            tensor.type = random.pick(types);
            break;
        case 1:
            tensor.dims.clear();
            tensor.strides.clear();
            break;
        case 2:
            tensor.dims.insert(tensor.dims.begin(), random.whole(1, 3));
            tensor.strides.clear();
            break;
        case 3:
            if (rank == 0) break;
            tensor.dims.erase(tensor.dims.begin());
            tensor.strides.clear();
            break;
        case 4:
            if (rank < 2 || tensor.strides.size() != rank) break;
            std::swap(tensor.strides[rank - 1], tensor.strides[rank - 2]);
            break;
        case 5:
            if (tensor.strides.empty()) break;
            tensor.strides[static_cast<std::size_t>(random.whole(
                0, static_cast<std::int64_t>(tensor.strides.size()) - 1))] = random.whole(0, 3);
            break;
        default:
            if (rank == 0) break;
            tensor.dims[static_cast<std::size_t>(
                random.whole(0, static_cast<std::int64_t>(rank) - 1))] = random.pick(odd_sizes);
            tensor.strides.clear();
    }
}

/// Another number, flag or list of numbers in the place of one.
std::string other_value(const std::string& value, test::Random& random) {
    constexpr std::array<std::int64_t, 10> numbers{-3, -2, -1, 0, 1, 2, 3, 4, 5, 64};
    if (value == "True" || value == "False") return value == "True" ? "False" : "True";
    if (value.empty() || value.front() != '[') return std::to_string(random.pick(numbers));
    std::string list = "[";
    const std::int64_t length = random.whole(0, 3);
    for (std::int64_t i = 0; i < length; ++i)
        list += (i > 0 ? ", " : "") + std::to_string(random.pick(numbers));
    return list + "]";
}

void change_argument(Call& call, test::Random& random) {
    if (call.arguments.empty()) return;
    const auto last = static_cast<std::int64_t>(call.arguments.size()) - 1;
    Argument& argument = call.arguments[static_cast<std::size_t>(random.whole(0, last))];
    if (random.whole(0, 11) == 0) {
        call.arguments.pop_back();
    } else if (argument.tensors.empty()) {
        argument.value = other_value(argument.value, random);
    } else if (random.whole(0, 9) == 0) {
        argument.tensors.pop_back();
    } else {
        change_tensor(argument.tensors[static_cast<std::size_t>(
                          random.whole(0, static_cast<std::int64_t>(argument.tensors.size()) - 1))],
                      random);
    }
}

const std::map<std::string, std::vector<std::string>>& inputs_by_operator() {
    static const std::map<std::string, std::vector<std::string>> all = [] {
        std::map<std::string, std::vector<std::string>> found;
        for (const std::string& each : test::recorded_calls()) {
            const std::size_t blank = each.find(' ');
            found[each.substr(0, blank)].push_back(each.substr(blank + 1));
        }
        return found;
    }();
    return all;
}

/// Operators that no recorded call shows, as "TYPE SIZES" for a tensor, "=VALUE" for a value and "none".
struct InventedCall {
    const char* name;
    const char* arguments;
};
constexpr std::array invented_calls{
    InventedCall{"_flash_attention_backward",
                 "half 2,128,8,64;half 2,128,8,64;half 2,128,8,64;half 2,128,8,64;half 2,128,8,64;"
                 "float 2,8,128;none;none;=128;=128;=0;=True;none;none"},
    InventedCall{"_scaled_dot_product_flash_attention",
                 "bfloat16 2,8,300,64;bfloat16 2,8,300,64;bfloat16 2,8,300,64;=0;=True;=False"},
    InventedCall{"_scaled_dot_product_flash_attention_backward",
                 "bfloat16 2,8,300,64;bfloat16 2,8,300,64;bfloat16 2,8,300,64;bfloat16 2,8,300,64;"
                 "bfloat16 2,8,300,64;float 2,8,300;none;none;=300;=300;=0;=True;none;none"},
    InventedCall{"_scaled_dot_product_efficient_attention",
                 "float 2,8,300,64;float 2,8,200,64;float 2,8,200,64;none;=True;=0;=False"},
    InventedCall{"_scaled_dot_product_efficient_attention_backward",
                 "half 2,8,300,64;half 2,8,300,64;half 2,8,300,64;half 2,8,300,64;none;"
                 "half 2,8,300,64;float 2,8,320;none;none;=0;=[True, True, True, False];=True"},
    InventedCall{"_scaled_dot_product_cudnn_attention",
                 "half 2,32,300,128;half 2,8,300,128;half 2,8,300,128;half 2,1,300,300;=True;=0;"
                 "=False;=False"},
    InventedCall{"_scaled_dot_product_cudnn_attention_backward",
                 "half 2,8,300,64;half 2,8,300,64;half 2,8,300,64;half 2,8,300,64;half 2,8,300,64;"
                 "float 2,8,300,1;none;none;none;none;none;=300;=300;=0;=True"},
    InventedCall{"c10d::allreduce_", "bfloat16 4096,1024;=[]"},
    InventedCall{"c10d::_allgather_base_", "float 8,1000;float 1000;=[]"},
    InventedCall{"_cummax_helper", "float 64,300;float 64,300;int64 64,300;=1"},
    InventedCall{"cummax", "float 64,300;=-1"},
    InventedCall{"logsumexp", "half 40,7,90;=[1];=False"},
    InventedCall{"std_mean", "float 40,7,90;=[0, 2];=1;=True"},
    InventedCall{"norm", "float 40,7,90;=2;=[1];=False"},
    InventedCall{"_safe_softmax", "half 2,8,100,100;=-1;none"},
    InventedCall{"count_nonzero", "float 40,90;=[0]"},
    InventedCall{"_batch_norm_with_update",
                 "half 16,24,30,30;float 24;float 24;float 24;float 24;=0.1;=1e-05"},
    InventedCall{"native_batch_norm", "float 400,24;float 24;float 24;float 24;float 24;=True"},
    InventedCall{"_embedding_bag_forward_only", "float 1000,64;int64 300;int64 40;=False;=0"},
    InventedCall{"arange", "=0;=100000;=1;none;none;none;none"},
    InventedCall{"arange", "=70000;=4;none;none;none"},
    InventedCall{"concat_and_cache_mla", "half 100,512;half 100,64;half 2000,16,576;int64 100"},
    InventedCall{"reshape_and_cache_flash",
                 "half 100,8,128;half 100,8,128;half 900,16,8,128;half 900,16,8,128;int64 100"},
    InventedCall{"embedding", "bfloat16 32000,400;int64 4,300;=-1;=False;=False"},
    InventedCall{"index_put", "float 300,40;int64 90;float 90,40;=True"},
    InventedCall{"ones_like", "float 300,40;=6"},
    InventedCall{"zeros_like", "half 301,41;=5"},
    InventedCall{"zero_", "half 301,41"},
    InventedCall{"stack", "half 301,41;half 301,41;half 301,41;=1"},
    InventedCall{"select_backward", "float 30,40;=[30, 5, 40];=1;=2"},
    InventedCall{"slice_backward", "float 30,2,40;=[30, 5, 40];=1;=0;=2;=1"},
    InventedCall{"take_along_dim", "float 30,400;int64 30,7;=1"},
    InventedCall{"_int_mm", "int8 96,256;int8 256,512"},
    InventedCall{"_scaled_mm", "fp8 96,256;fp8 256,512;float 1;float 1;none;none;=15;=True"},
    InventedCall{"linear", "half 4,33,256;half 512,256;half 512"},
    InventedCall{"mv", "float 300,90;float 90"},
    InventedCall{"vdot", "float 100000;float 100000"},
    InventedCall{"_cudnn_rnn_backward",
                 "half 39,11,10;half 96,10;=4;half 3456;half 1,11,24;none;half 39,11,24;"
                 "half 39,11,24;none;none;=2;=24;=0;=1;=False;=0;=True;=False"},
    InventedCall{"_cudnn_rnn_backward",
                 "float 50,16,300;float 900,300;=4;float 540000;float 2,16,300;none;"
                 "float 50,16,300;float 50,16,300;none;none;=3;=300;=0;=2;=True;=0;=True;=True"},
    InventedCall{"_cudnn_rnn",
                 "float 400,300;float 1200,300;=4;float 720000;float 2,16,300;none;=2;=300;=0;=2;"
                 "=False;=0;=True;=False;=[16, 16]"},
    InventedCall{"repeat", "float 30,40;=[3, 2, 1]"},
    InventedCall{"constant_pad_nd", "float 30,40;=[1, 2];=0"},
    InventedCall{"_foreach_norm", "float 300;float 70000;float 9;=2"},
    InventedCall{"_foreach_copy_", "float 300;half 70000;float 9"},
    InventedCall{"_fused_sgd_", "float 300;float 70000;float 9"},
    InventedCall{"expand", "float 30,1,40;=[30, 7, 40];=False"}};

Call invented_call(const InventedCall& invented) {
    const std::string name = invented.name;
    Call call;
    call.name = name.find(':') == std::string::npos ? "aten::" + name : name;
    std::istringstream arguments(invented.arguments);
    for (std::string text; std::getline(arguments, text, ';');) {
        Argument argument;
        if (text.front() == '=') {
            argument.value = text.substr(1);
        } else if (text != "none") {
            const std::size_t blank = text.find(' ');
            Tensor tensor{.type = parse_element_type(text.substr(0, blank))};
            if (text.rfind("fp8", 0) == 0) tensor.type = ElementType::fp8;
            std::istringstream sizes(text.substr(blank + 1));
            for (std::string size; std::getline(sizes, size, ',');)
                tensor.dims.push_back(std::stoll(size));
            argument.tensors.push_back(std::move(tensor));
        }
        call.arguments.push_back(std::move(argument));
    }
    return call;
}

using Sizes = std::vector<std::int64_t>;

/// Dense, in the order of the dimensions or with the second one last.
Tensor drawn_tensor(ElementType type, Sizes dims, bool channels_last) {
    Tensor tensor{.type = type, .dims = std::move(dims)};
    tensor.strides.resize(tensor.dims.size());
    std::int64_t stride = channels_last ? tensor.dims[1] : 1;
    for (std::size_t i = tensor.dims.size(); i-- > 0;) {
        if (channels_last && i == 1) continue;
        tensor.strides[i] = stride;
        stride *= tensor.dims[i];
    }
    if (channels_last) {
        tensor.strides[1] = 1;
        tensor.strides[0] = stride / tensor.dims[0];
    }
    return tensor;
}

std::string list_of(std::int64_t value, std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + std::to_string(value);
    return text + "]";
}

Argument tensor_argument(Tensor tensor) {
    return {.tensors = {std::move(tensor)}};
}
Argument value_argument(std::string value) {
    return {.value = std::move(value)};
}

struct Convolved {
    Tensor x;
    Tensor w;
    Tensor gradient;
    std::string stride;
    std::string padding;
    std::string gap;
    std::string none;
    std::string groups;
};

/// A convolution of images in one to three dimensions, with groups, strides and margins.
Convolved drawn_images(test::Random& random) {
    constexpr std::array types{ElementType::fp32, ElementType::fp16, ElementType::bf16};
    constexpr std::array<std::int64_t, 9> filter_sizes{1, 1, 2, 3, 3, 4, 5, 7, 40};
    constexpr std::array<std::int64_t, 6> group_counts{1, 1, 1, 2, 8, 32};
    const auto spatial = static_cast<std::size_t>(random.pick(std::array{1, 2, 2, 2, 3}));
    const ElementType type = random.pick(types);
    const std::int64_t groups = random.pick(group_counts);
    const std::int64_t channels = random.coin() ? 8 * random.size(32) : random.size(256);
    const std::int64_t filters = random.coin() ? 8 * random.size(32) : random.size(256);
    const std::int64_t filter = random.pick(filter_sizes);
    const bool last = random.coin();
    Sizes image{random.size(64), groups * channels};
    Sizes weight{groups * filters, channels};
    Sizes result{image[0], groups * filters};
    const std::int64_t stride = random.whole(0, 2) == 0 ? 2 : 1;
    const std::int64_t padding = random.coin() ? filter / 2 : 0;
    for (std::size_t i = 0; i < spatial; ++i) {
        const std::int64_t side = filter + random.size(spatial == 3 ? 32 : 160);
        image.push_back(side);
        weight.push_back(filter);
        result.push_back((side + 2 * padding - filter) / stride + 1);
    }
    return {.x = drawn_tensor(type, image, last),
            .w = drawn_tensor(type, weight, last),
            .gradient = drawn_tensor(type, result, random.coin()),
            .stride = list_of(stride, spatial),
            .padding = list_of(padding, spatial),
            .gap = list_of(1, spatial),
            .none = list_of(0, spatial),
            .groups = std::to_string(groups)};
}

/// The same as a call of one of three operators.
Call drawn_convolution(test::Random& random) {
    const Convolved c = drawn_images(random);
    const Argument x = tensor_argument(c.x);
    const Argument w = tensor_argument(c.w);
    const Argument stride = value_argument(c.stride);
    const Argument padding = value_argument(c.padding);
    const Argument gap = value_argument(c.gap);
    const Argument groups = value_argument(c.groups);
    Call call;
    switch (random.whole(0, 3)) {
        case 0:
            call.name = "aten::convolution";
            call.arguments = {
                x,     w, {}, stride, padding, gap, value_argument("False"), value_argument(c.none),
                groups};
            return call;
        case 1:
            call.name = "aten::cudnn_convolution";
            call.arguments = {x, w, padding, stride, gap, groups};
            return call;
        default:
            call.name = "aten::convolution_backward";
            call.arguments = {
                tensor_argument(c.gradient),
                x,
                w,
                value_argument("[0]"),
                stride,
                padding,
                gap,
                value_argument("False"),
                value_argument(c.none),
                groups,
                value_argument(random.coin() ? "[True, True, False]" : "[False, True, True]")};
            return call;
    }
}

/// Kernels of cuDNN with tiles, steps and groups of all sizes.
std::vector<std::string> drawn_kernel_names(test::Random& random) {
    const auto side = [&random] { return std::int64_t{1} << random.whole(3, 9); };
    // One after the other: compilers differ in which argument they take first.
    const auto tile = [&side] {
        const std::int64_t rows = side();
        const std::int64_t columns = side();
        return fmt::format("{}x{}", rows, columns);
    };
    const std::int64_t step = std::int64_t{1} << random.whole(2, 6);
    const std::int64_t groups = random.size(16);
    const std::int64_t fewer_groups = random.size(8);
    const std::int64_t wide = 2 * side();
    const std::int64_t first = random.whole(0, 11);
    const std::int64_t second = random.whole(0, 11);
    return {
        fmt::format(
            "sm80_xmma_fprop_implicit_gemm_tilesize{}x{}_stage4_warpsize2x2x1_g{}_tensor16x8x16",
            tile(), step, groups),
        fmt::format("sm80_xmma_wgrad_implicit_gemm_tilesize{}x{}_stage5", tile(), step),
        fmt::format("sm80_xmma_dgrad_implicit_gemm_tilesize{}x{}_stage5_g{}_tensor", tile(), step,
                    fewer_groups),
        fmt::format("cutlass_80_tensorop_s1688gemm_{}_{}x4_nn_align4", tile(), step),
        fmt::format("cutlass__5x_cudnn::Kernel<cutlass_s16816fprop_bf16_{}_{}x3>", tile(), step),
        fmt::format("nvjet_sm90_hsh_{}_{}x4_1x2_h_bz", tile(), step),
        fmt::format("void implicit_convolve_sgemm<float, float, {}, {}, {}, 3, 3>", wide, first,
                    second),
        "void cudnn::nchwToNhwcKernel<__half, float>",
        "void cudnn::winograd_nonfused::winogradForwardFilter4x4<float>"};
}

void add_kernels(test::Sums& sums, const Call& call, test::Random& random) {
    const std::vector<std::string> names = drawn_kernel_names(random);
    std::vector<KernelSeen> seen;
    const std::int64_t count = random.whole(1, 3);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t blocks = random.size(4096);
        seen.push_back({.name = random.pick(names),
                        .blocks = blocks,
                        .threads = 32 * random.whole(1, 16) * blocks});
    }
    for (const KernelPart& part : kernel_parts(call, ElementType::unknown, seen)) {
        sums.add("laws", static_cast<double>(part.law.size()));
        for (std::size_t i = 0; i < count_count; ++i) {
            sums.add("parts",
                     part.counts[static_cast<Count>(i)] * (1.0 + 0.1 * static_cast<double>(i)));
        }
    }
    for (const std::string& name : names)
        sums.add("keys", static_cast<double>(kernel_key(name).size()));
}

std::string sums_of_convolutions(std::uint64_t seed) {
    test::Random random = test::Random::of_table(seed);
    test::Sums sums(1.01);
    std::size_t unknown = 0;
    for (int i = 0; i < odd_calls_of_a_line; ++i, sums.next()) {
        Call call = drawn_convolution(random);
        if (random.whole(0, 3) == 0) change_argument(call, random);
        if (!test::add_call(sums, call)) ++unknown;
        add_kernels(sums, call, random);
    }
    return fmt::format("unknown {}{}", unknown, sums.text());
}

/// The changes of "aten::mm SEED" of each invented call in turn.
std::string sums_of_invented_calls(std::uint64_t seed) {
    test::Random random = test::Random::of_table(seed);
    const InventedCall& invented = invented_calls[seed % invented_calls.size()];
    test::Sums sums(1.01);
    std::size_t unknown = 0;
    for (int i = 0; i < odd_calls_of_a_line; ++i, sums.next()) {
        Call call = invented_call(invented);
        const std::int64_t sizes = random.whole(0, 2);
        for (std::int64_t n = 0; n < sizes; ++n) change_size(call, random);
        if (i > 0 && random.coin()) change_argument(call, random);
        if (!test::add_call(sums, call)) ++unknown;
    }
    return fmt::format("unknown {}{}", unknown, sums.text());
}

std::string sums_of_odd_calls(const std::string& question) {
    std::istringstream words(question);
    std::string name;
    std::uint64_t seed = 0;
    words >> name >> seed;
    if (name == "invented") return sums_of_invented_calls(seed);
    if (name == "convolution") return sums_of_convolutions(seed);
    test::Random random = test::Random::of_table(seed);
    test::Sums sums(1.01);
    std::size_t unknown = 0;
    for (int i = 0; i < odd_calls_of_a_line; ++i, sums.next()) {
        Call call = parse_call(name, random.pick(inputs_by_operator().at(name)));
        const std::int64_t sizes = random.whole(0, 2);
        for (std::int64_t n = 0; n < sizes; ++n) change_size(call, random);
        if (sizes == 0 || random.coin()) change_argument(call, random);
        if (!test::add_call(sums, call)) ++unknown;
    }
    return fmt::format("unknown {}{}", unknown, sums.text());
}

TEST_CASE("odd calls of operators mean what they meant", "[frozen]") {
    test::check_table("odd_calls", sums_of_odd_calls);
}

TEST_CASE("draws the questions of the table of odd calls", "[.][frozen-draw]") {
    std::vector<std::string> questions;
    std::uint64_t seed = 2'000'000;
    for (const auto& each : inputs_by_operator()) {
        for (int i = 0; i < 3; ++i) questions.push_back(fmt::format("{} {}", each.first, ++seed));
    }
    for (std::size_t i = 0; i < 3 * invented_calls.size(); ++i)
        questions.push_back(fmt::format("invented {}", ++seed));
    for (int i = 0; i < 40; ++i) questions.push_back(fmt::format("convolution {}", ++seed));
    test::write_table("odd_calls", questions, sums_of_odd_calls);
}

}  // namespace
}  // namespace ridge::programs
