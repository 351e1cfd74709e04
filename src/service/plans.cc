#include "service/plans.h"

#include "exec/plan/language/wire.h"

namespace service {

json::object plan_run_json(const domain::PlanRun& run) {
    return plan::run_json(run);
}

base::Result<bool> Plans::has_ended(const std::string& run) {
    return !TRY(this->run(run)).is_open() && !TRY(is_executing(run));
}

base::Result<PlanReverted> Plans::revert(const std::string& run, const std::string& approver,
                                         PlanObserver& observer) {
    auto out = TRY(make_revert(run, approver));
    if (!out.run) return out;
    const std::string made = out.run->run_id.value;
    out.run = TRY(execute(made, observer));
    constexpr std::int64_t kPage = 512;
    for (std::int64_t after = 0; after < out.run->last_seq;) {
        const auto page = TRY(records(made, after, kPage));
        if (page.empty()) break;
        after = page.back().seq;
        for (const auto& record : page) {
            if (record.kind != domain::PlanRecordKind::Result) continue;
            const auto value = TRY(base::parse_json(record.line));
            auto& list = base::bool_at(value, "ok") ? out.restored : out.not_restored;
            const auto* error = base::find(value, "error");
            list.push_back(error ? base::string_at(*error, "message")
                                 : base::string_at(value, "userMessage"));
        }
    }
    return out;
}

}  // namespace service
