#include "programs/configs/toml_reader.h"

#include <optional>
#include <vector>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "programs/configs/config_fields.h"
#include "programs/configs/config_reader.h"

namespace ridge::programs {
namespace {

using hardware::Node;
using hardware::NodeKind;

/// One table of the file; remembers which keys were read, so that any other key is an error.
class Section {
  public:
    Section(const Node* table, std::string name) : table_(table), name_(std::move(name)) {}

    [[nodiscard]] const Node* find(const std::string& key) {
        known_.push_back(key);
        return table_ == nullptr ? nullptr : table_->child(key);
    }
    [[nodiscard]] std::int64_t count_or(const std::string& key, std::int64_t otherwise) {
        const Node* node = find(key);
        if (node == nullptr) return otherwise;
        if (node->kind != NodeKind::integer || node->integer < 0 || node->integer > largest_count) {
            throw InputError(name_ + key + " must be a whole number up to 10^12", node->location());
        }
        return node->integer;
    }
    [[nodiscard]] std::int64_t count(const std::string& key) {
        if (table_ == nullptr || table_->child(key) == nullptr) {
            throw InputError(name_ + key + " is missing",
                             table_ == nullptr ? Location{} : Location{*table_->file});
        }
        return count_or(key, 0);
    }
    [[nodiscard]] bool flag_or(const std::string& key, bool otherwise) {
        const Node* node = find(key);
        if (node == nullptr) return otherwise;
        if (node->kind != NodeKind::boolean) {
            throw InputError(name_ + key + " must be true or false", node->location());
        }
        return node->boolean;
    }
    [[nodiscard]] std::string text_or(const std::string& key, const std::string& otherwise) {
        const Node* node = find(key);
        if (node == nullptr) return otherwise;
        if (node->kind != NodeKind::text) {
            throw InputError(name_ + key + " must be a string", node->location());
        }
        return std::string(node->text);
    }
    [[nodiscard]] Location place(const std::string& key) const {
        const Node* node = table_ == nullptr ? nullptr : table_->child(key);
        return node == nullptr ? Location{} : node->location();
    }
    void reject_others() const {
        if (table_ == nullptr) return;
        for (const Node& child : table_->children) {
            bool known = false;
            for (const std::string& key : known_) known = known || key == child.key;
            if (known) continue;
            const std::string close = nearest(child.key, known_);
            throw InputError("unknown key " + name_ + std::string(child.key), child.key_location(),
                             close.empty() ? close : "did you mean '" + close + "'?");
        }
    }

  private:
    const Node* table_;
    std::string name_;
    std::vector<std::string> known_;
};

Section section_of(Section& root, const std::string& key) {
    const Node* node = root.find(key);
    if (node != nullptr && node->kind != NodeKind::table) {
        throw InputError(key + " must be a table", node->location());
    }
    return {node, key + "."};
}

NormKind norm_of(Section& root) {
    const std::string word = root.text_or("norm", "rms");
    for (const NormKind kind :
         {NormKind::rms, NormKind::rms_plus_one, NormKind::rms_wide, NormKind::layer}) {
        if (name_of(kind) == word) return kind;
    }
    throw InputError("norm: '" + word + "' is not rms, rms_plus_one, rms_wide or layer",
                     root.place("norm"));
}

QkNorm qk_norm_of(Section& root) {
    const std::string word = root.text_or("qk_norm", "none");
    if (word == "none") return QkNorm::none;
    if (word == "head") return QkNorm::head;
    if (word == "whole") return QkNorm::whole;
    throw InputError("qk_norm: '" + word + "' is not none, head or whole", root.place("qk_norm"));
}

void read_attention(Section& root, AttentionSpec& s, std::int64_t hidden) {
    s.heads = root.count("heads");
    s.kv_heads = root.count_or("kv_heads", s.heads);
    s.head_dim = root.count_or("head_dim", s.heads > 0 ? hidden / s.heads : 0);
    s.value_dim = s.head_dim;
    s.rotary_dim = root.count_or("rotary", s.head_dim);
    s.window = root.count_or("window", 0);
    s.qk_norm = qk_norm_of(root);
    const std::optional<const Node*> table = root.find("latent");
    if (*table == nullptr) return;
    Section latent = section_of(root, "latent");
    s.kv_rank = latent.count("kv_rank");
    s.q_rank = latent.count_or("q_rank", 0);
    s.rotary_dim = latent.count("rotary");
    s.value_dim = latent.count_or("value_dim", s.head_dim);
    s.kv_heads = s.heads;
    s.rotary = Rotary::interleaved;
    latent.reject_others();
}

void read_feed_forward(Section& root, FeedForwardSpec& s) {
    s.gated = root.flag_or("gated", true);
    const std::string word = root.text_or("activation", "silu");
    if (!parse_activation(word, s.activation)) {
        throw InputError("activation: unknown '" + word + "'", root.place("activation"));
    }
    Section experts = section_of(root, "experts");
    s.experts = experts.count_or("count", 0);
    if (s.experts == 0) {
        s.intermediate = root.count("intermediate");
    } else {
        s.active = experts.count("active");
        s.intermediate = experts.count("intermediate");
        s.shared = experts.count_or("shared", 0);
        s.normalise_weights = true;
    }
    experts.reject_others();
}

}  // namespace

Architecture read_model_toml(std::string_view text, const std::string& file) {
    const hardware::Document document = hardware::parse_document(text, file);
    if (document.problem) {
        throw InputError(document.problem->message, document.problem->location);
    }
    Section root(&document.root, "");
    Architecture a;
    a.family = "toml";
    a.name = root.text_or("name", "");
    a.source = file;
    a.vocabulary = root.count("vocabulary");
    a.hidden = root.count("hidden");
    a.positions = root.count_or("positions", 0);
    a.longest = root.count_or("longest", 0);
    a.norm = norm_of(root);
    a.tied = root.flag_or("tied", false);
    LayerSpec layer;
    read_attention(root, layer.attention, a.hidden);
    read_feed_forward(root, layer.feed_forward);
    const bool bias = root.flag_or("bias", false);
    layer.attention.qkv_bias = bias;
    layer.attention.output_bias = bias;
    layer.feed_forward.bias = bias;
    const std::int64_t layers = root.count("layers");
    if (layers < 1 || layers > most_layers) {
        throw InputError("layers must be 1 to 10000", root.place("layers"));
    }
    if (a.positions > 0) layer.attention.rotary_dim = 0;
    root.reject_others();
    a.kinds = {layer};
    a.layer_kinds.assign(static_cast<std::size_t>(layers), 0);
    try {
        validate(a);
    } catch (const InputError& error) {
        throw InputError(error.message(), {.file = file});
    }
    return a;
}

}  // namespace ridge::programs
