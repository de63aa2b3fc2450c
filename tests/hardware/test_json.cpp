// JSON values are built, written and read; nlohmann-json checks the text.
#include <bit>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "hardware/json.h"
#include "tests/catch.h"

using nlohmann::ordered_json;
using ridge::Json;

TEST_CASE("a value is written as nlohmann-json writes it") {
    Json json{{"op", "matmul"}, {"time_us", 12.5}, {"count", std::int64_t{-7}}, {"ok", true}};
    json["big"] = std::numeric_limits<std::uint64_t>::max();
    json["nothing"] = Json();
    json["terms"] = Json::array({1, "two", Json{{"three", 3.0}}});
    json["words"] = std::vector<std::string>{"a", "b"};
    json["empty"] = Json::array();
    json["none"] = Json::object();
    json["nested"]["deep"].push_back(1e300);
    json["op"] = "softmax";
    const ordered_json judge = ordered_json::parse(json.text());
    CHECK(json.text() == judge.dump());
    CHECK(json.text(2) == judge.dump(2));
    CHECK(json.text(2).find("  \"op\": \"softmax\",\n  \"time_us\": 12.5,\n") != std::string::npos);
    CHECK(json.text() ==
          R"({"op":"softmax","time_us":12.5,"count":-7,"ok":true,"big":18446744073709551615,)"
          R"("nothing":null,"terms":[1,"two",{"three":3.0}],"words":["a","b"],"empty":[],)"
          R"("none":{},"nested":{"deep":[1e+300]}})");
}

TEST_CASE("any number reads back exactly, and a number that is not finite is null") {
    std::mt19937_64 random(11);
    for (int i = 0; i < 20'000; ++i) {
        const auto value = std::bit_cast<double>(random());
        const std::string text = Json(value).text();
        CHECK(text == ordered_json(value).dump());
        if (!std::isfinite(value)) continue;
        CHECK(std::bit_cast<std::uint64_t>(*Json::parse(text)->if_number()) ==
              std::bit_cast<std::uint64_t>(value));
    }
    CHECK(Json(std::numeric_limits<double>::infinity()).text() == "null");
    CHECK(Json(-0.0).text() == "-0.0");
}

TEST_CASE("any bytes become valid JSON text") {
    CHECK(Json("a \"quoted\" \\ back\nline \x01 caf\xc3\xa9").text() ==
          "\"a \\\"quoted\\\" \\\\ back\\nline \\u0001 caf\xc3\xa9\"");
    CHECK(Json("broken \xff byte").text() == "\"broken \xef\xbf\xbd byte\"");
    std::mt19937_64 random(12);
    for (int i = 0; i < 2000; ++i) {
        std::string bytes(random() % 12, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        const std::string text = Json(bytes).text();
        CAPTURE(text);
        CHECK(ordered_json::accept(text));
    }
}

TEST_CASE("written text reads back, and values tell their types") {
    const std::string text = R"({"a":[1,-2,2.5,"x",null,true],"b":{"c":18446744073709551615}})";
    const std::optional<Json> json = Json::parse(text);
    REQUIRE(json);
    CHECK(json->text() == text);
    REQUIRE(json->is_object());
    CHECK(json->members().front().name == "a");
    const std::vector<Json>& items = json->find("a")->items();
    REQUIRE(items.size() == 6);
    CHECK(items[0].if_whole() == 1);
    CHECK(items[1].if_whole() == -2);
    CHECK(items[2].if_number() == 2.5);
    CHECK_FALSE(items[2].if_whole());
    CHECK(*items[3].if_text() == "x");
    CHECK(items[4].is_null());
    CHECK(*items[5].if_flag());
    CHECK(items[0].if_text() == nullptr);
    CHECK_FALSE(json->find("b")->find("c")->if_whole());
    CHECK(json->find("b")->find("c")->if_number() == 18446744073709551615.0);
    CHECK(json->find("c") == nullptr);
    CHECK(Json::parse(R"({"a":1,"a":2})")->text() == R"({"a":2})");
}

TEST_CASE("text that is not one JSON value is refused") {
    for (const char* text : {"", "{", "[1,]", "{\"a\"}", "1 2", "nul", "\"\xff\"", "[1", "{a:1}"}) {
        CAPTURE(text);
        CHECK_FALSE(Json::parse(text));
    }
    CHECK(Json::parse(std::string(150, '[') + std::string(150, ']')));
    CHECK_FALSE(Json::parse(std::string(1'000'000, '[')));
    CHECK_FALSE(Json::parse(std::string(100'000, '[') + std::string(100'000, ']')));
}
