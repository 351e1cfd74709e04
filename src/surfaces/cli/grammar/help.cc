#include "surfaces/cli/grammar/help.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/text.h"
#include "surfaces/show/columns.h"

namespace cli {
namespace {

constexpr std::string_view kOverview =
    R"(holon keeps agents alive: it runs model turns with tools and loses no work.
Usage: holon COMMAND [OPTIONS]        holon COMMAND --help has its options

Ask        run, prompt, work, task, timer, plan, approvals, undo
Watch      tui (also holon alone), status, tail, transcript, events, wait,
           search
Agents     agent, memory, templates, skills, tools, workspace
Daemon     daemon, serve, control, trigger, webhook, gate
Settings   login, doctor, models, config, mcp, store, debug
More       help, completion; the manual: holon help --man | man -l -

Examples:
  holon login anthropic
  holon run "make the failing test pass"
  git diff | holon run "review this"
  holon daemon start && holon prompt --wait "how far are you?"
  holon tail -f

HOLON_HOME: where everything is kept (~/.holon). HOLON_MODEL: provider/model.
Exit codes: 0 done, 1 error, 2 usage, 3 failed, 4 round limit, 5 waiting,
            6 faulty plan, 130 interrupted
)";

// Options that nearly every command has; they share a line.
constexpr std::array<std::string_view, 4> kShared{"--json", "--plain", "--home", "--help"};
constexpr std::size_t kNameColumnsMax = 24;
constexpr std::size_t kMargin = 2;

bool is_shared(const CLI::Option& option) {
    return std::ranges::any_of(kShared, [&](std::string_view name) {
        return option.check_lname(std::string(name.substr(2)));
    });
}

std::string shown_name(const CLI::Option& option) {
    if (option.get_positional()) return option.get_name(true);
    std::string name;
    for (const auto& one : option.get_snames()) name += "-" + one + ",";
    name += option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
    if (name.ends_with(',')) name.pop_back();
    return option.get_items_expected_max() > 0 ? name + " …" : name;
}

struct Row {
    std::string name;
    std::string text;
};

std::string text_of(const CLI::Option& option) {
    std::string text = option.get_description();
    // Values that are checked against a list: "{a,b}" behind the name of their type.
    const std::string type = option.get_type_name();
    if (const auto list = type.find('{'); list != std::string::npos) {
        const auto end = std::min(type.find('}', list), type.size());
        std::string values = type.substr(list + 1, end - list - 1);
        for (auto at = values.find(','); at != std::string::npos; at = values.find(',', at + 2))
            values.replace(at, 1, ", ");
        text += ": " + values;
    }
    if (const auto fallback = option.get_default_str(); !fallback.empty())
        text += fmt::format(" (default {})", fallback);
    return text;
}

// Names in one column, texts in the other, wrapped.
std::vector<std::string> laid_out(const std::vector<Row>& rows) {
    std::size_t names = 0;
    for (const auto& row : rows)
        names = std::max(names, std::min(show::columns_of(row.name), kNameColumnsMax));
    const std::size_t margin = kMargin + names + kMargin;
    std::vector<std::string> lines;
    for (const auto& row : rows) {
        std::string head = std::string(kMargin, ' ') + show::padded(row.name, names);
        if (show::columns_of(row.name) > names) {
            lines.push_back(head);
            head = std::string(margin - kMargin, ' ');
        }
        for (const auto& part : show::wrapped(row.text, kHelpColumns - margin)) {
            lines.push_back(head + std::string(kMargin, ' ') + part);
            head = std::string(margin - kMargin, ' ');
        }
    }
    return lines;
}

std::string usage(const CLI::App& app, const std::vector<const CLI::Option*>& positionals) {
    std::string text = "Usage: " + path_of(app);
    if (!app.get_subcommands({}).empty())
        text += app.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]";
    text += " [OPTIONS]";
    for (const auto* one : positionals)
        text += one->get_required() ? " " + one->get_name(true) : " [" + one->get_name(true) + "]";
    return text;
}

class HelpFormatter final : public CLI::Formatter {
public:
    std::string make_help(const CLI::App* app, std::string /*name*/,
                          CLI::AppFormatMode /*mode*/) const override {
        if (app->get_parent() == nullptr) return std::string(kOverview);
        std::vector<const CLI::Option*> positionals;
        std::vector<Row> rows;  // Arguments first, as they are written.
        std::vector<Row> named;
        std::string shared;
        for (const auto* option : app->get_options()) {
            const Row row{shown_name(*option), text_of(*option)};
            if (option->get_positional()) {
                positionals.push_back(option);
                rows.push_back(row);
            } else if (is_shared(*option)) {
                shared += (shared.empty() ? "" : ", ") + ("--" + option->get_lnames().front());
            } else {
                named.push_back(row);
            }
        }
        rows.insert(rows.end(), named.begin(), named.end());
        for (const auto* sub : app->get_subcommands({}))
            rows.push_back({sub->get_name(), sub->get_description()});
        std::vector<std::string> lines{app->get_description(), usage(*app, positionals), ""};
        for (auto& line : laid_out(rows)) lines.push_back(std::move(line));
        if (shared != "--help") lines.push_back("  and " + shared + " as everywhere");
        add_examples(*app, lines);
        return fmt::format("{}\n", fmt::join(lines, "\n"));
    }

private:
    // As many of them as the screen has room for; the manual has all.
    static void add_examples(const CLI::App& app, std::vector<std::string>& lines) {
        const std::string footer = own_footer(app);
        const auto examples = base::split_lines(base::trim(footer));
        if (examples.empty() || lines.size() + 3 > kHelpLinesMax) return;
        lines.emplace_back("");
        for (const auto line : examples)
            if (lines.size() < kHelpLinesMax) lines.emplace_back(line);
        if (lines.back().ends_with('\\')) lines.pop_back();  // A command without its other half.
    }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
    return std::make_shared<HelpFormatter>();
}

std::string own_footer(const CLI::App& app) {
    const auto* above = app.get_parent();
    return above != nullptr && above->get_footer() == app.get_footer() ? "" : app.get_footer();
}

std::string path_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name()
                                       : path_of(*app.get_parent()) + " " + app.get_name();
}

}  // namespace cli
