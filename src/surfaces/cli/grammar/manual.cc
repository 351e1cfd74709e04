#include "surfaces/cli/grammar/manual.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "surfaces/cli/grammar/help.h"

namespace cli {
namespace {

// Characters that troff would take for its own.
std::string troff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
            out += fmt::format("\\&{}", c);
        else
            out += c;
    }
    return out;
}

std::string option_name(const CLI::Option& option) {
    if (option.get_positional()) return option.get_name(true);
    std::string names;
    for (const auto& name : option.get_snames()) names += "-" + name + ", ";
    for (const auto& name : option.get_lnames()) names += "--" + name + ", ";
    if (names.ends_with(", ")) names.resize(names.size() - 2);
    return names;
}

void describe(const CLI::App& app, const std::string& path, std::string& page) {
    page += fmt::format(".SS {}\n{}\n", troff(path), troff(app.get_description()));
    for (const auto* option : app.get_options()) {
        if (option->check_lname("help")) continue;
        page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", troff(option_name(*option)),
                            troff(option->get_description()));
    }
    if (const auto footer = own_footer(app); !footer.empty())
        page += fmt::format(".PP\n.nf\n{}\n.fi\n", troff(footer));
    for (const auto* sub : app.get_subcommands({}))
        describe(*sub, path + " " + sub->get_name(), page);
}

// What a word may be, beyond commands and options.
enum class Values { None, Agents, Models, Keys, Templates, Files };

Values values_of(std::string_view name) {
    if (name == "agent") return Values::Agents;
    if (name == "model") return Values::Models;
    if (name == "key") return Values::Keys;
    if (name == "template") return Values::Templates;
    constexpr std::array<std::string_view, 14> kFiles{
        "file", "folder",     "path",     "out",     "vault",  "home",     "workspace-root",
        "cwd",  "token-file", "tls-cert", "tls-key", "policy", "log-file", "workspace"};
    return std::ranges::find(kFiles, name) == kFiles.end() ? Values::None : Values::Files;
}

struct Words {
    std::string path;  // "daemon start"; empty for the program itself.
    std::vector<std::string> subcommands{};
    std::vector<std::string> options{};
    Values positional{Values::None};
};

// Every command with what may follow it.
void collect(const CLI::App& app, const std::string& path, std::vector<Words>& all) {
    Words words{.path = path};
    for (const auto* sub : app.get_subcommands({})) words.subcommands.push_back(sub->get_name());
    if (path.empty()) words.options = {"--help", "--version"};
    for (const auto* option : app.get_options()) {
        if (option->get_positional() && words.positional == Values::None)
            words.positional = values_of(option->get_single_name());
        for (const auto& name : option->get_lnames())
            if (!path.empty()) words.options.push_back("--" + name);
    }
    all.push_back(words);
    for (const auto* sub : app.get_subcommands({}))
        collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), all);
}

std::vector<Words> table(const CLI::App& app) {
    std::vector<Words> all;
    collect(app, "", all);
    for (auto& words : all)
        if (words.path == "completion") words.subcommands = {"bash", "zsh", "fish"};
    return all;
}

std::string_view function_of(Values values) {
    switch (values) {
        case Values::Agents:
            return "_holon_agents";
        case Values::Models:
            return "_holon_models";
        case Values::Keys:
            return "_holon_keys";
        case Values::Templates:
            return "_holon_templates";
        case Values::None:
        case Values::Files:
            return "";
    }
    return "";
}

// The values themselves are asked of the program when they are wanted.
constexpr std::string_view kFunctions = R"(
_holon_agents() { holon agent list --plain 2>/dev/null | awk '{print $1}'; }
_holon_models() { holon models --plain 2>/dev/null | awk 'NR > 1 {print $1}'; }
_holon_keys() { holon config schema --plain 2>/dev/null | awk 'NR > 1 {print $1}'; }
_holon_templates() { holon templates list --plain 2>/dev/null | awk '{print $1}'; }
)";

// One table for both shells: the words typed so far lead down to a command.
std::string shell_cases(const CLI::App& app) {
    std::string cases;
    for (const auto& words : table(app)) {
        cases += fmt::format("        '{}') choices='{} {}'", words.path,
                             fmt::join(words.subcommands, " "), fmt::join(words.options, " "));
        if (const auto function = function_of(words.positional); !function.empty())
            cases += fmt::format("; [[ $word == -* ]] || choices=\"$({})\"", function);
        if (words.positional == Values::Files) cases += "; files=yes";
        cases += " ;;\n";
    }
    return cases;
}

// What follows an option that takes a value.
std::string value_cases(const CLI::App& app) {
    std::set<std::string> names;
    for (const auto& words : table(app)) names.insert(words.options.begin(), words.options.end());
    std::map<std::string, std::vector<std::string>> by_function;
    std::vector<std::string> of_files;
    for (const auto& name : names) {
        const auto values = values_of(std::string_view(name).substr(2));
        if (const auto function = function_of(values); !function.empty())
            by_function[std::string(function)].push_back(name);
        else if (values == Values::Files)
            of_files.push_back(name);
    }
    std::string cases;
    for (const auto& [function, options] : by_function)
        cases +=
            fmt::format("        {}) choices=\"$({})\" ;;\n", fmt::join(options, "|"), function);
    cases += fmt::format("        {}) choices=''; files=yes ;;\n", fmt::join(of_files, "|"));
    cases += "        --output-format) choices='text json stream-json' ;;\n";
    cases += "        --sandbox) choices='none bubblewrap' ;;\n";
    cases += "        --display) choices='info verbose debug' ;;\n";
    return cases;
}

std::string known_paths(const CLI::App& app) {
    std::string paths;
    for (const auto& words : table(app))
        if (!words.path.empty()) paths += "'" + words.path + "'|";
    if (!paths.empty()) paths.pop_back();
    return paths;
}

std::string bash(const CLI::App& app) {
    return fmt::format(R"(# holon completion bash > /etc/bash_completion.d/holon
{}
_holon() {{
    local choices='' files='' at='' step i
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    for ((i = 1; i < COMP_CWORD; ++i)); do
        step="${{at:+$at }}${{COMP_WORDS[i]}}"
        case "$step" in
        {}) at="$step" ;;
        esac
    done
    case "$at" in
{}    esac
    case "$before" in
{}    esac
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
    [[ -n $files ]] && COMPREPLY+=($(compgen -f -- "$word"))
    return 0
}}
complete -o filenames -F _holon holon
)",
                       kFunctions, known_paths(app), shell_cases(app), value_cases(app));
}

// There `words` and `path` are taken. The file may be loaded by the first Tab, which is then to be
// answered, or by a `source`.
std::string zsh(const CLI::App& app) {
    return fmt::format(R"(#compdef holon
# holon completion zsh > "${{fpath[1]}}/_holon"
{}
_holon() {{
    local choices='' files='' at='' step i
    local word="${{words[CURRENT]}}" before="${{words[CURRENT-1]}}"
    for ((i = 2; i < CURRENT; ++i)); do
        step="${{at:+$at }}${{words[i]}}"
        case "$step" in
        {}) at="$step" ;;
        esac
    done
    case "$at" in
{}    esac
    case "$before" in
{}    esac
    compadd -- ${{=choices}}
    [[ -n $files ]] && _files
    return 0
}}
if [[ "$funcstack[1]" == _holon ]]; then
    _holon "$@"
else
    compdef _holon holon
fi
)",
                       kFunctions, known_paths(app), shell_cases(app), value_cases(app));
}

std::string fish_condition(const Words& words) {
    if (words.path.empty()) return "__fish_use_subcommand";
    std::string condition;
    std::istringstream parts(words.path);
    for (std::string part; parts >> part;)
        condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + part);
    return condition;
}

std::string fish_values(Values values) {
    switch (values) {
        case Values::Agents:
            return "-a '(holon agent list --plain 2>/dev/null | awk \"{print \\$1}\")'";
        case Values::Models:
            return "-a '(holon models --plain 2>/dev/null | awk \"NR > 1 {print \\$1}\")'";
        case Values::Keys:
            return "-a '(holon config schema --plain 2>/dev/null | awk \"NR > 1 {print \\$1}\")'";
        case Values::Templates:
            return "-a '(holon templates list --plain 2>/dev/null | awk \"{print \\$1}\")'";
        case Values::Files:
            return "-F";
        case Values::None:
            return "";
    }
    return "";
}

std::string fish(const CLI::App& app) {
    std::string out =
        "# holon completion fish > ~/.config/fish/completions/holon.fish\n"
        "complete -c holon -f\n";
    for (const auto& words : table(app)) {
        const std::string condition = fish_condition(words);
        const std::string none_yet =
            words.path.empty() || words.subcommands.empty()
                ? condition
                : fmt::format("{}; and not __fish_seen_subcommand_from {}", condition,
                              fmt::join(words.subcommands, " "));
        for (const auto& sub : words.subcommands)
            out += fmt::format("complete -c holon -n '{}' -a '{}'\n", none_yet, sub);
        if (const auto values = fish_values(words.positional); !values.empty())
            out += fmt::format("complete -c holon -n '{}' {}\n", none_yet, values);
        for (const auto& option : words.options) {
            const auto values = fish_values(values_of(std::string_view(option).substr(2)));
            std::string takes;  // With -x no file is offered among the values.
            if (!values.empty()) takes = (values == "-F" ? " -r " : " -x ") + values;
            out += fmt::format("complete -c holon -n '{}' -l '{}'{}\n", condition, option.substr(2),
                               takes);
        }
    }
    return out;
}

}  // namespace

std::string man_page(const CLI::App& app) {
    std::string page = ".TH HOLON 1\n.SH NAME\nholon \\- keeps agents alive\n";
    page += ".SH SYNOPSIS\n.B holon\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
    page += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", troff(app.get_description()));
    for (const auto* sub : app.get_subcommands({}))
        describe(*sub, "holon " + sub->get_name(), page);
    page += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", troff(app.get_footer()));
    return page;
}

std::string completion(const CLI::App& app, std::string_view shell) {
    if (shell == "bash") return bash(app);
    if (shell == "zsh") return zsh(app);
    if (shell == "fish") return fish(app);
    return "";
}

}  // namespace cli
