#include "programs/traces/trace_event.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "hardware/byte_source.h"
#include "hardware/number_text.h"
#include "programs/traces/json_scanner.h"

namespace ridge::programs {
namespace {

std::int64_t whole(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return value;
    const double real = read_real(text).value;
    constexpr double limit = 9e18;
    return std::abs(real) < limit ? static_cast<std::int64_t>(real) : -1;
}

/// Converts decimal microseconds to the nearest nanosecond, without a double in between: a time
/// since boot in microseconds with three decimals has more digits than a double can hold.
std::int64_t nanoseconds(std::string_view text) {
    std::int64_t micro = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, micro);
    constexpr std::int64_t limit = 4'000'000'000'000'000;  // sums and differences of two still fit
    if (error != std::errc{} || micro > limit || micro < -limit) return 0;
    if (end == last) return micro * 1000;
    if (*end == '.' && text.find_first_of("eE") == std::string_view::npos) {
        std::int64_t nano = 0;
        int digits = 0;
        const char* at = end + 1;
        for (; at != last && digits < 3; ++at, ++digits) nano = nano * 10 + (*at - '0');
        if (at != last && *at >= '5') ++nano;  // JAX writes 18798.085999999999
        for (; digits < 3; ++digits) nano *= 10;
        return micro * 1000 + (text.front() == '-' ? -nano : nano);
    }
    const double real = read_real(text).value;
    return std::abs(real) < static_cast<double>(limit)
               ? static_cast<std::int64_t>(std::llround(real * 1000.0))
               : 0;
}

/// More than a day; sums over the events of a trace stay in range.
constexpr std::int64_t longest_duration_ns = 100'000'000'000'000;

enum class Place : std::uint8_t {
    outside,
    document,
    events,
    event,
    args,
    list,
    devices,
    device,
    skip
};

/// The meaning of a key of an event or of its args.
enum class Field : std::uint8_t {
    none,
    phase,
    category,
    name,
    process,
    thread,
    start,
    duration,
    args,
    external_id,
    correlation,
    sequence,
    record,
    device,
    stream,
    bytes,
    registers,
    shared_bytes,
    graph_node,
    grid,
    block,
    input_types,
    input_dims,
    input_strides,
    concrete_inputs,
    collective,
    collective_type,
    elements_in,
    elements_out,
    group_size,
    label,
    module,
    details,
    copied
};

struct Word {
    std::string_view text{};
    Field field = Field::none;
};

constexpr std::array event_words{Word{"ph", Field::phase},     Word{"cat", Field::category},
                                 Word{"name", Field::name},    Word{"pid", Field::process},
                                 Word{"tid", Field::thread},   Word{"ts", Field::start},
                                 Word{"dur", Field::duration}, Word{"args", Field::args}};
constexpr std::array arg_words{Word{"External id", Field::external_id},
                               Word{"correlation", Field::correlation},
                               Word{"Sequence number", Field::sequence},
                               Word{"Record function id", Field::record},
                               Word{"device", Field::device},
                               Word{"stream", Field::stream},
                               Word{"bytes", Field::bytes},
                               Word{"registers per thread", Field::registers},
                               Word{"shared memory", Field::shared_bytes},
                               Word{"graph node id", Field::graph_node},
                               Word{"grid", Field::grid},
                               Word{"block", Field::block},
                               Word{"Input type", Field::input_types},
                               Word{"Input Dims", Field::input_dims},
                               Word{"Input Strides", Field::input_strides},
                               Word{"Concrete Inputs", Field::concrete_inputs},
                               Word{"Collective name", Field::collective},
                               Word{"dtype", Field::collective_type},
                               Word{"In msg nelems", Field::elements_in},
                               Word{"Out msg nelems", Field::elements_out},
                               Word{"Group size", Field::group_size},
                               Word{"name", Field::label},
                               Word{"hlo_module", Field::module},
                               Word{"kernel_details", Field::details},
                               Word{"memcpy_details", Field::copied},
                               Word{"correlation_id", Field::correlation}};

/// Words by length: a name is compared only with the one or two words of the same length.
class Words {
  public:
    template <std::size_t count>
    constexpr explicit Words(const std::array<Word, count>& words) {
        for (const Word& word : words) {
            auto& same = by_length_.at(word.text.size());
            for (Word& place : same) {
                if (place.text.empty()) {
                    place = word;
                    break;
                }
            }
        }
    }
    [[nodiscard]] constexpr Field find(std::string_view text) const {
        if (text.size() > longest) return Field::none;
        for (const Word& word : by_length_[text.size()]) {
            if (word.text == text) return word.text.empty() ? Field::none : word.field;
        }
        return Field::none;
    }

  private:
    static constexpr std::size_t longest = 20;
    static constexpr std::size_t most = 4;
    std::array<std::array<Word, most>, longest + 1> by_length_{};
};

constexpr Words event_fields{event_words};
constexpr Words arg_fields{arg_words};

class EventHandler {
  public:
    EventHandler(TraceHeader& header, const std::function<void(const TraceEvent&)>& visit)
        : header_(header), visit_(visit) {
        places_.push_back(Place::outside);
    }

    [[nodiscard]] std::uint64_t events() const { return events_; }

    void key(std::string_view key) {
        switch (place()) {
            case Place::event:
                field_ = event_fields.find(key);
                break;
            case Place::args:
                field_ = arg_fields.find(key);
                break;
            case Place::document:
            case Place::device:
                key_ = key;
                break;
            default:
                break;
        }
    }
    bool start_object() {
        switch (place()) {
            case Place::outside:
                return enter(Place::document);
            case Place::events:
                event_.clear();
                return enter(Place::event);
            case Place::event:
                return enter(field_ == Field::args ? Place::args : Place::skip);
            case Place::devices:
                header_.devices.emplace_back();
                return enter(Place::device);
            default:
                return enter(Place::skip);
        }
    }
    bool start_array() {
        switch (place()) {
            case Place::outside:
                return enter(Place::events);
            case Place::document:
                if (key_ == "traceEvents") return enter(Place::events);
                return enter(key_ == "deviceProperties" ? Place::devices : Place::skip);
            case Place::args:
                index_ = 0;
                if (std::string* const text = list()) *text += '[';
                return enter(Place::list);
            case Place::list:
                if (std::string* const text = list()) open(*text);
                return enter(Place::list);
            default:
                return enter(Place::skip);
        }
    }
    void end_object() {
        const Place left = place();
        places_.pop_back();
        if (left == Place::event) {
            ++events_;
            visit_(event_);
        }
    }
    void end_array() {
        const Place left = place();
        places_.pop_back();
        if (left == Place::list) {
            if (std::string* const text = list()) *text += ']';
        }
    }
    void number(std::string_view number) {
        switch (place()) {
            case Place::event:
            case Place::args:
                set_number(number);
                break;
            case Place::list:
                element(number, false);
                break;
            case Place::device:
                set_device(number);
                break;
            default:
                break;
        }
    }
    void string(std::string_view string) {
        switch (place()) {
            case Place::event:
            case Place::args:
                set_text(string);
                break;
            case Place::list:
                element(string, true);
                break;
            case Place::device:
                if (key_ == "name") header_.devices.back().name = string.substr(0, longest_text);
                break;
            default:
                break;
        }
    }

  private:
    static constexpr std::size_t deepest = 64;

    [[nodiscard]] Place place() const { return places_.back(); }
    bool enter(Place next) {
        places_.push_back(next);
        return places_.size() <= deepest;
    }

    /// The text that receives the current list of an event's args; null: the list is not kept.
    std::string* list() {
        switch (field_) {
            case Field::input_types:
                return &event_.input_types;
            case Field::input_dims:
                return &event_.input_dims;
            case Field::input_strides:
                return &event_.input_strides;
            case Field::concrete_inputs:
                return &event_.concrete_inputs;
            default:
                return nullptr;
        }
    }
    static void separate(std::string& text) {
        if (!text.empty() && text.back() != '[') text += ',';
    }
    static void open(std::string& text) {
        separate(text);
        text += '[';
    }
    void element(std::string_view value, bool quoted) {
        if (std::string* const text = list()) {
            if (text->size() + value.size() > longest_text) return;
            separate(*text);
            if (quoted) *text += '"';
            for (const char letter : value)
                *text += letter == '"' || letter == '\\' ? '\'' : letter;
            if (quoted) *text += '"';
        } else if (!quoted && index_ < 3 && (field_ == Field::grid || field_ == Field::block)) {
            (field_ == Field::grid ? event_.grid : event_.block)[index_++] = whole(value);
        }
    }
    void set_text(std::string_view text) {
        text = text.substr(0, longest_text);
        switch (field_) {
            case Field::phase:
                event_.phase = text;
                break;
            case Field::category:
                event_.category = text;
                break;
            case Field::name:
                event_.name = text;
                break;
            case Field::collective:
                event_.collective = text;
                break;
            case Field::collective_type:
                event_.collective_type = text;
                break;
            case Field::label:
                event_.label = text;
                break;
            case Field::module:
                event_.module = text;
                break;
            case Field::details:
                event_.details = text;
                break;
            case Field::copied:
                event_.copied = text;
                break;
            case Field::correlation:
                event_.correlation = whole(text);  // JAX writes numbers as texts
                break;
            default:
                break;
        }
    }
    void set_number(std::string_view text) {
        switch (field_) {
            case Field::start:
                event_.start_ns = nanoseconds(text);
                break;
            case Field::duration:
                event_.duration_ns = std::min(nanoseconds(text), longest_duration_ns);
                break;
            case Field::process:
                event_.process = whole(text);
                break;
            case Field::thread:
                event_.thread = whole(text);
                break;
            case Field::external_id:
                event_.external_id = whole(text);
                break;
            case Field::correlation:
                event_.correlation = whole(text);
                break;
            case Field::sequence:
                event_.sequence = whole(text);
                break;
            case Field::record:
                event_.record = whole(text);
                break;
            case Field::device:
                event_.device = whole(text);
                break;
            case Field::stream:
                event_.stream = whole(text);
                break;
            case Field::bytes:
                event_.bytes = whole(text);
                break;
            case Field::registers:
                event_.registers = whole(text);
                break;
            case Field::shared_bytes:
                event_.shared_bytes = whole(text);
                break;
            case Field::graph_node:
                event_.graph_node = whole(text);
                break;
            case Field::elements_in:
                event_.elements_in = whole(text);
                break;
            case Field::elements_out:
                event_.elements_out = whole(text);
                break;
            case Field::group_size:
                event_.group_size = whole(text);
                break;
            default:
                break;
        }
    }
    void set_device(std::string_view text) {
        TraceDevice& device = header_.devices.back();
        if (key_ == "id") device.id = whole(text);
        if (key_ == "numSms") device.multiprocessors = whole(text);
        if (key_ == "totalGlobalMem") device.memory_bytes = whole(text);
        if (key_ == "computeMajor") device.major = whole(text);
        if (key_ == "computeMinor") device.minor = whole(text);
    }

    TraceHeader& header_;
    const std::function<void(const TraceEvent&)>& visit_;
    std::vector<Place> places_;
    std::string key_;
    Field field_ = Field::none;
    std::size_t index_ = 0;
    TraceEvent event_;
    std::uint64_t events_ = 0;
};

}  // namespace

void TraceEvent::clear() {
    // Texts keep their memory; the next event reuses it.
    for (std::string* text :
         {&phase, &category, &name, &input_types, &input_dims, &input_strides, &concrete_inputs,
          &collective, &collective_type, &label, &module, &details, &copied}) {
        text->clear();
    }
    process = thread = -1;
    start_ns = duration_ns = 0;
    external_id = correlation = sequence = record = device = stream = bytes = -1;
    registers = shared_bytes = graph_node = -1;
    elements_in = elements_out = group_size = -1;
    grid = {};
    block = {};
}

ReadResult for_each_event(ByteSource& source, TraceHeader& header,
                          const std::function<void(const TraceEvent&)>& visit) {
    JsonScanner scanner(source);
    EventHandler handler(header, visit);
    const std::string damage = scanner.run(handler);
    ReadResult result{.bytes = scanner.bytes(), .events = handler.events(), .damage = {}};
    result.damage = source.failure().empty() ? damage : source.failure();
    if (!result.damage.empty()) result.damage += " at byte " + std::to_string(result.bytes);
    return result;
}

}  // namespace ridge::programs
