// Tables of measured times: units, separators, names, and what is refused.
#include <sstream>
#include <string>

#include "answers/times_table.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "measure/record/shape_columns.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

answers::TimesTable table_of(const std::string& text, Time unit = {}) {
    std::istringstream stream(text);
    return answers::read_times(stream, "times.csv", {.usual_gpu = "h100-sxm", .unit = unit});
}

std::string refusal_of(const std::string& text) {
    try {
        static_cast<void>(table_of(text));
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("units are read from the name of the column", "[times]") {
    using measure::unit_of_time_column;
    for (const char* name : {"time_us", "us", "measured_us", "Time (us)", "duration [us]", "avg us",
                             "Latency_us", "median-us", "time \xc2\xb5s"}) {
        INFO(name);
        CHECK(unit_of_time_column(name) == units::us);
    }
    CHECK(unit_of_time_column("time_ms") == units::ms);
    CHECK(unit_of_time_column("ms") == units::ms);
    CHECK(unit_of_time_column("Duration (ns)") == units::ns);
    CHECK(unit_of_time_column("elapsed_s") == units::s);
    CHECK(unit_of_time_column("time") == Time{});
    for (const char* name : {"m", "rows", "columns", "timeout_us", "name", "", "items"}) {
        INFO(name);
        CHECK_FALSE(unit_of_time_column(name));
    }
}

TEST_CASE("a time without a unit is refused, unless the unit is given", "[times]") {
    const std::string text = "op,m,n,k,time\nmatmul,64,64,64,2\n";
    CHECK(refusal_of(text).find("has no unit") != std::string::npos);
    CHECK(table_of(text, units::ms).rows.at(0).measured == 2.0 * units::ms);
}

TEST_CASE("commas, tabs and semicolons separate cells", "[times]") {
    for (const char* separator : {",", "\t", ";"}) {
        std::string text = "name|op|m|n|k|count|us\nmine|matmul|64|32|16|3|1.5\n";
        for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|')) {
            text.replace(at, 1, separator);
        }
        const answers::TimesTable table = table_of(text);
        REQUIRE(table.rows.size() == 1);
        CHECK(table.rows[0].name == "mine");
        CHECK(table.rows[0].count == 3);
        CHECK(table.rows[0].measured == 1.5 * units::us);
        CHECK(std::get<model::Matmul>(table.rows[0].steps.at(0).operation).n == 32);
    }
}

TEST_CASE("an operation may stand in one cell, and an alias may name it", "[times]") {
    const answers::TimesTable table =
        table_of("op,us,remark\n\"gemm m=64 n=64 k=64 dtype=fp16\",2,x\n");
    CHECK(std::get<model::Matmul>(table.rows.at(0).steps.at(0).operation).type ==
          model::DataType::fp16);
    CHECK(table.unused == std::vector<std::string>{"remark"});
}

TEST_CASE("broken rows are reported, misspelt fields and missing columns refused", "[times]") {
    const answers::TimesTable table =
        table_of("op,m,n,k,us\nmatmul,64,64,64,2\nmatmul,64,64,,2\nmatmul,64,64,64,-1\n");
    CHECK(table.rows.size() == 1);
    REQUIRE(table.damaged.size() == 2);
    CHECK(table.damaged[0].location.line == 3);
    CHECK(refusal_of("op,heads,seq,head_dims,us\n").find("head_dim") != std::string::npos);
    CHECK(refusal_of("m,n,k,us\n1,1,1,1\n").find("no column 'op'") != std::string::npos);
    CHECK(refusal_of("op,m,n,k\nmatmul,1,1,1\n").find("time_us") != std::string::npos);
    CHECK(refusal_of("op,m,n,k,us,time_ms\nmatmul,1,1,1,1,1\n").find("two columns") !=
          std::string::npos);
    CHECK(refusal_of("").find("empty") != std::string::npos);
}

}  // namespace ridge::test
