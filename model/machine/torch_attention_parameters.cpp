#include "model/machine/torch_attention_parameters.h"

#include <array>

#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using ranges::clocks;
using ranges::exponent_of_norm;
using ranges::factor;
using enum Origin;
using enum Need;

/// The set of this member, in machines that have the code of the backends.
template <auto member>
constexpr auto in_backends = in_held<&Machine::torch_attention, member>;
template <auto member, class Set>
constexpr Section<Set> code(std::string_view path, std::string_view title,
                            std::span<const Parameter<Set>> table, std::size_t column = 0) {
    return section<Set, in_backends<member>>(path, title, table, column);
}

// A kernel without a cost has no parameter for it: the columns of a table name its sections in their order.
// clang-format off
using All = TorchAttentionCode;

using B = BackendCode;
constexpr std::array backend_rows{
    count_of_clocks<&B::pipe>("pipe", clocks, "clocks: a visit of 64 x 64 scores occupies the pipes", everywhere(records), required),
    count_of_clocks<&B::pipe_dim>("pipe_dim", clocks, "clocks: more for each 64 of the head's dimension", {records, records, none, none, records}, required),
    count_of_clocks<&B::visit>("visit", clocks, "clocks: of a visit that nothing hides", {none, none, none, none, records}, required),
    parameter<&B::visit_pipe>("visit_pipe", factor, "share of the pipes that a visit takes, alone on its multiprocessor", {records, none, none, none, records}, required),
    count_of_clocks<&B::prologue>("prologue", clocks, "clocks: of a block before its first visit", {records, none, none, none, records}, required),
    parameter<&B::overlap>("overlap", exponent_of_norm, "how far blocks, pipes and DRAM overlap: exponent of their norm", everywhere(records), required),
    count_of_clocks<&B::block>("block", clocks, "clocks: a block occupies the pipes, beside its visits", {records, records, records, none, records}, required),
    count_of_clocks<&B::further>("further", clocks, "clocks: of a further kernel", {none, records, records, records, none}, required),
    count_of_clocks<&B::cold>("cold", clocks, "clocks: more where operands come from DRAM", {records, records, records, none, records}, required),
    parameter<&B::single>("single", factor, "pipes in fp32, over 16 bits", {none, none, none, none, records}, required),
    parameter<&B::wide>("wide", factor, "pipes of head dimensions over 128", {records, records, none, none, records}, required),
    parameter<&B::middle>("middle", factor, "pipes of head dimensions over 64, up to 128", {none, records, records, records, records}, required),
    parameter<&B::uneven>("uneven", factor, "of the longest block, what the busiest multiprocessor has beside its share", everywhere(records), required),
    parameter<&B::mask>("mask", factor, "visits that a visit with a mask takes more", {records, records, records, records, none}, required),
    parameter<&B::shared>("shared", factor, "gradients that heads with common keys add up, in passes over four times their bytes", {none, records, none, records, none}, required),
};
constexpr std::array backend_sections{
    code<&All::flash, B>("torch.attention.flash", "flash of PyTorch's SDPA", backend_rows),
    code<&All::flash_backward, B>("torch.attention.flash_backward", "its backward kernels", backend_rows, 1),
    code<&All::cudnn, B>("torch.attention.cudnn", "cuDNN of PyTorch's SDPA", backend_rows, 2),
    code<&All::cudnn_backward, B>("torch.attention.cudnn_backward", "its backward kernels", backend_rows, 3),
    code<&All::efficient, B>("torch.attention.efficient", "the efficient backend of PyTorch's SDPA", backend_rows, 4),
};

using S = SplitCode;
constexpr std::array split_rows{
    count_of_clocks<&S::prologue>("prologue", clocks, "clocks: of a block", {none, records, records}, required),
    count_of_clocks<&S::pipe>("pipe", clocks, "clocks: a visit of 64 x 64 scores and 64 of the head's dimension occupies the pipes", everywhere(records), required),
    count_of_clocks<&S::join>("join", clocks, "clocks: of the kernel that joins the parts, with the start of both", {records, records, none}, required),
    count_of_clocks<&S::cold>("cold", clocks, "clocks: more where operands come from DRAM", {records, none, records}, required),
    parameter<&S::dram>("dram", factor, "share of the DRAM bandwidth", everywhere(records), required),
    parameter<&S::overlap>("overlap", exponent_of_norm, "how far blocks, pipes and DRAM overlap: exponent of their norm", everywhere(records), required),
    count_of_clocks<&S::part>("part", clocks, "clocks: of joining one part, after the others", {records, records, none}, required),
    parameter<&S::parts>("parts", factor, "passes over the parts in fp32, through the L2", {records, none, none}, required),
    parameter<&S::dim>("dim", factor, "of a visit, what each further 64 of the head's dimension takes", everywhere(records), required),
};
constexpr std::array split_sections{
    code<&All::flash_split, S>("torch.attention.flash_split", "flash with split keys", split_rows),
    code<&All::cudnn_split, S>("torch.attention.cudnn_split", "cuDNN with split keys", split_rows, 1),
    code<&All::cudnn_short, S>("torch.attention.cudnn_short", "cuDNN of one query and few keys", split_rows, 2),
};

using W = SerialCode;
constexpr std::array serial_rows{
    count_of_clocks<&W::prologue>("prologue", clocks, "clocks: of a block of keys", {records, none, records, none}, required),
    count_of_clocks<&W::visit>("visit", clocks, "clocks: of a visit, alone on its multiprocessor", everywhere(records), required),
    count_of_clocks<&W::lock>("lock", clocks, "clocks: of its queries' gradients; blocks of one head wait for it in turn", everywhere(records), required),
    parameter<&W::single>("single", factor, "in fp32, over 16 bits", everywhere(records), required),
};
constexpr std::array serial_sections{
    code<&All::narrow, W>("torch.attention.serial.narrow", "efficient backward, head dimensions to 32", serial_rows),
    code<&All::half, W>("torch.attention.serial.half", "efficient backward, to 64", serial_rows, 1),
    code<&All::middle, W>("torch.attention.serial.middle", "efficient backward, to 128", serial_rows, 2),
    code<&All::wide, W>("torch.attention.serial.wide", "efficient backward, over 128", serial_rows, 3),
};

using V = SerialCommonCode;
constexpr std::array serial_common_rows{
    parameter<&V::beside>("beside", factor, "of a visit, for each further block of its multiprocessor", everywhere(records), required),
    parameter<&V::tail>("tail", factor, "of the longest block, where a mask makes them uneven", everywhere(records), required),
    parameter<&V::overlap>("overlap", exponent_of_norm, "how far walk, lock and DRAM overlap: exponent of their norm", everywhere(records), required),
    count_of_clocks<&V::start>("start", clocks, "clocks: of the kernel, beside an empty one", everywhere(records), required),
    count_of_clocks<&V::cold>("cold", clocks, "clocks: more where operands come from DRAM", everywhere(records), required),
    count_of_clocks<&V::product>("product", clocks, "clocks: of each of three more kernels for the products of fp32", everywhere(records), required),
    parameter<&V::passes>("passes", factor, "of those kernels over the queries' gradients", everywhere(records), required),
    parameter<&V::few_rows>("few_rows", factor, "of a visit, whatever part of its 128 rows there is", everywhere(records), required),
    parameter<&V::one>("one", factor, "of a visit where all keys are in one block", everywhere(records), required),
    parameter<&V::masked_lock>("masked_lock", factor, "of a lock under a mask", everywhere(records), required),
    count_of_clocks<&V::sums>("sums", clocks, "clocks: wide heads in 16 bits: sums of gradient times output, for every query block of a walk", everywhere(records), required),
    parameter<&V::sums_busy>("sums_busy", factor, "share of it that busy multiprocessors share out", everywhere(records), required),
};
constexpr std::array serial_common_sections{
    code<&All::serial, V>("torch.attention.serial", "efficient backward", serial_common_rows),
};

using C = BackendsCode;
constexpr std::array common_rows{
    parameter<&C::dram>("dram", factor, "share of the DRAM bandwidth", everywhere(records), required),
};
constexpr std::array common_sections{
    code<&All::backends, C>("torch.attention", "all backends of PyTorch's SDPA", common_rows),
};

// clang-format on

}  // namespace

const TorchAttentionSections& torch_attention_sections() {
    static const TorchAttentionSections all{backend_sections, split_sections, serial_sections,
                                            serial_common_sections, common_sections};
    return all;
}

void resolve_torch_attention(const hardware::Description& gpu, Machine& machine) {
    resolve_sections(gpu, torch_attention_sections(), machine, &Machine::torch_attention);
}

}  // namespace ridge::model
