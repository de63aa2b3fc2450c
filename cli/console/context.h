// A command's access to the outside world: its streams and facts about the terminal.
//
// Libraries never print. Commands print to `out` and `err` of the context, which a test replaces by
// string streams. Commands that measure open a device through `open_device`, which a test replaces
// by a fake device.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "measure/ranks/link_survey.h"
#include "measure/ranks/rank.h"
#include "measure/ranks/rank_group.h"
#include "measure/ranks/topology.h"
#include "measure/run/device.h"

namespace ridge::cli {

/// Exit codes of the program.
enum ExitCode : int {
    success = 0,
    usage = 1,
    bad_data = 2,
    device_failure = 3,
    bound_exceeded = 4,
    internal = 70,
    interrupted = 130  ///< as shells report Ctrl-C
};

using OpenDevice = std::function<measure::Maybe<std::unique_ptr<measure::Device>>(std::int32_t)>;

class KeptMachines;  ///< cli/input/machines.h
class UsedFiles;     ///< cli/console/used_files.h
using OpenGroup =
    std::function<measure::Maybe<std::unique_ptr<measure::Device>>(const measure::GroupRequest&)>;

struct Context {
    std::istream& in;
    std::ostream& out;
    std::ostream& err;
    bool colour = false;    ///< ANSI colour on `out`
    bool terminal = false;  ///< `err` is a terminal: progress may be shown
    bool piped = false;     ///< `out` is no terminal: answers that are one table are written as CSV
    int width = 80;         ///< columns of the terminal
    bool utf8 = true;       ///< the terminal takes UTF-8; if not, charts use ASCII
    OpenDevice open_device = measure::open_device;
    KeptMachines* kept_machines = nullptr;       ///< for a front end that runs many commands
    UsedFiles* used_files = nullptr;             ///< told which files of the user answers rest on
    std::string* wrong_field = nullptr;          ///< told the field of a usage or input error
    OpenGroup open_group = measure::open_group;  ///< several GPUs, for collectives
    std::function<std::int32_t()> device_count = measure::device_count;
    std::function<std::vector<measure::GpuPlace>()> topology = measure::topology;
    std::function<measure::Maybe<measure::LinkSurvey>()> survey_links = measure::survey_links;
};

}  // namespace ridge::cli
