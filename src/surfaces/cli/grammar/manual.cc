#include "surfaces/cli/grammar/manual.h"

#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

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
    if (const auto footer = app.get_footer(); !footer.empty())
        page += fmt::format(".PP\n.nf\n{}\n.fi\n", troff(footer));
    for (const auto* sub : app.get_subcommands({}))
        describe(*sub, path + " " + sub->get_name(), page);
}

struct Words {
    std::string path;  // "daemon start"; empty for the program itself.
    std::vector<std::string> subcommands{};
    std::vector<std::string> options{};
};

// Every command with what may follow it.
void collect(const CLI::App& app, const std::string& path, std::vector<Words>& all) {
    Words words{.path = path};
    for (const auto* sub : app.get_subcommands({})) words.subcommands.push_back(sub->get_name());
    if (path.empty()) words.options = {"--help", "--version"};
    for (const auto* option : app.get_options())
        for (const auto& name : option->get_lnames())
            if (!path.empty()) words.options.push_back("--" + name);
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

// One function for both: walks the words typed so far down the table.
std::string shell_cases(const CLI::App& app) {
    std::string cases;
    for (const auto& words : table(app))
        cases += fmt::format("        '{}') choices='{} {}' ;;\n", words.path,
                             fmt::join(words.subcommands, " "), fmt::join(words.options, " "));
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
_holon() {{
    local choices='' at='' word i
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word="${{at:+$at }}${{COMP_WORDS[i]}}"
        case "$word" in
        {}) at="$word" ;;
        esac
    done
    case "$at" in
{}    esac
    COMPREPLY=($(compgen -W "$choices" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _holon holon
)",
                       known_paths(app), shell_cases(app));
}

// There `words` and `path` are taken.
std::string zsh(const CLI::App& app) {
    return fmt::format(R"(#compdef holon
# holon completion zsh > "${{fpath[1]}}/_holon"
_holon() {{
    local choices='' at='' word i
    for ((i = 2; i < CURRENT; ++i)); do
        word="${{at:+$at }}${{words[i]}}"
        case "$word" in
        {}) at="$word" ;;
        esac
    done
    case "$at" in
{}    esac
    compadd -- ${{=choices}}
    _files
}}
compdef _holon holon
)",
                       known_paths(app), shell_cases(app));
}

std::string fish_condition(const Words& words) {
    if (words.path.empty()) return "__fish_use_subcommand";
    std::string condition;
    std::istringstream parts(words.path);
    for (std::string part; parts >> part;)
        condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + part);
    return condition;
}

std::string fish(const CLI::App& app) {
    std::string out = "# holon completion fish > ~/.config/fish/completions/holon.fish\n";
    for (const auto& words : table(app)) {
        const std::string condition = fish_condition(words);
        const std::string none_yet =
            words.path.empty() || words.subcommands.empty()
                ? condition
                : fmt::format("{}; and not __fish_seen_subcommand_from {}", condition,
                              fmt::join(words.subcommands, " "));
        for (const auto& sub : words.subcommands)
            out += fmt::format("complete -c holon -n '{}' -a '{}'\n", none_yet, sub);
        for (const auto& option : words.options)
            out += fmt::format("complete -c holon -n '{}' -l '{}'\n", condition, option.substr(2));
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
