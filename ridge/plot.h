// Charts as values, and as SVG and HTML.
//
//   #include <ridge/plot.h>                                                // link with ridge::plot
//
//   const std::string svg = ridge::plot::render_svg(ridge::plot::sweep_chart(sweep));
#pragma once

#include "plot/chart.h"
#include "plot/html.h"
#include "plot/roofline.h"
#include "plot/svg.h"
#include "plot/sweep.h"
