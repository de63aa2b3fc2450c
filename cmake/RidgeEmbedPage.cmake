# Writes a C++ source that holds the style and the scripts of chart pages. Run as a script:
#   cmake -DFOLDER=<plot/page> -DOUTPUT=<file.cpp> -P RidgeEmbedPage.cmake

function(read name)
  file(READ "${FOLDER}/${name}" text)
  if(text MATCHES "\\)ridge_page\"|</(script|style)")
    message(FATAL_ERROR "${name} contains the delimiter of the embedded text or the closing tag of its element")
  endif()
  set(text "R\"ridge_page(${text})ridge_page\"" PARENT_SCOPE)
endfunction()

set(body "")
foreach(pair IN ITEMS page_style=page.css dark_style=dark.css print_style=print.css
                      axes_script=axes.js chart_script=chart.js interaction_script=interaction.js
                      spans_script=spans.js table_script=table.js start_script=start.js)
  string(REPLACE "=" ";" parts "${pair}")
  list(GET parts 0 symbol)
  list(GET parts 1 name)
  read(${name})
  string(APPEND body "std::string_view ${symbol}() {\n    return ${text};\n}\n\n")
endforeach()
file(WRITE "${OUTPUT}.new" "// Written by cmake/RidgeEmbedPage.cmake; do not edit.
#include \"plot/page.h\"

namespace ridge::plot {

${body}}  // namespace ridge::plot
")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}")
file(REMOVE "${OUTPUT}.new")
