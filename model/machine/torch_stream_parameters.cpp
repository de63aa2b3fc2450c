#include "model/machine/torch_stream_parameters.h"

#include <array>

#include "model/machine/machine.h"

namespace ridge::model {
namespace {

using ranges::clocks;
using ranges::exponent_of_norm;
using ranges::factor;
using ranges::span_of_time;
using enum Origin;
using enum Need;

constexpr hardware::Range lane_slots{1e-3, 1e6};

/// The set of this member, for machines that have the costs of PyTorch's kernels.
template <auto member>
constexpr auto in_code = [](auto& machine) {
    return machine.memory && machine.memory->torch ? &(machine.memory->torch->code.*member)
                                                   : nullptr;
};
template <auto member, class Set>
constexpr Section<Set> code(std::string_view path, std::string_view title,
                            std::span<const Parameter<Set>> table, std::size_t column = 0) {
    return section<Set, in_code<member>>(path, title, table, column);
}

// A kernel without a cost has no parameter for it. The columns of a table follow its sections in
// order.
// clang-format off
using All = TorchStreamCode;

using F = FunctionCode;
constexpr std::array function_rows{
    count_of_clocks<&F::series>("series", clocks, "clocks of a sine, a cosine, a sigmoid, a silu or a logarithm", everywhere(records), required),
    count_of_clocks<&F::rational>("rational", clocks, "clocks of an error function, a gelu, a minimum or a maximum", everywhere(records), required),
    count_of_clocks<&F::iterated>("iterated", clocks, "clocks of a division, a power, a square root or a tanh", everywhere(records), required),
    count_of_clocks<&F::single>("single", clocks, "clocks of a sum, a difference, a reciprocal, its square root or an exponential", everywhere(records), required),
};
constexpr std::array function_sections{
    code<&All::functions, F>("torch.function", "functions of an elementwise kernel of PyTorch", function_rows),
};

using P = PointwiseCode;
constexpr std::array pointwise_rows{
    parameter<&P::function_slots>("function_slots", lane_slots, "lane slots of an element for each clock of its functions", everywhere(records), required),
    parameter<&P::erf_slots>("erf_slots", lane_slots, "additional lane slots of an element of an error function", everywhere(records), required),
    parameter<&P::loop_rounds>("loop_rounds", factor, "share of the life of a block over single elements for which the next block waits", everywhere(records), required),
    parameter<&P::generated_share>("generated_share", factor, "clocks of a function in generated code, over those in PyTorch's kernels", everywhere(records), required),
    parameter<&P::generated_vector>("generated_vector", lane_slots, "lane slots of an element when generated code broadcasts", everywhere(records), required),
    count_of_clocks<&P::dropout_chain>("dropout_chain", clocks, "clocks of dropout", everywhere(records), required),
    parameter<&P::dropout_slots>("dropout_slots", lane_slots, "lane slots of an element of dropout", everywhere(records), required),
    parameter<&P::dropout_odd>("dropout_odd", lane_slots, "additional lane slots when the elements of dropout are not in pairs", everywhere(records), required),
};
constexpr std::array pointwise_sections{
    code<&All::pointwise, P>("torch.pointwise", "pointwise kernels of PyTorch", pointwise_rows),
};

using L = ElementLoop;
constexpr std::array loop_rows{
    count_of_clocks<&L::chain>("chain", clocks, "clocks of a thread beside its loads", {records, records, as(0), as(0)}, required),
    parameter<&L::slots>("slots", lane_slots, "lane slots of an element", {records, as(0), records, as(2)}, required),
};
constexpr std::array loop_sections{
    code<&All::broadcast, L>("torch.loop.broadcast", "a loop over elements where an input is broadcast", loop_rows),
    code<&All::cast, L>("torch.loop.cast", "a loop over elements that are cast", loop_rows, 1),
    code<&All::strided, L>("torch.loop.strided", "a loop over elements that lie apart", loop_rows, 2),
    code<&All::transpose, L>("torch.loop.transpose", "a loop over elements of a transpose", loop_rows, 3),
};

using M = MovementCode;
constexpr std::array movement_rows{
    count_of_clocks<&M::long_copy>("long_copy", clocks, "clocks before the driver's copy of 1 MB or more starts", everywhere(records), required),
    parameter<&M::sector>("sector", factor, "time of a sector of strided reads, over that of a sector in a full line", everywhere(records), required),
    parameter<&M::transpose_dimension>("transpose_dimension", lane_slots, "additional lane slots of an element for each dimension of a transpose", everywhere(records), required),
    parameter<&M::transpose_again>("transpose_again", factor, "share of the lines that warps of a block have in common that is read again", everywhere(records), required),
    parameter<&M::transpose_hit>("transpose_hit", factor, "time of a load from the multiprocessor's own cache, over that of a load from L2", everywhere(records), required),
    count_of_clocks<&M::join_chain>("join_chain", clocks, "clocks of a thread that joins pieces of rows", everywhere(records), required),
    parameter<&M::join_slots>("join_slots", lane_slots, "lane slots of an element that is joined", everywhere(records), required),
    parameter<&M::join_odd>("join_odd", lane_slots, "lane slots of an element that is joined when a piece is not whole vectors", everywhere(records), required),
};
constexpr std::array movement_sections{
    code<&All::movement, M>("torch.movement", "copies of PyTorch", movement_rows),
};

using G = GatherCode;
constexpr std::array gather_rows{
    count_of_clocks<&G::chain>("chain", clocks, "clocks of a block that copies a row, including its index, from DRAM", everywhere(records), required),
    count_of_clocks<&G::warm>("warm", clocks, "clocks of a block that copies a row, including its index, from the L2", everywhere(records), required),
    count_of_clocks<&G::block>("block", clocks, "clocks of the whole GPU from the start of one block to the next", everywhere(records), required),
    parameter<&G::dram>("dram", factor, "DRAM traffic of single rows over that of a stream", everywhere(records), required),
    count_of_clocks<&G::single>("single", clocks, "clocks of a thread that gathers eight single elements", everywhere(records), required),
    parameter<&G::step>("step", factor, "time of each further single element, in loads", everywhere(records), required),
    parameter<&G::slots>("slots", lane_slots, "lane slots of a single element", everywhere(records), required),
};
constexpr std::array gather_sections{
    code<&All::gather, G>("torch.gather", "look-ups of PyTorch", gather_rows),
};

using C = ChunkCode;
constexpr std::array chunk_rows{
    parameter<&C::step>("step", factor, "time of a step of four elements of each tensor, in loads", everywhere(records), required),
    parameter<&C::tensor>("tensor", factor, "additional time of a step for each tensor, in loads from L2", everywhere(records), required),
    count_of_clocks<&C::counter>("counter", clocks, "clocks of the kernel that counts steps", everywhere(records), required),
    parameter<&C::fused>("fused", lane_slots, "lane slots of an element of the fused kernel", everywhere(records), required),
    parameter<&C::plain>("plain", lane_slots, "lane slots of an element of the other kernels", everywhere(records), required),
    parameter<&C::odd_fused>("odd_fused", lane_slots, "fused kernel: lane slots per element and tensor that is not in groups of four", everywhere(records), required),
    parameter<&C::odd_plain>("odd_plain", lane_slots, "other kernels: lane slots per element and tensor that is not in groups of four", everywhere(records), required),
};
constexpr std::array chunk_sections{
    code<&All::chunks, C>("torch.chunks", "optimizers of PyTorch", chunk_rows),
};

using S = SoftmaxCode;
constexpr std::array softmax_rows{
    count_of_clocks<&S::chain>("chain", clocks, "clocks of a row", {none, none, records, none, as(2)}, required),
    count_of_clocks<&S::element>("element", clocks, "clocks of each element of a thread", {records, records, none, none, none}, required),
    parameter<&S::slots>("slots", lane_slots, "lane slots of an element", {records, as(0), records, as(0), as(0)}, required),
    parameter<&S::thread>("thread", lane_slots, "lane slots of a thread", {records, records, none, records, as(3)}, required),
};
constexpr std::array softmax_sections{
    code<&All::warp_16bit, S>("torch.softmax.warp_16bit", "softmax by warps, 16 bits", softmax_rows),
    code<&All::warp, S>("torch.softmax.warp", "softmax by warps, 32 bits", softmax_rows, 1),
    code<&All::registers, S>("torch.softmax.registers", "softmax with the row in registers of a block", softmax_rows, 2),
    code<&All::shared, S>("torch.softmax.shared", "softmax with the row in shared memory", softmax_rows, 3),
    code<&All::loop, S>("torch.softmax.loop", "softmax that reads the row three times", softmax_rows, 4),
};

using N = NormCode;
constexpr std::array norm_rows{
    count_of_clocks<&N::chain>("chain", clocks, "clocks of a block beside its loads", {records, as(0), as(0), records, as(3), as(3)}, required),
    parameter<&N::step>("step", factor, "time of a load of four elements and the work that follows it, in loads", {records, records, as(1), as(0), records, as(4)}, required),
    count_of_clocks<&N::trip>("trip", clocks, "clocks of the arithmetic on those elements, one after the other", {records, as(0), none, records, none, none}, required),
    parameter<&N::slots>("slots", lane_slots, "lane slots of an element", {records, records, records, as(2), records, as(4)}, required),
    parameter<&N::row>("row", lane_slots, "lane slots of a row", {records, records, records, records, records, as(4)}, required),
    parameter<&N::rounds>("rounds", factor, "share of a block's life for which the next block waits", {records, as(0), as(0), as(0), none, none}, required),
};
constexpr std::array norm_sections{
    code<&All::layer, N>("torch.norm.layer", "layer norm, 32 bits", norm_rows),
    code<&All::layer_16bit, N>("torch.norm.layer_16bit", "layer norm, 16 bits", norm_rows, 1),
    code<&All::root, N>("torch.norm.root", "RMS norm, 32 bits", norm_rows, 2),
    code<&All::root_16bit, N>("torch.norm.root_16bit", "RMS norm, 16 bits", norm_rows, 3),
    code<&All::layer_moments, N>("torch.norm.layer_moments", "layer norm of rows that are not whole groups of four", norm_rows, 4),
    code<&All::root_moments, N>("torch.norm.root_moments", "RMS norm of rows that are not whole groups of four", norm_rows, 5),
};

using R = ScanCode;
constexpr std::array scan_rows{
    parameter<&R::step>("step", factor, "time of a piece, in loads", everywhere(records), required),
    count_of_clocks<&R::level>("level", clocks, "clocks of each halving of a piece", everywhere(records), required),
    parameter<&R::slots>("slots", lane_slots, "lane slots of a thread and piece", everywhere(records), required),
    parameter<&R::level_slots>("level_slots", factor, "additional share of those slots for each halving of a piece", everywhere(records), required),
    count_of_clocks<&R::look_back>("look_back", clocks, "clocks of the look-back of blocks that share one row", everywhere(records), required),
};
constexpr std::array scan_sections{
    code<&All::scan, R>("torch.scan", "running sums of PyTorch", scan_rows),
};

using D = ReduceCode;
constexpr std::array reduce_rows{
    count_of_clocks<&D::chain>("chain", clocks, "clocks of a block beside its loads", {records, as(0), as(0), records, none, none}, required),
    parameter<&D::lines>("lines", factor, "time to fetch code that is missing from a cold L2, in loads", {records, as(0), as(0), records, as(3), records}, required),
    parameter<&D::step>("step", factor, "time of a trip of the loop, in loads", {records, records, as(1), records, as(3), records}, required),
    count_of_clocks<&D::value>("value", clocks, "clocks of a value of 32 bits", {none, none, none, none, none, records}, required),
    count_of_clocks<&D::half>("half", clocks, "clocks of a value of 16 bits", {none, records, as(1), none, records, as(1)}, required),
    count_of_clocks<&D::level>("level", clocks, "clocks of joining the results of two threads", {records, none, records, as(0), as(0), as(2)}, required),
    parameter<&D::slots>("slots", lane_slots, "lane slots of a value", {records, as(0), records, as(0), as(0), as(2)}, required),
    parameter<&D::thread>("thread", lane_slots, "lane slots of a thread", {records, records, as(1), as(0), as(0), as(1)}, required),
    parameter<&D::part>("part", factor, "time of one load of a result's parts, in loads", {none, none, none, none, none, records}, required),
    parameter<&D::further>("further", factor, "time of each further result of a vector, as a share of a part's time", {none, none, none, none, none, records}, required),
    parameter<&D::whole>("whole", factor, "time of a trip that loads whole vectors, over one that does not", {records, as(0), as(0), none, none, none}, required),
};
constexpr std::array reduce_sections{
    code<&All::row_sums, D>("torch.reduce.row_sum", "sums of rows", reduce_rows),
    code<&All::row_maxima, D>("torch.reduce.row_max", "maxima of rows", reduce_rows, 1),
    code<&All::row_positions, D>("torch.reduce.row_argmax", "positions of maxima of rows", reduce_rows, 2),
    code<&All::column_sums, D>("torch.reduce.column_sum", "sums of columns", reduce_rows, 3),
    code<&All::column_maxima, D>("torch.reduce.column_max", "maxima of columns", reduce_rows, 4),
    code<&All::column_positions, D>("torch.reduce.column_argmax", "positions of maxima of columns", reduce_rows, 5),
};

using K = GeneratedCode;
constexpr std::array generated_rows{
    parameter<&K::held>("held", lane_slots, "lane slots of an element of a row in registers", everywhere(records), required),
    count_of_clocks<&K::held_chain>("held_chain", clocks, "clocks of each element of a thread that holds a row in registers", {none, records, records}, required),
    parameter<&K::looped>("looped", lane_slots, "lane slots of an element of a row that is read in a loop", {none, records, records}, required),
    parameter<&K::thread>("thread", lane_slots, "lane slots of a thread that loops", everywhere(records), required),
};
constexpr std::array generated_sections{
    code<&All::sum, K>("torch.generated.sum", "generated reductions and RMS norms", generated_rows),
    code<&All::normal, K>("torch.generated.layer", "generated layer norms", generated_rows, 1),
    code<&All::exponential, K>("torch.generated.exponential", "generated softmax and losses", generated_rows, 2),
};

using W = GeneratedRowsCode;
constexpr std::array generated_rows_rows{
    parameter<&W::held_thread>("held_thread", lane_slots, "lane slots of a thread that holds its elements", everywhere(records), required),
    parameter<&W::held_load>("held_load", lane_slots, "lane slots of a load or store of such a thread", everywhere(records), required),
    count_of_clocks<&W::level>("level", clocks, "clocks of each halving of a row", everywhere(records), required),
    parameter<&W::loop_load>("loop_load", lane_slots, "lane slots of a load or store in a loop", everywhere(records), required),
    parameter<&W::again>("again", factor, "share of an exponential's slots in a loop that computes it again for each result", everywhere(records), required),
    parameter<&W::first_pass>("first_pass", factor, "the same share when blocks of a row find its largest element first", everywhere(records), required),
    count_of_clocks<&W::join>("join", clocks, "clocks of a kernel that joins the results of blocks that share a row", everywhere(records), required),
    parameter<&W::map>("map", lane_slots, "lane slots of an element in a separate kernel that maps the row", everywhere(records), required),
    parameter<&W::evicted>("evicted", factor, "share of the L2 that keeps data which loops mark to be evicted first", everywhere(records), required),
    parameter<&W::loss>("loss", factor, "time of each turn of the one block that adds up losses, in look-ups of a target", everywhere(records), required),
    parameter<&W::column_thread>("column_thread", lane_slots, "lane slots of a thread along columns", everywhere(records), required),
    parameter<&W::column_uneven>("column_uneven", lane_slots, "additional lane slots of an element along columns when the parts are not equal", everywhere(records), required),
    parameter<&W::column_step>("column_step", factor, "a step along columns, in loads", everywhere(records), required),
    parameter<&W::column_rounds>("column_rounds", factor, "time of a further round of blocks along columns, as a share of a block's life", everywhere(records), required),
    parameter<&W::scatter>("scatter", span_of_time, "scatter of the times by which PyTorch chooses among kernels", everywhere(measured), required),
};
constexpr std::array generated_rows_sections{
    code<&All::generated, W>("torch.generated", "generated kernels along rows", generated_rows_rows),
};

using B = GradientCode;
constexpr std::array gradient_rows{
    parameter<&B::softmax_warp>("softmax_warp", lane_slots, "lane slots of an element of a softmax by warps", everywhere(records), required),
    count_of_clocks<&B::softmax_element>("softmax_element", clocks, "clocks of each element of a thread of a softmax by blocks", everywhere(records), required),
    parameter<&B::look_up>("look_up", factor, "time of the gradient of a loss per row, in look-ups of a target", everywhere(records), required),
    parameter<&B::norm_step>("norm_step", factor, "time of a load of a norm's gradient and input and the work that follows it, in loads", everywhere(records), required),
    parameter<&B::norm_row>("norm_row", lane_slots, "lane slots of a row of a norm", everywhere(records), required),
    parameter<&B::norm_single>("norm_single", lane_slots, "lane slots of an element of a norm when rows are not whole groups of four", everywhere(records), required),
    count_of_clocks<&B::column_chain>("column_chain", clocks, "clocks of a block that sums the gradients of a norm's vectors", everywhere(records), required),
    parameter<&B::column_step>("column_step", factor, "time of a load in those sums, in loads", everywhere(records), required),
    parameter<&B::column_slots>("column_slots", lane_slots, "lane slots of an element in those sums", everywhere(records), required),
    parameter<&B::alone>("alone", factor, "bandwidth of a multiprocessor that runs alone, over its share of the whole", everywhere(records), required),
};
constexpr std::array gradient_sections{
    code<&All::gradient, B>("torch.gradient", "gradients along rows", gradient_rows),
};

using O = OverlapCode;
constexpr std::array overlap_rows{
    parameter<&O::in_step>("in_step", exponent_of_norm, "blocks that hold a row between barriers: how far rounds overlap with throughput, exponent of their norm", everywhere(records), required),
    parameter<&O::reducing>("reducing", exponent_of_norm, "the same for blocks that reduce as they read", everywhere(records), required),
    parameter<&O::free_running>("free_running", exponent_of_norm, "the same for independent threads, and for the pipes of one kernel", everywhere(records), required),
    parameter<&O::scan>("scan", exponent_of_norm, "the same for running sums and optimizers", everywhere(records), required),
};
constexpr std::array overlap_sections{
    code<&All::overlap, O>("torch.overlap", "overlap in kernels of PyTorch", overlap_rows),
};

using X = RegisterCode;
constexpr hardware::Range registers_of_thread{0.1, 255.0};
constexpr std::array register_rows{
    parameter<&X::softmax>("softmax", registers_of_thread, "registers of a thread of a softmax by warps, beside those of its row", everywhere(measured), required),
    parameter<&X::softmax_element>("softmax_element", registers_of_thread, "registers of an element of the row of a softmax", everywhere(measured), required),
    parameter<&X::gradient_element>("gradient_element", registers_of_thread, "registers of an element of the row of a softmax gradient", everywhere(measured), required),
    parameter<&X::moments>("moments", registers_of_thread, "registers of a thread of an fp32 norm with a mean", everywhere(measured), required),
};
constexpr std::array register_sections{
    code<&All::registers_of, X>("torch.registers", "registers of PyTorch's kernels", register_rows),
};

// clang-format on

}  // namespace

const TorchStreamSections& torch_stream_sections() {
    static const TorchStreamSections all{
        function_sections, pointwise_sections, loop_sections,      movement_sections,
        gather_sections,   chunk_sections,     softmax_sections,   norm_sections,
        scan_sections,     reduce_sections,    generated_sections, generated_rows_sections,
        gradient_sections, overlap_sections,   register_sections};
    return all;
}

}  // namespace ridge::model
