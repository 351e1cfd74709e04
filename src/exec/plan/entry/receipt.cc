#include "exec/plan/entry/receipt.h"

#include <algorithm>

#include "base/text.h"
#include "exec/plan/language/wire.h"

namespace plan {
namespace {

constexpr std::int64_t kRecordsPage = 4096;

std::string shown(std::string_view text) {
    return base::printable(base::ellipsize(base::to_utf8(text), kReceiptMessageCharsMax));
}

// The changes of a run, each path once.
class Changes {
public:
    void add(const domain::Effects& effects) {
        for (const auto& one : effects.created) note(created_, one.path);
        for (const auto& one : effects.modified) note(modified_, one.path);
        for (const auto& one : effects.renamed) note(renamed_, one.from + " -> " + one.to);
        for (const auto& one : effects.deleted) note(deleted_, one.path);
    }

    json::object document() const {
        json::object out{{"created", created_},
                         {"modified", modified_},
                         {"renamed", renamed_},
                         {"deleted", deleted_}};
        if (more_ > 0) out["more"] = more_;
        return out;
    }

private:
    void note(json::array& list, std::string_view path) {
        const json::value name(shown(path));
        if (std::ranges::find(list, name) != list.end()) return;
        if (list.size() < kReceiptPathsMax)
            list.push_back(name);
        else
            ++more_;
    }
    json::array created_, modified_, renamed_, deleted_;
    std::int64_t more_{0};
};

std::string next_step(const domain::PlanRun& run) {
    using enum domain::PlanRunStatus;
    switch (run.status) {
        case AwaitingApproval:
            return fmt::format(
                "Nothing was run. It waits for the operator (holon plan approve {0}, or holon plan "
                "reject {0}); you receive its end as a message. Do not ask for it again.",
                run.run_id);
        case Running:
            return "It continues in the background; you receive its end as a message.";
        case Failed:
        case Partial:
            return "What succeeded stands. Read the errors; make a plan of what is left.";
        case Succeeded:
        case Cancelled:
            return "";
    }
    return "";
}

}  // namespace

json::object receipt(const domain::PlanRun& run, const std::vector<domain::PlanRecord>& records) {
    Changes changes;
    json::array errors;
    std::optional<json::value> output;
    for (const auto& record : records) {
        if (record.kind != domain::PlanRecordKind::Result) continue;
        const auto value = base::parse_json(record.line);
        const auto result = value ? result_from(*value) : base::Result<domain::ToolResult>();
        if (!value || !result) continue;
        changes.add(result->effects);
        if (result->ok) output = result->data;
        if (!result->error || errors.size() >= kReceiptErrorsMax) continue;
        errors.push_back(json::object{{"step_id", result->step_id},
                                      {"code", result->error->code},
                                      {"message", shown(result->error->message)}});
    }
    const auto& counts = run.counts;
    json::object out{{"run_id", run.run_id.value},
                     {"status", base::enum_name(run.status)},
                     {"goal", shown(run.goal)},
                     {"steps",
                      {{"total", counts.steps},
                       {"succeeded", counts.succeeded},
                       {"failed", counts.failed},
                       {"skipped", counts.skipped}}},
                     {"calls", counts.calls},
                     {"changes", changes.document()},
                     {"errors", std::move(errors)}};
    if (output && !output->is_null())
        out["output"] =
            base::ellipsize(base::to_utf8(base::json_text(*output)), kReceiptOutputCharsMax);
    if (run.cancel_reason) out["reason"] = shown(*run.cancel_reason);
    if (const auto next = next_step(run); !next.empty()) out["next_step"] = next;
    return out;
}

base::Result<json::object> receipt_in(store::Tx& tx, const domain::PlanRun& run) {
    std::vector<domain::PlanRecord> records;
    std::int64_t after = std::max<std::int64_t>(0, run.last_seq - kReceiptRecordsMax);
    while (after < run.last_seq) {
        auto page = TRY(tx.plan_records(run.run_id, after, kRecordsPage));
        if (page.empty()) break;
        after = page.back().seq;
        std::ranges::move(page, std::back_inserter(records));
    }
    return receipt(run, records);
}

}  // namespace plan
