// Runs a model symbolically: tensors with lifetimes, kernels with counts, gradients from a tape.
//
//   Recorder run({.training = false});
//   Buffer x = run.input(4096 * 2048, DataType::bf16, "hidden states");
//   Buffer h = run.cast(x, DataType::fp32);
//   h = run.unary(Math::square, std::move(h));           // releases the first h
//   run.kernels(), run.memory()                          // what was launched, what was allocated
//
// The functions do what their PyTorch counterparts do: each launches its kernels, allocates its
// result and, if a gradient will be needed, keeps what the backward pass needs. `backward` walks
// the tape and launches the kernels of the gradients in the order of autograd. A tensor's memory is
// freed when its last handle goes, as with Python's reference counts; a handle passed by std::move
// ends with the call.
// Method: a tensor is a number of elements and a type; views share storage. Equal kernels are
// counted together, so a model with 80 layers costs only its few different layers.
// Limits: one stream; no memory formats except rows that are apart.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/checked.h"
#include "model/allocator/memory_plan.h"
#include "model/core/data_type.h"
#include "model/core/operation.h"
#include "programs/software/kernel.h"

namespace ridge::programs {

class Recorder;

namespace model_phase {
inline constexpr std::string_view weights = "weights";
inline constexpr std::string_view cache = "cache";
inline constexpr std::string_view optimizer = "optimizer states";
inline constexpr std::string_view forward = "forward";
inline constexpr std::string_view backward = "backward";
inline constexpr std::string_view update = "update";
}  // namespace model_phase

/// What an allocation is for.
enum class Purpose : std::uint8_t {
    activation,
    weight,
    cache,
    optimizer,
    gradient,
    logits,
    gathered  ///< weights that ZeRO 3 gathers
};

/// A reference-counting handle. `dense()` is false for a view whose rows are not adjacent.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer& other);
    Buffer(Buffer&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), id_(other.id_), dense_(other.dense_) {}
    Buffer& operator=(Buffer other) noexcept {
        std::swap(owner_, other.owner_);
        std::swap(id_, other.id_);
        std::swap(dense_, other.dense_);
        return *this;
    }
    ~Buffer() { reset(); }

    void reset();
    [[nodiscard]] explicit operator bool() const { return owner_ != nullptr; }
    [[nodiscard]] std::int64_t elements() const;
    [[nodiscard]] model::DataType type() const;
    [[nodiscard]] bool dense() const { return dense_; }
    /// The same tensor viewed with its rows apart (transposed heads), or together again.
    [[nodiscard]] Buffer apart() const;
    [[nodiscard]] Buffer together() const;

  private:
    friend class Recorder;
    Buffer(Recorder* owner, std::int32_t id, bool dense) : owner_(owner), id_(id), dense_(dense) {}

    Recorder* owner_ = nullptr;
    std::int32_t id_ = -1;
    bool dense_ = true;
};

/// A weight: a resident tensor, with or without a gradient.
struct Linear {
    Buffer weight;
    Buffer bias;
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    bool transposed = false;  ///< stored [inputs, outputs]
    bool plain = false;       ///< keeps the model's type in a quantised checkpoint
};

struct RecorderOptions {
    bool training = false;
    bool memory = true;  ///< whether allocations are recorded
    std::int64_t layers = 0;
    /// GPUs that each have their own data, and what ZeRO distributes over them: 1 the optimizer's
    /// states, 2 the gradients too, 3 the weights too.
    std::int64_t data_parallel = 1;
    std::int64_t zero = 0;
    /// Bytes of gradients after which they are reduced together, the first time and later; 0: those of
    /// a layer (wrapper.h).
    std::int64_t first_bucket = 0;
    std::int64_t bucket = 0;
    /// A compiler has merged elementwise calls, casts and copies into the kernels around them; only
    /// calls that state their own kernel remain (fused.cpp).
    bool fused = false;
};

/// What runs again for its gradient: everything, or only what lies between products and attention,
/// whose results are kept.
enum class Recompute : std::uint8_t { everything, between };

/// Whether communication runs in order with the kernels, or concurrently in its own stream.
enum class Stream : std::uint8_t { same, own };

class Recorder {
  public:
    explicit Recorder(RecorderOptions options) : options_(options) {}
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    // The current position: labels of the kernels that follow, and how often they run.
    void enter(Module module, std::int64_t layer) {
        module_ = module;
        layer_ = layer;
    }
    void module(Module module) { module_ = module; }
    /// Whether the products that follow have weights of the model's type.
    void plain(bool plain) { plain_ = plain; }
    [[nodiscard]] Module module() const { return module_; }
    void repeat(std::int64_t times) { times_ = times; }
    void begin(std::string_view phase) {
        if (options_.memory) plan_.begin(phase);
    }
    /// Of the allocations that follow; those of head and loss are logits if nothing else is said.
    void purpose(Purpose purpose) { purpose_ = purpose; }
    /// Changes what a tensor is for.
    void mark(const Buffer& tensor, Purpose purpose);
    /// Of each allocation of the plan.
    [[nodiscard]] const std::vector<Purpose>& purposes() const { return purposes_; }

    // Tensors.
    [[nodiscard]] Buffer allocate(std::int64_t elements, model::DataType type,
                                  std::string_view name, bool gradient = false);
    /// `bytes`, if not 0, replaces the size of the elements (quantised weights).
    [[nodiscard]] Buffer parameter(std::int64_t elements, model::DataType type,
                                   std::string_view name, std::int64_t bytes = 0) {
        const bool spread = options_.training && options_.zero >= 3;
        const std::int64_t stored =
            spread ? ceil_divide(elements, options_.data_parallel) : elements;
        if (bytes == 0) bytes = stored * model::size_of(type);
        Buffer made = allocate_part(elements, stored, bytes, type, name, options_.training);
        values_[static_cast<std::size_t>(made.id_)].leaf = true;
        if (options_.training) parameters_.push_back(made);
        return made;
    }
    /// Of all tensors so far.
    [[nodiscard]] std::int64_t allocated_elements() const { return allocated_elements_; }
    [[nodiscard]] std::int64_t allocated_bytes() const { return allocated_bytes_; }
    [[nodiscard]] const std::vector<Buffer>& parameters() const { return parameters_; }
    void update_pass() { pass_ = Pass::update; }
    /// A part of a tensor, without a copy.
    [[nodiscard]] Buffer slice(const Buffer& base, std::int64_t elements, std::string_view name);
    /// The parts of a tensor that is cut in one call (chunk, split): one gradient joins them again.
    [[nodiscard]] std::vector<Buffer> split(const Buffer& base,
                                            std::span<const std::int64_t> elements,
                                            std::string_view name);

    // Elementwise.
    [[nodiscard]] Buffer unary(Math math, Buffer x, std::string_view name);
    [[nodiscard]] Buffer binary(Math math, Buffer x, Buffer y, std::string_view name);
    /// x times or plus a smaller tensor, broadcast to the shape of x: one element per row
    /// (`along_rows`), or the same for all rows.
    [[nodiscard]] Buffer broadcast(Math math, Buffer x, Buffer y, std::string_view name,
                                   bool along_rows = false);
    [[nodiscard]] Buffer cast(Buffer x, model::DataType type, std::string_view name);
    [[nodiscard]] Buffer dropout(Buffer x, double probability, std::string_view name);
    /// Copies a view whose rows are apart; does nothing for a dense tensor.
    [[nodiscard]] Buffer contiguous(Buffer x, std::string_view name);
    /// A projection viewed as heads, [batch, heads, tokens, head_dim]: with several tokens the rows
    /// are apart. Its gradient is copied back if it arrives in another order.
    [[nodiscard]] Buffer heads(Buffer x, bool apart, std::string_view name);

    // Along rows.
    [[nodiscard]] Buffer mean(Buffer x, std::int64_t columns, std::string_view name);
    [[nodiscard]] Buffer layer_norm(Buffer x, const Buffer& weight, const Buffer& bias,
                                    std::int64_t columns, std::string_view name);
    [[nodiscard]] Buffer softmax(Buffer x, std::int64_t columns, std::string_view name);

    // Joining and looking up.
    [[nodiscard]] Buffer cat(Buffer x, Buffer y, std::int64_t piece, std::string_view name);
    [[nodiscard]] Buffer embedding(const Buffer& table, std::int64_t rows, std::int64_t columns,
                                   std::int64_t table_rows, std::string_view name);

    // Products and attention.
    [[nodiscard]] Buffer linear(Buffer x, const Linear& layer, std::string_view name);
    [[nodiscard]] Buffer attention(const Buffer& q, const Buffer& k, const Buffer& v,
                                   const AttentionShape& shape, std::string_view name);
    /// One kernel of a serving engine; in training it has no time.
    void serving_kernel(const ServingOperation& operation, model::DataType type, bool training,
                        std::string_view name);
    /// x[rows, k] times the [k, n] of its expert; rows are sorted by expert.
    [[nodiscard]] Buffer grouped(Buffer x, const Buffer& weights, std::int64_t rows, std::int64_t n,
                                 std::int64_t k, std::int64_t experts, std::string_view name);

    /// Fused kernels of serving engines: read `inputs` tensors and write one.
    [[nodiscard]] Buffer fused(Math math, Buffer x, int inputs, std::string_view name);
    /// The norm with the addition before it: reads two tensors and writes two.
    [[nodiscard]] Buffer fused_norm(Buffer x, std::int64_t columns, std::string_view name);
    /// What a compiler makes of a chain of elementwise calls: one kernel over tensors of one size.
    /// An empty name means that the chain is part of another kernel.
    [[nodiscard]] Buffer merged(Math math, std::initializer_list<const Buffer*> inputs,
                                Reading reading, std::string_view name);
    /// A norm merged with the calls around it; takes as long as a norm that reads and writes
    /// `tensors` tensors in all. With 0 it is part of another kernel.
    [[nodiscard]] Buffer merged_norm(Buffer x, const Buffer& weight, const Buffer& bias,
                                     std::int64_t columns, int tensors, std::string_view name);
    /// A copy that a compiler makes to change a layout.
    void compiled_copy(std::int64_t elements, model::DataType in, model::DataType out,
                       Reading reading, std::string_view name);

    // Moving rows.
    /// Repeats every head of K or V `times` times: expand and copy.
    [[nodiscard]] Buffer repeated(Buffer x, std::int64_t times, std::string_view name);
    [[nodiscard]] Buffer gather_rows(const Buffer& x, std::int64_t rows, std::int64_t columns,
                                     std::int64_t table_rows, std::string_view name);
    [[nodiscard]] Buffer in_place(Math math, Buffer x, std::string_view name);
    /// The chosen elements of each row (topk, gather), without the kernel that chooses; the
    /// gradient is scattered.
    [[nodiscard]] Buffer picked(const Buffer& x, std::int64_t few, std::string_view name);
    /// The same tensor; its gradient takes one more small kernel.
    [[nodiscard]] Buffer with_gradient_of(Buffer x, std::int64_t bytes, std::string_view name);
    /// Joins rows that consist of `heads` separate parts and one part that all heads share into one
    /// tensor, by copies.
    [[nodiscard]] Buffer assembled(const Buffer& own, const Buffer& shared, std::int64_t heads,
                                   std::string_view name);
    /// A few numbers divided by the sum of their row.
    [[nodiscard]] Buffer normalised(Buffer x, std::string_view name);
    /// Each row of x times its own weight.
    [[nodiscard]] Buffer weighted(const Buffer& x, const Buffer& weights, std::string_view name);
    /// Sums of `group` neighbouring rows.
    [[nodiscard]] Buffer sum_of_rows(Buffer x, std::int64_t rows, std::int64_t group,
                                     std::int64_t columns, std::string_view name);
    void sort(std::int64_t elements, std::string_view name);
    /// A contiguous copy of matrices of `rows` by `columns` that are stored by columns; what is added to
    /// them on the way takes hardly longer. Forward only.
    [[nodiscard]] Buffer transposed(const Buffer& x, std::int64_t rows, std::int64_t columns,
                                    std::string_view name);
    /// A convolution whose filters do not overlap, of patches as rows. Forward only.
    [[nodiscard]] Buffer patches(const Buffer& x, const Linear& layer, std::string_view name);
    /// One product for each of `batch` matrices.
    void batched(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                 model::DataType type, std::string_view name,
                 ProductForm form = ProductForm::plain);
    void copy_elements(std::int64_t elements, model::DataType type, std::string_view name);

    /// Mean cross entropy over rows of logits in fp32, with shifted labels.
    [[nodiscard]] Buffer cross_entropy(Buffer logits, std::int64_t rows, std::int64_t classes);

    /// Runs `part` without a tape, and again when its gradient is needed (torch.utils.checkpoint;
    /// for `between`, with a policy that saves products and attention).
    [[nodiscard]] Buffer checkpointed(const Buffer& x, Recompute what,
                                      std::function<Buffer(Buffer)> part);

    // Several GPUs.
    void collective(model::CollectiveKind kind, std::int64_t bytes, std::int64_t gpus,
                    std::string_view name, Stream stream = Stream::same);
    /// A copy of what a collective moves into or out of its buffer.
    void copied(std::int64_t bytes, std::string_view name);
    /// What follows waits until the last collective of the own stream has ended.
    void await_collective() { awaited_ = last_collective_; }
    /// The collectives that follow in the own stream wait only for the last kernel so far, and not for
    /// those launched until then.
    void hold_collectives() { gate_ = last_kernel_; }
    /// The input of products whose outputs are distributed over GPUs: its gradient is summed over
    /// the GPUs.
    [[nodiscard]] Buffer enter_shards(Buffer x, std::int64_t gpus, std::string_view name);
    /// The parts of all GPUs; each GPU takes its own part of the gradient.
    [[nodiscard]] Buffer all_gathered(Buffer x, std::int64_t gpus, std::string_view name);
    /// `begin` is called in the backward pass when a layer begins.
    void on_layer(std::function<void(std::int64_t)> begin) { begin_layer_ = std::move(begin); }

    /// Launches the gradients of everything on the tape.
    void backward(Buffer loss);

    // Kernels for which only the launch, the bytes and a result matter.
    void launch(StepKernel kernel);
    /// `least`: its least time.
    void small(std::string_view name, std::int64_t bytes = 1024, Time least = {});
    [[nodiscard]] Buffer made(Math math, std::int64_t elements, model::DataType type,
                              std::string_view name);

    /// A launch of a training step, in the order of the step.
    struct Ordered {
        std::int32_t kernel = 0;  ///< index in `kernels`
        std::int32_t after = -1;  ///< index of a launch of the other stream that has to end first
        std::int64_t layer = -1;
    };
    [[nodiscard]] const std::vector<Ordered>& order() const { return order_; }

    struct Counted {
        StepKernel kernel;
        std::int64_t count = 0;
        std::int64_t layer = -1;
    };
    [[nodiscard]] const std::vector<Counted>& kernels() const { return kernels_; }
    [[nodiscard]] const std::vector<AttentionShape>& attentions() const { return attentions_; }
    [[nodiscard]] const std::vector<ServingOperation>& serving_operations() const {
        return serving_operations_;
    }
    [[nodiscard]] const model::MemoryPlan& memory() const { return plan_; }

  private:
    friend class Buffer;
    /// A compiler turns a reduction over rows into two kernels; this is the time of the second,
    /// over partial sums.
    struct Storage {
        std::int32_t references = 0;
        model::MemoryPlan::Id block = 0;
        bool allocated = false;
    };
    struct Value {
        std::int64_t elements = 0;
        model::DataType type = model::DataType::bf16;
        std::int32_t storage = -1;
        std::int32_t references = 0;
        bool gradient = false;
        bool leaf = false;
    };
    enum class Step : std::uint8_t {
        unary,
        binary,
        broadcast,
        cast,
        dropout,
        heads,
        mean,
        layer_norm,
        softmax,
        cat,
        slice,
        split,
        embedding,
        linear,
        attention,
        grouped,
        gather,
        picked,
        normalised,
        cross_entropy,
        checkpoint,
        enter_shards,
        assembled,
        same,
        merged,
        merged_norm
    };
    struct TapeEntry {
        Step step = Step::unary;
        Math math = Math::copy;
        model::DataType type = model::DataType::bf16;
        Module module = Module::other;
        std::int64_t layer = -1;
        std::array<std::int32_t, 4> inputs{-1, -1, -1, -1};
        std::int32_t output = -1;
        std::vector<std::int32_t> outputs{};
        std::vector<Buffer> saved{};
        std::array<std::int64_t, 4> sizes{};
        std::int32_t attention = -1;
        bool transposed = false;
        std::string_view name{};
        std::function<Buffer(Buffer)> part{};
    };

    [[nodiscard]] std::int32_t new_value(std::int64_t elements, model::DataType type,
                                         std::int32_t storage, bool gradient);
    void retain(std::int32_t id) { ++values_[static_cast<std::size_t>(id)].references; }
    void release(std::int32_t id);
    [[nodiscard]] const Value& value(const Buffer& t) const {
        return values_[static_cast<std::size_t>(t.id_)];
    }
    [[nodiscard]] bool records(const Buffer& a) const {
        return options_.training && taping_ && a && value(a).gradient;
    }
    /// Launches a kernel, unless a compiler merges it into another.
    void pointwise(Math math, std::int64_t elements, int inputs, Reading reading,
                   model::DataType in, model::DataType out, std::string_view name) {
        if (!options_.fused) elementwise(math, elements, inputs, reading, in, out, name);
    }
    void elementwise(Math math, std::int64_t elements, int inputs, Reading reading,
                     model::DataType in, model::DataType out, std::string_view name);
    [[nodiscard]] std::int64_t padded(std::int64_t outputs, std::int64_t rows,
                                      std::int64_t inputs) const;
    void rows_kernel(KernelKind kind, std::int64_t rows, std::int64_t columns, model::DataType type,
                     std::string_view name);
    void product(ProductForm form, std::int64_t m, std::int64_t n, std::int64_t k,
                 model::DataType type, bool bias, std::string_view name);
    /// Records a step on the tape with the first input's type if an input needs a gradient;
    /// otherwise returns nullptr.
    TapeEntry* note(Step step, const Buffer& output, std::string_view name,
                    std::initializer_list<const Buffer*> inputs);
    [[nodiscard]] Buffer allocate_part(std::int64_t elements, std::int64_t stored,
                                       std::int64_t bytes, model::DataType type,
                                       std::string_view name, bool gradient);
    /// The kept result of a product that does not run again; empty if it has to run.
    [[nodiscard]] Buffer kept_result();
    void keep(const Buffer& result);
    void order(std::int32_t kernel, bool own_stream);
    [[nodiscard]] Buffer reduced(Buffer gradient, bool again);
    void reduce_bucket();
    void reduce_layer();
    void accumulate(std::int32_t id, Buffer gradient);
    [[nodiscard]] Buffer take_gradient(std::int32_t id);
    void run_backward(TapeEntry& entry);
    void run_again(TapeEntry& entry, Buffer gradient);
    void backward_unary(TapeEntry& entry, Buffer gradient);
    void backward_binary(TapeEntry& entry, Buffer gradient);
    void backward_broadcast(TapeEntry& entry, Buffer gradient);
    void backward_rows(TapeEntry& entry, Buffer gradient);
    void backward_linear(TapeEntry& entry, Buffer gradient);
    void backward_attention(TapeEntry& entry, Buffer gradient);
    void backward_grouped(TapeEntry& entry, Buffer gradient);
    void backward_gather(TapeEntry& entry, Buffer gradient);
    void backward_assembled(TapeEntry& entry, Buffer gradient);
    void backward_merged(TapeEntry& entry, Buffer gradient);
    void backward_merged_norm(TapeEntry& entry, Buffer gradient);
    void backward_compiled_embedding(TapeEntry& entry, Buffer gradient);
    /// Reads the logits in their own type and keeps one sum per row.
    [[nodiscard]] Buffer compiled_log_softmax(const Buffer& logits, std::int64_t rows,
                                              std::int64_t classes);
    void backward_compiled_loss(TapeEntry& entry, Buffer gradient);
    void backward_picked(TapeEntry& entry, Buffer gradient);
    void backward_embedding(TapeEntry& entry, Buffer gradient);
    void backward_loss(TapeEntry& entry, Buffer gradient);

    RecorderOptions options_;
    Module module_ = Module::other;
    Purpose purpose_ = Purpose::activation;
    Pass pass_ = Pass::forward;
    bool taping_ = true;
    bool plain_ = false;
    std::vector<Buffer>* kept_ = nullptr;    ///< results are stored there
    std::vector<Buffer>* reused_ = nullptr;  ///< results are taken from there
    std::size_t next_reused_ = 0;
    std::int64_t unreduced_bytes_ = 0;  ///< of gradients that wait for their buckets
    std::int64_t unreduced_rest_ = 0;   ///< with ZeRO 2 and 3, of weights outside the layers
    bool reduces_ = false;              ///< whether a bucket has been reduced
    static constexpr std::int32_t ungated = -2;
    std::int32_t last_kernel_ = -1;      ///< in the order, of the kernels' stream
    std::int32_t last_collective_ = -1;  ///< of the collectives' own stream
    std::int32_t last_reduced_ = -1;
    std::int32_t awaited_ = -1;
    std::int32_t gate_ = ungated;
    std::vector<Ordered> order_;
    std::function<void(std::int64_t)> begin_layer_;
    std::int64_t layer_ = -1;
    std::int64_t times_ = 1;
    std::int64_t allocated_elements_ = 0;
    std::int64_t allocated_bytes_ = 0;
    std::vector<Value> values_;
    std::vector<std::int32_t> free_values_;
    std::vector<Storage> storages_;
    std::vector<Counted> kernels_;
    std::vector<std::int32_t> buckets_;
    std::vector<AttentionShape> attentions_;
    std::vector<ServingOperation> serving_operations_;
    model::MemoryPlan plan_;
    std::vector<Purpose> purposes_;
    // Handles come last: their destructors use all members above.
    std::vector<TapeEntry> tape_;
    std::vector<Buffer> gradients_;  ///< indexed by value
    std::vector<Buffer> parameters_;
};

}  // namespace ridge::programs
