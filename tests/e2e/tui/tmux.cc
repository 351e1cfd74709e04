#include "tests/e2e/tui/tmux.h"

#include <csignal>

#include <gtest/gtest.h>

#include "base/text.h"

namespace e2e {
namespace {

constexpr std::string_view kPrompt = "shell>";

int next_number() {
    static int number = 0;
    return ++number;
}

}  // namespace

Tmux::Tmux(DaemonWorld& world, int columns, int rows)
    : world_(world), name_(fmt::format("holon-{}", next_number())) {
    world_.environment["TMUX_TMPDIR"] = world_.folder().string();
    world_.environment["LC_ALL"] = "C.UTF-8";
    world_.environment["HOLON"] = HOLON_PROGRAM;
    world_.environment.erase("TERM");
    ask({"new-session", "-d", "-x", std::to_string(columns), "-y", std::to_string(rows),
         "/bin/sh"});
    ask({"set-option", "-g", "history-limit", "20000"});
    EXPECT_TRUE(test_support::eventually([&] { return !base::trim(screen()).empty(); }))
        << "tmux does not run: install it";
    type("PS1=shell'> '");
    key("Enter");
    EXPECT_TRUE(is_at_shell()) << screen();
}

Tmux::~Tmux() {
    ask({"kill-server"});
}

std::string Tmux::ask(std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/env", "tmux", "-u", "-L", name_, "-f", "/dev/null"});
    return world_.start_command(std::move(words)).wait().out;
}

void Tmux::run(const std::string& arguments) {
    type("\"$HOLON\" " + arguments);
    key("Enter");
}

void Tmux::open_console(const std::string& options) {
    start_console(options);
    EXPECT_TRUE(shows("connected")) << screen();
}

void Tmux::start_console(const std::string& options) {
    const std::string file = world_.folder() / fmt::format("console-{}-{}.pid", name_, ++runs_);
    type(fmt::format("sh -c 'echo $$ >{}; exec \"$HOLON\" tui {}'", file, options));
    key("Enter");
}

pid_t Tmux::console() const {
    const auto file = world_.folder() / fmt::format("console-{}-{}.pid", name_, runs_);
    return std::stoi(world_.read(file));
}

void Tmux::type(std::string_view text) {
    ask({"send-keys", "-l", std::string(text)});
}

void Tmux::key(const std::string& name) {
    ask({"send-keys", name});
}

void Tmux::paste(std::string_view text) {
    const auto file = world_.folder() / "pasted";
    world_.write(file, text);
    ask({"load-buffer", file.string()});
    ask({"paste-buffer", "-p"});
}

void Tmux::resize(int columns, int rows) {
    ask({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
}

std::string Tmux::screen() {
    return ask({"capture-pane", "-p"});
}

std::string Tmux::all() {
    return ask({"capture-pane", "-p", "-S", "-"});
}

bool Tmux::shows(std::string_view text) {
    return test_support::eventually([&] { return screen().contains(text); });
}

bool Tmux::hides(std::string_view text) {
    return test_support::eventually([&] { return !screen().contains(text); });
}

bool Tmux::has(std::string_view text) {
    return test_support::eventually([&] { return all().contains(text); });
}

bool Tmux::is_at_shell() {
    return test_support::eventually([&] {
        const std::string text = screen();
        return base::trim(text).ends_with(kPrompt);
    });
}

void Tmux::record() {
    const auto file = world_.folder() / (name_ + ".bytes");
    world_.write(file, "");
    ask({"pipe-pane", "-o", "cat >>" + file.string()});
}

std::string Tmux::recorded() const {
    return world_.read(world_.folder() / (name_ + ".bytes"));
}

}  // namespace e2e
