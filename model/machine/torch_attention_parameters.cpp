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

/// The set of this member, for machines that have parameters of the backends.
template <auto member>
constexpr auto in_backends = in_held<&Machine::torch_attention, member>;
template <auto member, class Set>
constexpr Section<Set> code(std::string_view path, std::string_view title,
                            std::span<const Parameter<Set>> table, std::size_t column = 0) {
    return section<Set, in_backends<member>>(path, title, table, column);
}

// A kernel without a cost has no parameter for it. The columns of a table follow its sections in
// order.
// clang-format off
using All = TorchAttentionCode;

using B = BackendCode;
constexpr std::array backend_rows{
    count_of_clocks<&B::pipe>("pipe", clocks, "clocks for which a visit of 64 x 64 scores occupies the pipes", everywhere(records), required),
    count_of_clocks<&B::pipe_dim>("pipe_dim", clocks, "additional clocks of a visit for each 64 of the head's dimension", {records, records, none, none, records}, required),
    count_of_clocks<&B::visit>("visit", clocks, "clocks of a visit that nothing hides", {none, none, none, none, records}, required),
    parameter<&B::visit_pipe>("visit_pipe", factor, "share of its time on the pipes that a visit takes when alone on its multiprocessor", {records, none, none, none, records}, required),
    count_of_clocks<&B::prologue>("prologue", clocks, "clocks of a block before its first visit", {records, none, none, none, as(0)}, required),
    parameter<&B::overlap>("overlap", exponent_of_norm, "how far blocks, pipes and DRAM overlap: exponent of their norm", {records, records, records, records, as(0)}, required),
    count_of_clocks<&B::block>("block", clocks, "clocks for which a block occupies the pipes, beside its visits", {records, as(0), records, none, records}, required),
    count_of_clocks<&B::further>("further", clocks, "clocks of each further kernel", {none, records, records, as(2), none}, required),
    count_of_clocks<&B::cold>("cold", clocks, "additional clocks when operands come from DRAM", {records, records, records, none, as(2)}, required),
    parameter<&B::single>("single", factor, "time on the pipes in fp32, over that in 16 bits", {none, none, none, none, records}, required),
    parameter<&B::wide>("wide", factor, "factor on the time on the pipes for head dimensions over 128", {records, records, none, none, records}, required),
    parameter<&B::middle>("middle", factor, "factor on the time on the pipes for head dimensions over 64, up to 128", {none, records, records, as(2), as(1)}, required),
    parameter<&B::uneven>("uneven", factor, "share of the longest block that the busiest multiprocessor has beyond its even share", {records, records, records, as(2), as(0)}, required),
    parameter<&B::mask>("mask", factor, "additional visits that a visit with a mask counts as", {records, records, as(1), records, none}, required),
    parameter<&B::shared>("shared", factor, "passes over four times their bytes in which gradients of heads with common keys are added up", {none, records, none, records, none}, required),
};
constexpr std::array backend_sections{
    code<&All::flash, B>("torch.attention.flash", "flash of PyTorch's SDPA", backend_rows),
    code<&All::flash_backward, B>("torch.attention.flash_backward", "backward kernels of flash", backend_rows, 1),
    code<&All::cudnn, B>("torch.attention.cudnn", "cuDNN of PyTorch's SDPA", backend_rows, 2),
    code<&All::cudnn_backward, B>("torch.attention.cudnn_backward", "backward kernels of cuDNN", backend_rows, 3),
    code<&All::efficient, B>("torch.attention.efficient", "the efficient backend of PyTorch's SDPA", backend_rows, 4),
};

using S = SplitCode;
constexpr std::array split_rows{
    count_of_clocks<&S::prologue>("prologue", clocks, "clocks of a block before its first visit", {none, records, records}, required),
    count_of_clocks<&S::pipe>("pipe", clocks, "clocks for which a visit of 64 x 64 scores and 64 of the head's dimension occupies the pipes", {records, records, as(0)}, required),
    count_of_clocks<&S::join>("join", clocks, "clocks of the kernel that joins the parts, including the start of both kernels", {records, records, none}, required),
    count_of_clocks<&S::cold>("cold", clocks, "additional clocks when operands come from DRAM", {records, none, none}, required),
    parameter<&S::dram>("dram", factor, "share of the DRAM bandwidth that these kernels reach", {records, records, as(1)}, required),
    parameter<&S::overlap>("overlap", exponent_of_norm, "how far blocks, pipes and DRAM overlap: exponent of their norm", everywhere(records), required),
    count_of_clocks<&S::part>("part", clocks, "clocks of joining one part after the others", {records, records, none}, required),
    parameter<&S::parts>("parts", factor, "number of fp32 passes over the parts through the L2", {records, none, none}, required),
    parameter<&S::dim>("dim", factor, "time of a visit for each further 64 of the head's dimension, as a share of the visit", {records, records, as(0)}, required),
};
constexpr std::array split_sections{
    code<&All::flash_split, S>("torch.attention.flash_split", "flash with split keys", split_rows),
    code<&All::cudnn_split, S>("torch.attention.cudnn_split", "cuDNN with split keys", split_rows, 1),
    code<&All::cudnn_short, S>("torch.attention.cudnn_short", "cuDNN with one query and few keys", split_rows, 2),
};

using W = SerialCode;
constexpr std::array serial_rows{
    count_of_clocks<&W::prologue>("prologue", clocks, "clocks of a block of keys before its first visit", {none, none, records, none}, required),
    count_of_clocks<&W::visit>("visit", clocks, "clocks of a visit that is alone on its multiprocessor", everywhere(records), required),
    count_of_clocks<&W::lock>("lock", clocks, "clocks for which a block holds the lock on its queries' gradients; blocks of one head wait for it in turn", {records, as(0), records, as(2)}, required),
    parameter<&W::single>("single", factor, "time in fp32, over that in 16 bits", {records, as(0), records, records}, required),
};
constexpr std::array serial_sections{
    code<&All::narrow, W>("torch.attention.serial.narrow", "efficient backward, head dimensions up to 32", serial_rows),
    code<&All::half, W>("torch.attention.serial.half", "efficient backward, head dimensions up to 64", serial_rows, 1),
    code<&All::middle, W>("torch.attention.serial.middle", "efficient backward, head dimensions up to 128", serial_rows, 2),
    code<&All::wide, W>("torch.attention.serial.wide", "efficient backward, head dimensions over 128", serial_rows, 3),
};

using V = SerialCommonCode;
constexpr std::array serial_common_rows{
    parameter<&V::beside>("beside", factor, "share of a visit added for each further block on its multiprocessor", everywhere(records), required),
    parameter<&V::tail>("tail", factor, "share of the longest block that is added when a mask makes blocks uneven", everywhere(records), required),
    count_of_clocks<&V::start>("start", clocks, "clocks of the kernel beyond an empty one", everywhere(records), required),
    count_of_clocks<&V::cold>("cold", clocks, "additional clocks when operands come from DRAM", everywhere(records), required),
    count_of_clocks<&V::product>("product", clocks, "clocks of each of the three additional kernels for fp32 products", everywhere(records), required),
    parameter<&V::few_rows>("few_rows", factor, "share of a visit that does not depend on how many of its 128 rows are used", everywhere(records), required),
    parameter<&V::one>("one", factor, "time of a visit when all keys are in one block, over that of a usual visit", everywhere(records), required),
    parameter<&V::masked_lock>("masked_lock", factor, "time of a lock under a mask, over that without", everywhere(records), required),
    count_of_clocks<&V::sums>("sums", clocks, "clocks of the sums of gradient times output, per query block of a walk (wide heads in 16 bits)", everywhere(records), required),
    parameter<&V::sums_busy>("sums_busy", factor, "share of those sums when all multiprocessors are busy", everywhere(records), required),
};
constexpr std::array serial_common_sections{
    code<&All::serial, V>("torch.attention.serial", "efficient backward", serial_common_rows),
};

// clang-format on

}  // namespace

const TorchAttentionSections& torch_attention_sections() {
    static const TorchAttentionSections all{backend_sections, split_sections, serial_sections,
                                            serial_common_sections};
    return all;
}

void resolve_torch_attention(const hardware::Description& gpu, Machine& machine) {
    resolve_sections(gpu, torch_attention_sections(), machine, &Machine::torch_attention);
}

}  // namespace ridge::model
