#include "surfaces/cli/grammar/options.h"

namespace cli {

void add_searches(CLI::App& app, Invocation& invocation) {
    const auto search = add_command<SearchCommand>(
        app, invocation, "search", "Find text in transcripts, briefs and events of all agents");
    search.sub->add_option("text", search.action->text, "The words to find")->required();
    search.sub->add_option("--agent", search.action->only_agent, "Only this agent");
    search.sub->add_option("--since", search.action->since,
                           "Only what is newer: a length of time (2d, 90m) or a time "
                           "(2031-01-02T03:04:05Z)");
    search.sub->footer(
        "\nExamples:\n"
        "  holon search \"connection refused\"\n"
        "  holon search migration --agent main --since 2d");

    auto* memory = app.add_subcommand("memory", "What an agent remembers");
    memory->require_subcommand(1);
    memory->footer(
        "\nExamples:\n"
        "  holon memory search \"release checklist\" --agent main\n"
        "  holon memory show agent_memory:self");
    const auto find = add_command<MemorySearchCommand>(
        *memory, invocation, "search",
        "Find what the agent noted, worked on and reported, best first");
    find.sub->add_option("text", find.action->text, "The words to find")->required();
    find.sub->add_flag("--all-workspaces", find.action->all_workspaces,
                       "Not only the workspace that the agent works in");
    const auto show = add_command<MemoryShowCommand>(*memory, invocation, "show",
                                                     "Show the text behind a result of search");
    show.sub->add_option("ref", show.action->source_ref, "The result, as search printed it")
        ->required();
    show.sub->add_option("--max-chars", show.action->max_chars, "How much of it to show")
        ->check(CLI::Range(std::int64_t{1}, domain::kMemoryCharsMax))
        ->capture_default_str();
}

}  // namespace cli
