#include "programs/aten/counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "programs/aten/convolution_shape.h"
#include "programs/aten/rules.h"

namespace ridge::programs {
namespace {

constexpr std::array<std::string_view, count_count> count_names{
    "bytes",     "elements", "results",  "strided",    "wide",     "index",    "values",  "table",
    "rows",      "columns",  "sorting",  "collisions", "meetings", "matrices", "side",    "solving",
    "outer",     "channels", "window",   "narrow",     "planes",   "pixels",   "weights", "across",
    "unaligned", "indexed",  "launches", "threads",    "blocks",   "share",    "turned",  "visited",
    "padded",    "outputs",  "depth",    "tiled",      "part"};

double of_sizes(const std::vector<std::int64_t>& sizes) {
    double all = 1.0;
    for (const std::int64_t size : sizes) all *= real(std::max<std::int64_t>(1, size));
    return all;
}

bool whole_numbers(ElementType type) {
    return type == ElementType::int64 || type == ElementType::int32;
}

/// Elements of the result where the call states its size: resampling, and gradients that name the
/// size of the input.
double stated_results(const Call& call, const Tensor& first) {
    if (call.name.find("upsample") == std::string::npos || first.dims.size() < 3) return 0.0;
    const bool backward = call.name.find("backward") != std::string::npos;
    const auto sizes = call.wholes(backward ? 2 : 1);
    if (sizes.empty()) return 0.0;
    return backward ? of_sizes(sizes) : real(first.dims[0] * first.dims[1]) * of_sizes(sizes);
}

/// Elements of the window of a pooling or a patch: the first list of small numbers.
double window_of(const Call& call) {
    constexpr std::int64_t largest = 64;
    for (std::size_t i = 1; i < call.arguments.size(); ++i) {
        const auto sizes = call.wholes(i);
        if (sizes.empty() || sizes.size() > 3) continue;
        if (*std::max_element(sizes.begin(), sizes.end()) <= largest) return of_sizes(sizes);
    }
    return 1.0;
}

/// Whether all tensors as large as `elements` lie alike and without gaps, so that vectors can be
/// loaded.
bool lie_alike(const std::vector<const Tensor*>& tensors, std::int64_t elements) {
    const Tensor* leader = nullptr;
    for (const Tensor* tensor : tensors) {
        if (tensor->elements() * 2 <= elements) continue;
        if (!tensor->dense()) return false;
        if (leader == nullptr) leader = tensor;
        if (leader->dims == tensor->dims && !leader->strides.empty() && !tensor->strides.empty() &&
            leader->strides != tensor->strides) {
            return false;
        }
    }
    return true;
}

/// What a generated kernel goes through: the product of its scalar arguments; 0: it has none.
double generated_elements(const Call& call) {
    double elements = 1.0;
    bool counted = false;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        if (!call.arguments[i].tensors.empty()) continue;
        if (const auto number = call.whole(i); number && *number > 0) {
            elements *= real(*number);
            counted = true;
        }
    }
    return counted ? elements : 0.0;
}

/// A kernel that adds a convolution's bias reads and writes the images that it names once.
bool adds_in_place(const Call& call) {
    const std::string_view name = call.name;
    const auto tensors = call.tensors();
    if (!name.starts_with("triton_poi") || name.find("convolution") == name.npos) return false;
    std::int64_t largest = 0;
    for (const Tensor* tensor : tensors) largest = std::max(largest, tensor->elements());
    const auto large = std::count_if(tensors.begin(), tensors.end(), [largest](const Tensor* each) {
        return each->elements() * 2 > largest;
    });
    return tensors.size() > 1 && large == 1;
}

/// A kernel of torch.compile, whose last scalar arguments are its numbers of elements. Of a table that it
/// gathers from, it reads fewer bytes than the table has.
void add_generated(Counts& counts, const Call& call, ElementType hint) {
    if (!bare_operator(call.name).starts_with("triton_")) return;
    if (!generated_counted(call)) return;
    const double elements = generated_elements(call);
    double bytes = 0.0;
    for (const Tensor* tensor : call.tensors()) {
        const ElementType type = tensor->type == ElementType::unknown ? hint : tensor->type;
        bytes += std::min(elements, real(tensor->stored_elements())) * real(size_of(type));
    }
    counts[Count::bytes] = bytes * (adds_in_place(call) ? 2.0 : 1.0);
    counts[Count::elements] = counts[Count::results] = elements;
    counts[Count::window] = elements * real(static_cast<std::int64_t>(call.tensors().size()));
    counts[Count::values] = generated_adds(call, elements);
}

constexpr std::array along_table{Along{"_cummax_helper", 3},
                                 Along{"_cummin_helper", 3},
                                 Along{"_log_softmax", 1},
                                 Along{"_log_softmax_backward_data", 2},
                                 Along{"_logcumsumexp", 1},
                                 Along{"_softmax", 1},
                                 Along{"_softmax_backward_data", 2},
                                 Along{"all", 1, true},
                                 Along{"amax", 1, true},
                                 Along{"amin", 1, true},
                                 Along{"any", 1, true},
                                 Along{"argmax", 1, true},
                                 Along{"argmin", 1, true},
                                 Along{"cumprod", 1},
                                 Along{"cumsum", 1},
                                 Along{"kthvalue", 2, true},
                                 Along{"linalg_vector_norm", 2, true},
                                 Along{"logsumexp", 1, true},
                                 Along{"max", 1, true},
                                 Along{"mean", 1, true},
                                 Along{"median", 1, true},
                                 Along{"min", 1, true},
                                 Along{"nansum", 1, true},
                                 Along{"prod", 1, true},
                                 Along{"std", 1, true},
                                 Along{"std_mean", 1, true},
                                 Along{"sum", 1, true},
                                 Along{"topk", 2},
                                 Along{"var", 1, true},
                                 Along{"var_mean", 1, true}};

/// The result of a reduction as a tensor that is broadcast along what is gone.
Tensor reduced(const Tensor& x, const std::vector<bool>& gone) {
    Tensor result{.type = x.type, .dims = x.dims, .strides = {}};
    for (std::size_t i = 0; i < gone.size(); ++i) result.dims[i] = gone[i] ? 1 : x.dims[i];
    return result;
}

/// What an index is computed for: by the loop over all tensors, or, of a concatenation, over the result.
void add_loop(Counts& counts, const Call& call, const std::vector<const Tensor*>& tensors) {
    const double elements = counts[Count::elements];
    const std::size_t rank = tensors.front()->dims.size();
    if (bare_operator(call.name) == "cat") {
        counts[Count::indexed] = elements * static_cast<double>(rank);
        return;
    }
    std::vector<Tensor> all;
    for (const Tensor* tensor : tensors) all.push_back(*tensor);
    counts[Count::indexed] = elements * real(loop_dimensions(all));
    counts[Count::across] = loop_lies_apart(all) ? elements : 0.0;
}

/// A group norm's rows are its groups.
void add_groups(Counts& counts, const Call& call, const Tensor& first) {
    const std::string_view name = bare_operator(call.name);
    if (!name.starts_with("native_group_norm") || first.dims.empty()) return;
    const std::int64_t groups = call.whole(name.ends_with("backward") ? 8 : 6).value_or(1);
    const double rows = real(first.dims.front()) * real(std::max<std::int64_t>(1, groups));
    counts[Count::rows] = rows;
    counts[Count::channels] = rows;
    counts[Count::columns] = real(first.elements()) / rows;
}

/// Rows along the dimensions that the call names, which need not be its last.
void add_rows(Counts& counts, const Call& call, const Tensor& first) {
    const std::string_view name = bare_operator(call.name);
    const Along* const along = along_of(name);
    if (along == nullptr || first.dims.empty()) return;
    auto dims = call.wholes(along->place);
    if (const auto one = call.whole(along->place); dims.empty() && one) dims = {*one};
    if (dims.empty() && !along->reduces) return;
    const auto rank = static_cast<std::int64_t>(first.dims.size());
    std::vector<bool> gone(first.dims.size(), dims.empty());
    for (const std::int64_t dim : dims) {
        const std::int64_t place = dim < 0 ? dim + rank : dim;
        if (place >= 0 && place < rank) gone[static_cast<std::size_t>(place)] = true;
    }
    double columns = 1.0;
    std::size_t inner = first.dims.size() - 1;  // the dimension with the smallest stride
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < gone.size(); ++i) {
        if (gone[i]) columns *= real(std::max<std::int64_t>(1, first.dims[i]));
        if (first.strides.size() != gone.size() || first.dims[i] < 2) continue;
        if (first.strides[i] < least) {
            least = first.strides[i];
            inner = i;
        }
    }
    const double all = real(first.elements());
    counts[Count::columns] = columns;
    counts[Count::rows] = all / columns;
    counts[Count::sorting] = all * std::log2(std::max(2.0, columns));
    counts[Count::across] = gone[inner] ? 0.0 : all;
    if (!along->reduces) return;
    counts[Count::results] = counts[Count::rows];
    counts[Count::indexed] = all * real(loop_dimensions({first, reduced(first, gone)}));
}

/// Resampling: planes of all images, which each thread goes through, and how many threads of a warp add
/// into one place.
void add_resampling(Counts& counts, const Call& call, const Tensor& first) {
    counts[Count::matrices] = real(first.dims[0] * first.dims[1]);
    counts[Count::window] = 0.0;
    if (call.name.find("backward") == std::string::npos) return;
    const auto sizes = call.wholes(2);
    if (sizes.size() < 3) return;
    constexpr double warp = 32.0;
    const double grown = real(first.dims.back()) / real(std::max<std::int64_t>(1, sizes.back()));
    counts[Count::window] = real(first.elements()) * std::clamp(grown, 1.0, warp);
}

/// Steps of a recurrent network that wait for each other, and its products.
void add_recurrent(Counts& counts, const Subject& subject) {
    const auto shape = recurrent_shape(subject);
    if (!shape) return;
    counts[Count::rows] = real(shape->steps);
    counts[Count::window] = shape->products;
}

void add_convolution(Counts& counts, const ConvolutionShape& shape) {
    counts[Count::results] = shape.results;
    counts[Count::table] = real(shape.input->elements());
    counts[Count::window] = shape.products;
    counts[Count::weights] = shape.weights;
    counts[Count::channels] = shape.groups;
}

void add_matrices(Counts& counts, const Tensor& first) {
    if (first.dims.size() < 2) return;
    const std::int64_t rows = first.dims[first.dims.size() - 2];
    const std::int64_t columns = first.dims.back();
    const double all = real(first.elements());
    counts[Count::side] = real(std::max(rows, columns));
    counts[Count::matrices] = all / std::max(1.0, real(rows) * real(columns));
    counts[Count::solving] = all * counts[Count::side];
    counts[Count::channels] = real(first.dims[1]);
    counts[Count::outer] = all / std::max(1.0, real(first.dims[1]));
}

/// How many values meet in one place if they are spread evenly.
void add_meetings(Counts& counts) {
    const double met = counts[Count::values] / counts[Count::table];
    counts[Count::collisions] = counts[Count::values] * std::max(0.0, std::log2(met));
    counts[Count::meetings] = std::min(met, counts[Count::values]);
}

/// The largest tensor, the size of its elements, and the bytes of all.
struct Sizes {
    std::int64_t largest = 0;
    std::int64_t size = 0;
    double bytes = 0.0;
};

/// Counts elements of whole numbers on the way. What a copy writes to it does not read.
Sizes sizes_of(Counts& counts, const Call& call, const std::vector<const Tensor*>& tensors,
               ElementType hint) {
    Sizes found;
    const bool copied = bare_operator(call.name) == "copy" && tensors.size() > 1;
    for (const Tensor* tensor : tensors) {
        const std::int64_t size =
            size_of(tensor->type == ElementType::unknown ? hint : tensor->type);
        if (!copied || tensor != tensors.front()) {
            found.bytes += real(tensor->stored_elements()) * real(size);
        }
        if (whole_numbers(tensor->type)) counts[Count::index] += real(tensor->elements());
        if (tensor->elements() <= found.largest) continue;
        found.largest = tensor->elements();
        found.size = size;
    }
    return found;
}

}  // namespace

const Along* along_of(std::string_view name) {
    const auto* const found = std::find_if(along_table.begin(), along_table.end(),
                                           [name](const Along& each) { return each.name == name; });
    return found == along_table.end() ? nullptr : found;
}

bool adds_into_places(const Call& call) {
    static constexpr std::string_view gathers = "unsafe";  // "_unsafe_index_add" gathers, then adds
    constexpr std::size_t fewest = 3;
    constexpr std::array adding{"index_put", "_index_add", "scatter_add", "scatter_reduce",
                                "embedding_dense_backward"};
    const std::string_view name = call.name;
    return call.tensors().size() >= fewest &&
           std::any_of(adding.begin(), adding.end(), [name](std::string_view each) {
               const std::size_t place = name.find(each);
               if (place == name.npos) return false;
               return each != "_index_add" || !name.substr(0, place).ends_with(gathers);
           });
}

bool generated_counted(const Call& call) {
    return generated_elements(call) > 0.0;
}

double generated_adds(const Call& call, double elements) {
    if (!adds_into_places(call)) return 0.0;
    const auto tensors = call.tensors();
    // Tables of rows are read as well, in the size of the one that is added into.
    constexpr std::size_t images = 3;
    if (tensors.back()->dims.size() < images) return elements;
    // The last tensors are results, of one size if the kernel adds into several.
    const auto results = std::count_if(
        tensors.begin(), tensors.end(),
        [&tensors](const Tensor* each) { return each->dims == tensors.back()->dims; });
    return elements * real(results);
}

Counts counts_of(const Call& call, ElementType hint) {
    Counts counts;
    std::vector<const Tensor*> tensors = call.tensors();
    std::erase_if(tensors, [](const Tensor* tensor) { return tensor->elements() < 1; });
    if (tensors.empty()) return counts;
    const auto type_at = [hint](const Tensor& tensor) {
        return tensor.type == ElementType::unknown ? hint : tensor.type;
    };
    const auto [largest, size, bytes] = sizes_of(counts, call, tensors, hint);
    const Tensor& first = *tensors.front();
    const double stated = stated_results(call, first);
    const double results = stated > 0.0 ? stated : real(largest);
    const double elements = std::max(real(largest), results);
    constexpr std::int64_t wide = 4;
    counts[Count::bytes] = bytes + results * real(size);
    counts[Count::elements] = elements;
    counts[Count::results] = results;
    counts[Count::strided] = lie_alike(tensors, largest) ? 0.0 : elements;
    counts[Count::wide] = size >= wide ? elements : 0.0;
    counts[Count::values] = real(tensors.back()->elements());
    counts[Count::table] = real(first.elements());
    const double columns = first.dims.empty() ? 1.0 : real(first.dims.back());
    counts[Count::columns] = columns;
    constexpr std::int64_t vector = 16;
    const std::int64_t row_bytes =
        first.dims.empty() ? 0 : first.dims.back() * size_of(type_at(first));
    counts[Count::unaligned] = row_bytes % vector == 0 ? 0.0 : elements;
    counts[Count::rows] = real(first.elements()) / std::max(1.0, columns);
    counts[Count::sorting] = real(first.elements()) * std::log2(std::max(2.0, columns));
    add_meetings(counts);
    counts[Count::window] = results * window_of(call);
    counts[Count::narrow] = size < wide ? elements : 0.0;
    if (stated > 0.0 && stated < real(largest)) {  // many of them are added to each result
        counts[Count::collisions] = real(largest) * std::log2(real(largest) / stated);
    }
    add_generated(counts, call, hint);
    add_matrices(counts, first);
    if (stated > 0.0) add_resampling(counts, call, first);
    add_loop(counts, call, tensors);
    add_rows(counts, call, first);
    add_groups(counts, call, first);
    add_recurrent(counts, {call, hint});
    const bool last = channels_last(first);
    counts[Count::planes] = last ? 0.0 : counts[Count::outer];
    counts[Count::pixels] = last ? elements : 0.0;
    const auto places = convolution_arguments(call, bare_operator(call.name));
    if (!places) return counts;
    if (const auto shape = convolution_shape(call, *places)) add_convolution(counts, *shape);
    return counts;
}

std::string_view name_of(Count which) {
    return count_names.at(static_cast<std::size_t>(which));
}

std::optional<Count> count_named(std::string_view name) {
    for (std::size_t i = 0; i < count_count; ++i) {
        if (count_names.at(i) == name) return static_cast<Count>(i);
    }
    return {};
}

}  // namespace ridge::programs
