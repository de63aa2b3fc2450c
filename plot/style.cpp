#include "plot/svg.h"

namespace ridge::plot {

// Okabe and Ito, "Color Universal Design", 2008: strokes and fills use these colours; text uses a
// darker shade of the same hue, so that it keeps a contrast of 4.5 to 1 on white.
std::string_view light_style_sheet() {
    return R"(.ridge-chart text{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans","Nimbus Sans",sans-serif;font-size:13px;fill:#1a1a1a}
.ridge-chart text.font-title{font-size:18px;font-weight:bold}
.ridge-chart text.font-subtitle{font-size:14px;fill:#555}
.ridge-chart text.font-axis{font-size:14px}
.ridge-chart text.font-tick,.ridge-chart text.font-detail{font-size:12.5px}
.ridge-chart text.font-detail{fill:#555}
.ridge-chart text.font-emphasis{font-weight:bold}
.ridge-chart text.font-number{font-size:11px}
.ridge-chart text.key{font-size:12.5px}
.page{fill:#fff}
.frame{fill:none;stroke:#444;stroke-width:1.2}
.grid{fill:none;stroke:#eee;stroke-width:1}
.grid-strong{stroke:#d9d9d9}
.line{fill:none;stroke-linejoin:round}
.envelope{stroke-opacity:.16;stroke-linecap:butt}
.series{stroke-opacity:.75}
.link{fill:none;stroke:#1a1a1a;stroke-width:1.3;stroke-opacity:.65}
.error{fill:none;stroke:#1a1a1a;stroke-width:1.1}
.drop{fill:none;stroke:#555;stroke-width:1.2;stroke-dasharray:2 3}
.leader{fill:none;stroke:#777;stroke-width:.8}
.marker{stroke-width:1.5;stroke-linejoin:round}
.hollow{fill:#fff}
.half{fill-opacity:.4}
.ridge-chart text.label{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
.s-ink{stroke:#1a1a1a}.s-blue{stroke:#0072b2}.s-vermillion{stroke:#d55e00}.s-green{stroke:#009e73}
.s-purple{stroke:#cc79a7}.s-orange{stroke:#e69f00}.s-sky{stroke:#56b4e9}.s-grey{stroke:#777}.s-silver{stroke:#bbb}
.f-ink{fill:#1a1a1a}.f-blue{fill:#0072b2}.f-vermillion{fill:#d55e00}.f-green{fill:#009e73}
.f-purple{fill:#cc79a7}.f-orange{fill:#e69f00}.f-sky{fill:#56b4e9}.f-grey{fill:#777}.f-silver{fill:#bbb}
.ridge-chart text.t-blue{fill:#00588a}.ridge-chart text.t-vermillion{fill:#a84a00}.ridge-chart text.t-green{fill:#00704f}
.ridge-chart text.t-purple{fill:#984a75}.ridge-chart text.t-orange{fill:#845b00}.ridge-chart text.t-sky{fill:#20709f}.ridge-chart text.t-grey,.ridge-chart text.t-silver{fill:#555}
)";
}

std::string_view dark_style_sheet() {
    return R"(.ridge-chart text{fill:#eee}
.ridge-chart text.font-subtitle,.ridge-chart text.font-detail{fill:#b5b5b5}
.page{fill:#16181c}.hollow{fill:#16181c}
.frame{stroke:#aaa}.grid{stroke:#23262b}.grid-strong{stroke:#363a41}
.link,.error{stroke:#eee}.drop{stroke:#aaa}.leader{stroke:#999}
.envelope{stroke-opacity:.28}
.ridge-chart text.label{stroke:#16181c}
.s-ink{stroke:#eee}.f-ink{fill:#eee}.s-blue{stroke:#3d92e0}.f-blue{fill:#3d92e0}.s-sky{stroke:#9fd8fb}.f-sky{fill:#9fd8fb}
.s-grey{stroke:#999}.f-grey{fill:#999}.s-silver{stroke:#555b66}.f-silver{fill:#555b66}
.ridge-chart text.t-blue{fill:#6db3f2}.ridge-chart text.t-vermillion{fill:#ff9a55}.ridge-chart text.t-green{fill:#3fd0a4}
.ridge-chart text.t-purple{fill:#e5a3c6}.ridge-chart text.t-orange{fill:#f0b840}.ridge-chart text.t-sky{fill:#a9dcfb}.ridge-chart text.t-grey,.ridge-chart text.t-silver{fill:#b5b5b5}
)";
}

}  // namespace ridge::plot
