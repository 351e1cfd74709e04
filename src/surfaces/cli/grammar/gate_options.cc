#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

constexpr std::int64_t kDaysMax = 36'500;

const std::map<std::string, domain::GatePlace> kPlaces{
    {"outbox", domain::GatePlace::Outbox},
    {"inbound", domain::GatePlace::Inbound},
    {"quarantine", domain::GatePlace::Quarantine},
    {"purged", domain::GatePlace::Purged}};

template <class T>
Added<T> add(CLI::App& group, Invocation& invocation, const char* name, const char* help) {
    return add_to<GateCommand, T>(group, invocation, name, help);
}

}  // namespace

void add_gate(CLI::App& app, Invocation& invocation) {
    auto* group = app.add_subcommand("gate", "Accepted and rejected result documents");
    group->require_subcommand(1);
    group->footer(
        "\nExamples:\n"
        "  holon gate check TS-20310102-030405Z-TR-1.md\n"
        "  holon gate list --place quarantine\n"
        "  holon gate release TS-20310102-030405Z-TR-1 --reason \"a dummy key\"\n"
        "  holon gate purge --older-than-days 30");
    const auto check = add<GateCheckCommand>(
        *group, invocation, "check", "Judge a document file; exits with 3 when it is rejected");
    check.sub->add_option("file", check.action->file, "The document")->required();
    const auto list = add<GateListCommand>(*group, invocation, "list", "List documents");
    list.sub->add_option("--place", list.action->place, "Only documents in this place")
        ->transform(
            CLI::CheckedTransformer(kPlaces).description("{outbox,inbound,quarantine,purged}"));
    list.sub->add_option("--limit", list.action->limit, "How many at most")
        ->check(CLI::Range(std::int64_t{1}, kListMax))
        ->capture_default_str();
    list.sub->add_option("--before", list.action->before, kBeforeHelp);
    const auto show =
        add<GateShowCommand>(*group, invocation, "show", "Show one document, with all reasons");
    show.sub->add_option("document", show.action->document_id, "Its id")->required();
    const auto release =
        add<GateReleaseCommand>(*group, invocation, "release", "Release a rejected document");
    release.sub->add_option("document", release.action->document_id, "Its id")->required();
    release.sub->add_option("--reason", release.action->reason, "Why; it is recorded")->required();
    const auto purge =
        add<GatePurgeCommand>(*group, invocation, "purge", "Delete rejected documents permanently");
    auto* one = purge.sub->add_option("document", purge.action->request.document_id, "Its id");
    auto* old = purge.sub
                    ->add_option("--older-than-days", purge.action->request.older_than_days,
                                 "All documents judged at least this many days ago")
                    ->check(CLI::Range(std::int64_t{0}, kDaysMax));
    one->excludes(old);
    purge.sub->parse_complete_callback([one, old] {
        if (one->count() + old->count() == 0)
            throw CLI::RequiredError("The id of a document, or --older-than-days N,");
    });
}

}  // namespace cli
