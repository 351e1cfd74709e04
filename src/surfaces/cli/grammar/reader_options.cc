#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

constexpr const char* kDisplayHelp =
    "How much to show: info (results, 3), verbose (activity, 4) or debug (details, 5)";

void add_tail(CLI::App& app, Invocation& invocation) {
    const auto tail = add_command<TailCommand>(app, invocation, "tail",
                                               "Show the agent's newest messages to you");
    auto* follow = tail.sub->add_flag("-f,--follow", tail.action->follow,
                                      "Follow: show new entries as they appear, until Ctrl-C");
    tail.sub
        ->add_option_function<std::string>(
            "--display",
            [action = tail.action](const std::string& text) {
                const auto mode = views::parse_display_mode(text);
                if (!mode) throw CLI::ValidationError("--display", kDisplayHelp);
                action->display = *mode;
            },
            kDisplayHelp)
        ->needs(follow);
    tail.sub->footer(
        "\nExamples:\n"
        "  holon tail --agent main\n"
        "  holon tail -f --display verbose");
}

}  // namespace

void add_readers(CLI::App& app, Invocation& invocation) {
    add_command<StatusCommand>(app, invocation, "status",
                               "Show an agent: status, workspace, model, token use");
    add_tail(app, invocation);
    add_command<TranscriptCommand>(app, invocation, "transcript",
                                   "Show the conversation and the tool calls, round by round");
    const auto events = add_command<EventsCommand>(
        app, invocation, "events", "Print an agent's events, one JSON object per line");
    events.sub->add_option("--after-seq", events.action->after_seq, "Only events after this one")
        ->capture_default_str();
    events.sub->add_flag("-f,--follow", events.action->follow, "Follow until Ctrl-C");
    auto* debug = app.add_subcommand("debug", "Inspect prompts and timing");
    debug->require_subcommand(1);
    debug->footer(
        "\nExamples:\n  holon debug prompt \"what would you be asked?\"\n"
        "  holon debug latency --agent main");
    const auto prompt = add_command<DebugPromptCommand>(
        *debug, invocation, "prompt",
        "Print the prompt that a message would produce; runs nothing");
    prompt.sub->add_option("text", prompt.action->text, "The message")->required();
    add_trust(*prompt.sub, prompt.action->trust);
    const auto latency = add_command<DebugLatencyCommand>(
        *debug, invocation, "latency", "Show where the newest turns spent their time");
    latency.sub
        ->add_option("--events-limit", latency.action->events_limit, "How many events to read")
        ->check(CLI::Range(std::int64_t{1}, kListMax))
        ->capture_default_str();
}

}  // namespace cli
