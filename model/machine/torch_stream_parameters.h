// Costs of the compiled code of PyTorch's streaming kernels: clocks of a thread and lane slots of
// the vector pipes. They are the same on every GPU (equations B31 to B38 of docs/model.md).
//
//   memory.torch->code.transpose.chain   // dependent clocks of a thread that copies a transpose
//
// The fields are `model.torch.*.*` in `software/pytorch-2.11/software.toml` (the version of
// PyTorch), from which architectures inherit them. `ridge fit kernels` determines them from
// records.
#pragma once

#include <span>
#include <tuple>

#include "model/machine/parameter.h"

namespace ridge::model {

/// Dependent clocks that a function adds to a thread. (eq. B32)
struct FunctionCode {
    double series = 0.0;    ///< sine, cosine, sigmoid, silu, logarithm
    double rational = 0.0;  ///< the error function, gelu, a minimum or a maximum
    double iterated = 0.0;  ///< a division, a power, a square root, tanh
    double single = 0.0;    ///< a sum, a difference, a reciprocal, an exponential
};

/// A kernel whose threads find their elements one by one, with index arithmetic: a thread takes two
/// elements of four bytes or more, or four smaller ones, one after the other. (eq. B32)
struct ElementLoop {
    double chain = 0.0;  ///< clocks
    double slots = 0.0;  ///< of an element
};

/// Pointwise kernels. (eq. B32)
struct PointwiseCode {
    double function_slots = 0.0;    ///< of an element, for each clock of its functions
    double erf_slots = 0.0;         ///< additional, for an element of an error function
    double loop_rounds = 0.0;       ///< share of a looping block's life for which the next one
                                    ///< waits
    double generated_share = 0.0;   ///< share of a function's clocks that generated code takes
    double generated_vector = 0.0;  ///< of an element when generated code broadcasts
    double dropout_chain = 0.0;
    double dropout_slots = 0.0;
    double dropout_odd = 0.0;  ///< additional slots if elements are not in pairs
};

/// Copies, transposes and joins. (eq. B33)
struct MovementCode {
    double long_copy = 0.0;            ///< clocks before the driver's copy of much data starts
    double sector = 0.0;               ///< time of a sector over that of one in a full line
    double transpose_dimension = 0.0;  ///< additional slots for each dimension of the copy
    double transpose_again = 0.0;      ///< share of the lines common to warps of a block that is
                                       ///< read again
    double transpose_hit = 0.0;        ///< time of a load from the L1, over one from L2
    double join_chain = 0.0;           ///< clocks of joining pieces of rows
    double join_slots = 0.0;
    double join_odd = 0.0;  ///< slots if a piece is not whole vectors
};

/// Look-ups of rows. (eq. B33)
struct GatherCode {
    double chain = 0.0;   ///< clocks of a block that copies a row, including its index
    double warm = 0.0;    ///< the same from the L2
    double block = 0.0;   ///< clocks of the whole GPU, from one block to the next
    double dram = 0.0;    ///< traffic of single rows over that of a stream
    double single = 0.0;  ///< clocks of single elements, eight per thread
    double step = 0.0;    ///< a further one of them, in loads
    double slots = 0.0;   ///< of a single element
};

/// Optimizers, which take chunks of all tensors. (eq. B33)
struct ChunkCode {
    double step = 0.0;     ///< a step of four elements of each tensor, in loads
    double tensor = 0.0;   ///< additional time for each tensor, in loads from L2
    double counter = 0.0;  ///< clocks of the kernel that counts steps
    double fused = 0.0;    ///< slots of an element
    double plain = 0.0;
    double odd_fused = 0.0;  ///< slots per element and tensor that is not in groups of four
    double odd_plain = 0.0;
};

/// Softmax, by the place where a row is held. (eq. B35)
struct SoftmaxCode {
    double chain = 0.0;    ///< clocks of a row
    double element = 0.0;  ///< clocks of each element of a thread
    double slots = 0.0;    ///< of an element
    double thread = 0.0;   ///< slots of a thread
};

/// Norms: a block of 128 threads per row reads it twice if rows are whole groups of four. Otherwise
/// there is one kernel for the statistics and one for the result. A mean is updated as elements
/// arrive, with a division for each element, one after the other. (eq. B35)
struct NormCode {
    double chain = 0.0;
    double step = 0.0;    ///< a load of four elements and the work that follows, in loads
    double trip = 0.0;    ///< clocks of their arithmetic, one after the other
    double slots = 0.0;   ///< of an element
    double row = 0.0;     ///< slots of a row
    double rounds = 0.0;  ///< share of a block's life for which the next one waits
};

/// Running sums. (eq. B35)
struct ScanCode {
    double step = 0.0;         ///< a piece, in loads
    double level = 0.0;        ///< clocks of each halving
    double slots = 0.0;        ///< of a thread and piece
    double level_slots = 0.0;  ///< share of those added for each halving
    double look_back = 0.0;    ///< clocks of blocks that share one row
};

/// Reductions. A cold L2 also lacks lines of the code, which are fetched one after the other. (eq.
/// B34)
struct ReduceCode {
    double chain = 0.0;    ///< clocks of a block
    double lines = 0.0;    ///< lines of code, in loads; of the loop (rows) or of the vectors
                           ///< (columns)
    double step = 0.0;     ///< a trip, in loads
    double value = 0.0;    ///< clocks of a value
    double half = 0.0;     ///< clocks of a value of 16 bits
    double level = 0.0;    ///< clocks of joining two threads' results
    double slots = 0.0;    ///< of a value
    double thread = 0.0;   ///< slots of a thread
    double part = 0.0;     ///< a load of a result's parts, in loads
    double further = 0.0;  ///< share of a part's time for each further result of a vector
    double whole = 1.0;    ///< factor of a trip that loads whole vectors
};

/// Kernels along rows that torch.compile generates. (eq. B36)
struct GeneratedCode {
    double held = 0.0;        ///< slots of an element in registers
    double held_chain = 0.0;  ///< clocks of an element of a thread
    double looped = 0.0;      ///< slots of an element in a loop, rounded up to whole steps
    double thread = 0.0;      ///< slots of a thread that loops
};

/// Values that these kernels have in common, and kernels along columns. (eq. B36, B38)
struct GeneratedRowsCode {
    double held_thread = 0.0;    ///< slots of a thread that holds its elements
    double held_load = 0.0;      ///< of one of its loads or stores
    double level = 0.0;          ///< clocks of each halving of a row
    double loop_load = 0.0;      ///< slots of a load or store in a loop
    double again = 0.0;          ///< share of an exponential's slots when it is computed twice
    double first_pass = 0.0;     ///< the same when only the largest element is found
    double join = 0.0;           ///< clocks of a kernel that joins the results of a row's blocks
    double map = 0.0;            ///< slots of an element in a separate mapping kernel
    double evicted = 0.0;        ///< share of the L2 that keeps data marked to be evicted first
    double loss = 0.0;           ///< each turn of the one block of losses, in look-ups
    double column_thread = 0.0;  ///< slots
    double column_uneven = 0.0;  ///< additional slots of an element if parts are not equal
    double column_step = 0.0;    ///< in loads that wait
    double column_rounds = 0.0;  ///< share of a block's life for which the next one waits
    Time scatter{};              ///< scatter of the calls by which PyTorch chooses among kernels
};

/// Gradients along rows. (eq. B37)
struct GradientCode {
    double softmax_warp = 0.0;     ///< slots of an element of a softmax by warps
    double softmax_element = 0.0;  ///< clocks of each element of a thread of a block
    double look_up = 0.0;          ///< gradient of a loss per row, in look-ups
    double norm_step = 0.0;        ///< a load of gradient and input and the work that follows, in
                                   ///< loads
    double norm_row = 0.0;         ///< slots of a row
    double norm_single = 0.0;      ///< slots of an element if rows are not whole groups of four
    double column_chain = 0.0;     ///< clocks of the sums for a norm's vectors
    double column_step = 0.0;
    double column_slots = 0.0;
    double alone = 0.0;  ///< bandwidth of one multiprocessor over its share of the whole
};

/// How far rounds of blocks overlap with throughput, by the way a kernel is written: exponents of
/// the norm.
struct OverlapCode {
    double in_step = 1.0;       ///< blocks that hold a row between barriers
    double reducing = 1.0;      ///< blocks that reduce as they read
    double free_running = 1.0;  ///< independent threads; also pipes of one kernel
    double scan = 1.0;          ///< running sums and optimizers: life of the blocks, slots and DRAM
};

/// Registers of a thread, which limit the resident blocks.
struct RegisterCode {
    double softmax = 0.0;           ///< softmax by warps, beside the row
    double softmax_element = 0.0;   ///< of an element of the row
    double gradient_element = 0.0;  ///< of an element of the row's gradient
    double moments = 0.0;           ///< of a norm with a mean, fp32
};

struct TorchStreamCode {
    FunctionCode functions;
    PointwiseCode pointwise;
    ElementLoop broadcast, cast, strided, transpose;
    MovementCode movement;
    GatherCode gather;
    ChunkCode chunks;
    SoftmaxCode warp_16bit, warp, registers, shared, loop;
    NormCode layer, layer_16bit, root, root_16bit, layer_moments, root_moments;
    ScanCode scan;
    ReduceCode row_sums, row_maxima, row_positions, column_sums, column_maxima, column_positions;
    GeneratedCode sum, normal, exponential;
    GeneratedRowsCode generated;
    GradientCode gradient;
    OverlapCode overlap;
    RegisterCode registers_of;
};

using TorchStreamSections =
    std::tuple<std::span<const Section<FunctionCode>>, std::span<const Section<PointwiseCode>>,
               std::span<const Section<ElementLoop>>, std::span<const Section<MovementCode>>,
               std::span<const Section<GatherCode>>, std::span<const Section<ChunkCode>>,
               std::span<const Section<SoftmaxCode>>, std::span<const Section<NormCode>>,
               std::span<const Section<ScanCode>>, std::span<const Section<ReduceCode>>,
               std::span<const Section<GeneratedCode>>, std::span<const Section<GeneratedRowsCode>>,
               std::span<const Section<GradientCode>>, std::span<const Section<OverlapCode>>,
               std::span<const Section<RegisterCode>>>;

/// The sections `model.torch.*`, of machines whose memory has `torch`.
[[nodiscard]] const TorchStreamSections& torch_stream_sections();

}  // namespace ridge::model
