// The formats that answers are written in.
#pragma once

namespace ridge::cli {

enum class Format { table, json, csv, markdown };

}  // namespace ridge::cli
