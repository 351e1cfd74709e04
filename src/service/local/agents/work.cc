#include "service/local/agents/work.h"

#include <algorithm>
#include <charconv>

#include "agent/work/plan_file.h"
#include "agent/work/views.h"
#include "base/text.h"
#include "domain/events/work.h"
#include "flow/work_items/work_items.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::int64_t kPageMax = 200;
constexpr std::size_t kShortIdChars = 9;           // "work_" and four digits.
constexpr std::int64_t kShortIdsSearched = 1'000;  // The items that changed last.

// Everything here is the operator's.
base::Status check_caller(const Caller& caller) {
    if (caller.admission == domain::AdmissionContext::ControlAuthenticated ||
        caller.admission == domain::AdmissionContext::LocalProcess)
        return {};
    return fail(ErrorCode::Refused, "only the operator may do this");
}

std::optional<domain::WorkReadiness> readiness_of_filter(WorkFilter filter) {
    switch (filter) {
        case WorkFilter::Runnable:
            return domain::WorkReadiness::Runnable;
        case WorkFilter::Blocked:
            return domain::WorkReadiness::Blocked;
        case WorkFilter::WaitingForOperator:
            return domain::WorkReadiness::WaitingForOperator;
        case WorkFilter::Completed:
            return domain::WorkReadiness::Completed;
        case WorkFilter::All:
        case WorkFilter::Open:
            return std::nullopt;
    }
    return std::nullopt;
}

// A cursor is "<microseconds>:<id>" of the last item of its page.
std::string cursor_of(const domain::WorkItem& item) {
    return fmt::format("{}:{}", base::to_micros(item.updated_at), item.id);
}

base::Status place(const std::string& cursor, store::WorkPage& page) {
    const auto colon = cursor.find(':');
    std::int64_t micros = 0;
    const char* end = cursor.data() + std::min(colon, cursor.size());
    const auto read = std::from_chars(cursor.data(), end, micros);
    if (colon == std::string::npos || read.ec != std::errc() || read.ptr != end)
        return fail(ErrorCode::InvalidInput, "'{}' is not the 'next' of a page of work items",
                    base::printable(cursor));
    page.before_updated_at = base::from_micros(micros);
    page.before_id = {cursor.substr(colon + 1)};
    return {};
}

work::Update unblocked(const domain::WorkItem& item) {
    work::Update change{.id = item.id, .blocked_by = ""};
    if (item.plan_status == domain::PlanStatus::NeedsInput)
        change.plan_status = domain::PlanStatus::Ready;
    return change;
}

// By its id, or by the beginning of it as long as that means one item.
base::Result<domain::WorkItem> item_of(store::Tx& tx, const domain::AgentId& agent,
                                       const domain::WorkItemId& id) {
    auto item = TRY(tx.work_item(id));
    if (item && item->agent_id == agent) return std::move(*item);
    std::vector<domain::WorkItem> found;
    if (id.value.size() >= kShortIdChars)
        for (auto& one : TRY(tx.work_items(agent, {.limit = kShortIdsSearched})))
            if (one.id.value.starts_with(id.value)) found.push_back(std::move(one));
    if (found.size() == 1) return std::move(found.front());
    if (found.size() > 1)
        return fail(ErrorCode::Conflict,
                    "several work items of agent {} begin with {}; give more of the id", agent,
                    base::printable(id.value));
    return fail(ErrorCode::NotFound,
                "agent {} has no work item {}; see: holon work list --agent {}", agent,
                base::printable(id.value), agent);
}

base::Result<work::ViewFacts> facts_of(store::Tx& tx, const domain::Agent& agent,
                                       domain::WorkItem item) {
    work::ViewFacts facts{.is_current = agent.current_work_item_id == item.id,
                          .waits = TRY(tx.open_waits_of(item.id)),
                          .delivery_summary = TRY(tx.delivery_summary(item.id))};
    facts.item = std::move(item);
    return facts;
}

}  // namespace

// Outside of a transaction: a slow disk would hold it open.
json::object LocalWork::view(work::ViewFacts facts) const {
    const auto& item = facts.item;
    // A plan that cannot be read does not hide its item.
    if (auto plan = work::read_plan(parts_.turn.home_of(item.agent_id), item.agent_id, item.id))
        facts.plan_artifact = std::move(*plan);
    return work::view(facts);
}

base::Result<WorkItemsPage> LocalWork::page(const std::string& agent,
                                            const WorkItemsQuery& query) const {
    const domain::AgentId id{agent};
    const auto limit = std::clamp<std::int64_t>(query.limit, 1, kPageMax);
    store::WorkPage wanted{.readiness = readiness_of_filter(query.filter),
                           .open_only = query.filter == WorkFilter::Open,
                           .limit = limit + 1};
    if (query.after) TRY(place(*query.after, wanted));
    WorkItemsPage page;
    std::vector<work::ViewFacts> shown;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        page = {};
        shown.clear();
        const auto known = TRY(known_agent(tx, id));
        auto items = TRY(tx.work_items(id, wanted));
        if (std::ssize(items) > limit) {
            items.resize(static_cast<std::size_t>(limit));
            page.next = cursor_of(items.back());
        }
        for (auto& item : items) shown.push_back(TRY(facts_of(tx, known, std::move(item))));
        return {};
    }));
    for (auto& facts : shown) page.work_items.push_back(view(std::move(facts)));
    return page;
}

base::Result<json::object> LocalWork::show(const std::string& agent, const std::string& id) const {
    work::ViewFacts shown;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        const auto known = TRY(known_agent(tx, {agent}));
        shown = TRY(facts_of(tx, known, TRY(item_of(tx, {agent}, {id}))));
        return {};
    }));
    return view(std::move(shown));
}

base::Result<domain::WorkItem> LocalWork::create(const std::string& agent,
                                                 const WorkItemRequest& request,
                                                 const Caller& caller) {
    TRY(check_caller(caller));
    const domain::AgentId id{agent};
    work::NewItem made{.id = {"work_" + parts_.turn.ids.hex32()},
                       .agent_id = id,
                       .objective = std::string(base::trim(request.objective)),
                       .plan_status = request.plan_status.value_or(domain::PlanStatus::Draft),
                       .trust = request.trust};
    if (const auto refusal = work::check(made))
        return std::unexpected(
            base::Error{ErrorCode::InvalidInput, refusal->message, "invalid_body"});
    const auto home = parts_.turn.home_of(id);
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        TRY(known_agent(tx, id));
        return {};
    }));
    // A folder that is left behind when the commit fails holds nothing that anybody reads.
    TRY(work::write_plan(home, made.id, base::trim(request.plan.value_or(""))));
    made.plan_artifact = TRY(work::read_plan(home, id, made.id));
    domain::WorkItem item;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        const auto known = TRY(known_agent(log.tx(), id));
        const auto counts = TRY(log.tx().work_counts(id));
        if (counts.runnable + counts.blocked + counts.waiting_for_operator >= kOpenWorkItemsMax)
            return fail(ErrorCode::Refused, "agent {} already has {} open work items", id,
                        kOpenWorkItemsMax);
        made.workspace_id = known.active_workspace_entry
                                ? known.active_workspace_entry->workspace_id
                                : "agent_home";
        item = TRY(work_items::create(log, made));
        return log.append(
            id, domain::events::WorkItemEnqueueRequested{
                    .work_item_id = item.id,
                    .target_agent_id = id,
                    .admission_context = caller.admission,
                    .provided_trust = request.trust.value_or(domain::TrustLevel::TrustedOperator)});
    }));
    wake(agent);
    return item;
}

base::Result<json::object> LocalWork::change(const std::string& agent, const std::string& id,
                                             const WorkItemChange& change, const Caller& caller) {
    TRY(check_caller(caller));
    work::ViewFacts shown;
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        auto known = TRY(known_agent(log.tx(), {agent}));
        const auto before = TRY(item_of(log.tx(), {agent}, {id}));
        const auto& item_id = before.id;
        switch (change.action) {
            case WorkAction::Pick:
                TRY(work_items::pick(log, known, {.id = item_id, .reason = "the operator"}));
                break;
            case WorkAction::Block: {
                const auto text = base::trim(change.text);
                if (text.empty())
                    return fail(ErrorCode::InvalidInput, "say what the work item waits for");
                TRY(work_items::update(log, known,
                                       {.id = item_id,
                                        .blocked_by = std::string(text),
                                        .recheck_after_ms = change.recheck_after_ms}));
                break;
            }
            case WorkAction::Unblock:
                TRY(work_items::update(log, known, unblocked(before)));
                break;
            case WorkAction::Done:
                TRY(work_items::complete(log, known, {.id = item_id}));
                break;
        }
        TRY(log.tx().put_agent(known));
        shown = TRY(facts_of(log.tx(), known, TRY(item_of(log.tx(), {agent}, item_id))));
        return {};
    }));
    wake(agent);
    return view(std::move(shown));
}

void LocalWork::wake(const std::string& agent) {
    parts_.transactions.post([this, id = domain::AgentId{agent}] {
        parts_.scheduler.timers_changed();
        parts_.scheduler.wake(id);
    });
}

}  // namespace service
