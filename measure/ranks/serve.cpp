#include "measure/ranks/serve.h"

#include <exception>

#include "hardware/error.h"
#include "measure/ranks/child.h"
#include "measure/ranks/messages.h"
#include "measure/record/question.h"
#include "model/core/fields.h"

namespace ridge::measure {
namespace {

Json refusal_message(const Unavailable& unavailable) {
    return {{"unavailable", unavailable.reason}, {"remedy", unavailable.remedy}};
}

class Server {
  public:
    Server(RankPlace place, const OpenRank& open) : place_(place), open_(open) {}

    Json answer(const Json& request) {
        const std::string what = text_in(request, "do");
        if (what == "open") return opened();
        Rank& rank = opened_rank();
        if (what == "id") return {{"id", hexadecimal(rank.new_id())}};
        if (what == "join") {
            rank.join(bytes_of_hexadecimal(text_in(request, "id")));
            return {{"address", hexadecimal(rank.address())}};
        }
        if (what == "link") return linked(rank, request);
        if (what == "environment") return message_of(rank.environment());
        if (what == "prepare") return prepared(rank, request);
        if (what == "verify") return message_of(rank.verify());
        if (what == "sample") return sampled(rank, request);
        throw DeviceError("unknown request '" + what + "'");
    }

  private:
    Json opened() {
        Maybe<std::unique_ptr<Rank>> opened = open_(place_);
        if (const auto* missing = std::get_if<Unavailable>(&opened)) {
            return refusal_message(*missing);
        }
        rank_ = std::move(std::get<std::unique_ptr<Rank>>(opened));
        return message_of(rank_->info());
    }

    Rank& opened_rank() {
        if (rank_ == nullptr) throw DeviceError("the rank is not open");
        return *rank_;
    }

    static Json linked(Rank& rank, const Json& request) {
        std::vector<std::string> addresses;
        for (const Json& item : request.find("addresses")->items()) {
            addresses.push_back(bytes_of_hexadecimal(*item.if_text()));
        }
        rank.link(addresses);
        return Json::object();
    }

    static Json prepared(Rank& rank, const Json& request) {
        const model::OperationText text = model::parse_operation(text_in(request, "op"));
        const model::Operation operation = model::make_operation(text.kind, text.parameters);
        const Maybe<Geometry> geometry =
            rank.prepare(std::get<model::Collective>(operation),
                         model::parse_launch_mode(text_in(request, "launch")),
                         parse_data_pattern(text_in(request, "pattern")));
        if (const auto* refused = std::get_if<Unavailable>(&geometry)) {
            return refusal_message(*refused);
        }
        return message_of(std::get<Geometry>(geometry));
    }

    static Json sampled(Rank& rank, const Json& request) {
        return message_of(rank.sample(
            {.launch = model::parse_launch_mode(text_in(request, "launch")),
             .count = static_cast<std::int32_t>(whole_in(request, "count")),
             .repetitions = static_cast<std::int32_t>(whole_in(request, "repetitions"))}));
    }

    RankPlace place_;
    const OpenRank& open_;
    std::unique_ptr<Rank> rank_;
};

Json safe_answer(Server& server, const std::string& line) {
    try {
        const std::optional<Json> request = Json::parse(line);
        if (!request) throw DeviceError("a request is not JSON");
        return server.answer(*request);
    } catch (const std::exception& error) {
        return {{"failed", error.what()}};
    }
}

}  // namespace

int serve_rank(std::span<const std::string> words, const OpenRank& open) {
    constexpr int not_for_users = 1;
    constexpr std::size_t needed = 3;
    if (words.size() != needed || !end_with_parent()) return not_for_users;
    const auto number = [&](std::size_t i) {
        return static_cast<std::int32_t>(std::stol(words[i]));
    };
    Server server({.rank = number(0), .ranks = number(1), .device = number(2)}, open);
    std::string pending;
    std::string line;
    while (read_line(rank_channel, pending, line)) {
        write_line(rank_channel, safe_answer(server, line).text());
    }
    return 0;
}

}  // namespace ridge::measure
