#include "cli/console/table.h"

#include <algorithm>
#include <ostream>

#include "plot/text.h"

namespace ridge::cli {
namespace {

std::vector<std::size_t> column_widths(const Table& table) {
    std::vector<std::size_t> widths;
    for (const Column& column : table.columns) widths.push_back(display_width(column.name));
    for (const std::vector<std::string>& row : table.rows) {
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(row[i]));
        }
    }
    return widths;
}

std::size_t text_width(const Table& table) {
    std::size_t width = 0;
    for (const std::size_t each : column_widths(table)) width += each + 2;
    return width < 2 ? 0 : width - 2;
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
    const std::string spaces(width - std::min(width, display_width(cell)), ' ');
    return align == Align::left ? cell + spaces : spaces + cell;
}

std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

Table cleaned(Table table) {
    for (Column& column : table.columns) column.name = plot::clean_text(column.name);
    for (std::vector<std::string>& row : table.rows) {
        for (std::string& cell : row) cell = plot::clean_text(cell);
    }
    return table;
}

/// The cell without the indent that a column may have on a terminal. What could open a tag, a link
/// or another column stands for itself.
std::string markdown_cell(const std::string& cell) {
    std::string escaped;
    const std::string text = plot::clean_text(cell);
    for (const char c : text.substr(std::min(text.find_first_not_of(' '), text.size()))) {
        constexpr std::string_view meaningful = "|\\[]";
        if (meaningful.find(c) != meaningful.npos) escaped += '\\';
        c == '<' ? escaped += "&lt;" : escaped += c;
    }
    return escaped;
}

}  // namespace

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(plot::text_columns(text));
}

void write_text(std::ostream& out, const Table& raw) {
    const Table table = cleaned(raw);
    const std::vector<std::size_t> widths = column_widths(table);
    const auto write_row = [&](const auto& cell_of) {
        std::string line;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            if (i > 0) line += "  ";
            line += padded(cell_of(i), widths[i], table.columns[i].align);
        }
        out << trimmed(line) << '\n';
    };
    write_row([&](std::size_t i) { return table.columns[i].name; });
    write_row([&](std::size_t i) { return std::string(widths[i], '-'); });
    for (const std::vector<std::string>& row : table.rows) {
        write_row([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
    }
}

Table fitted(Table table, std::initializer_list<std::string_view> droppable, std::size_t width) {
    for (const std::string_view name : droppable) {
        if (text_width(table) <= width) break;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (table.columns[i].name != name) continue;
            const auto at = static_cast<std::ptrdiff_t>(i);
            table.columns.erase(table.columns.begin() + at);
            for (std::vector<std::string>& row : table.rows) row.erase(row.begin() + at);
            break;
        }
    }
    return table;
}

void write_markdown(std::ostream& out, const Table& table) {
    std::string rule = "|";
    out << '|';
    for (const Column& column : table.columns) {
        out << ' ' << markdown_cell(column.name) << " |";
        rule += column.align == Align::left ? " --- |" : " ---: |";
    }
    out << '\n' << rule << '\n';
    for (const std::vector<std::string>& row : table.rows) {
        out << '|';
        for (const std::string& cell : row) out << ' ' << markdown_cell(cell) << " |";
        out << '\n';
    }
}

bool is_formula(std::string_view cell) {
    if (cell.empty()) return false;
    const char first = cell.front();
    if (first == '=' || first == '@') return true;
    if ((first != '+' && first != '-') || cell.size() == 1) return false;
    const char next = cell[1];
    return (next < '0' || next > '9') && next != '.' && !cell.substr(1).starts_with("inf") &&
           !cell.substr(1).starts_with("nan");
}

void append_csv_cell(std::string& line, std::string_view raw) {
    std::string quoted;
    if (is_formula(raw)) quoted = "'" + std::string(raw);
    const std::string_view cell = quoted.empty() ? raw : std::string_view(quoted);
    if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
        line += cell;
        return;
    }
    line += '"';
    for (const char c : cell) {
        if (c == '"') line += '"';
        line += c;
    }
    line += '"';
}

void write_csv(std::ostream& out, const Table& table) {
    std::string line;
    for (const Column& column : table.columns) {
        if (!line.empty()) line += ',';
        append_csv_cell(line, column.name);
    }
    out << line << '\n';
    for (const std::vector<std::string>& row : table.rows) {
        line.clear();
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0) line += ',';
            append_csv_cell(line, row[i]);
        }
        out << line << '\n';
    }
}

std::string printable(std::string_view text) {
    std::string clean;
    while (true) {
        const std::size_t end = text.find('\n');
        clean += plot::clean_text(text.substr(0, end));
        if (end == std::string_view::npos) return clean;
        clean += '\n';
        text.remove_prefix(end + 1);
    }
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent, std::size_t begin) {
    const auto fits = [width, indent, begin](std::string_view line, std::size_t index) {
        return (index == 0 ? begin : indent) + display_width(line) <= width;
    };
    // Keep a percent sign with its number.
    constexpr std::string_view unbroken = "\u00a0";
    std::string joined;
    const std::string shown = printable(text);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const bool percent = shown[i] == ' ' && shown[i + 1] == '%' && i > 0 &&
                             shown[i - 1] >= '0' && shown[i - 1] <= '9';
        percent ? joined += unbroken : joined += shown[i];
    }
    std::string wrapped;
    for (std::string line : plot::wrap_text(joined, fits)) {
        for (std::size_t at = line.find(unbroken); at != line.npos; at = line.find(unbroken)) {
            line.replace(at, unbroken.size(), " ");
        }
        if (!wrapped.empty()) wrapped += '\n' + std::string(indent, ' ');
        wrapped += line;
    }
    return wrapped;
}

}  // namespace ridge::cli
