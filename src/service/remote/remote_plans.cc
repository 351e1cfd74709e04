#include "service/remote/remote_plans.h"

#include <algorithm>
#include <atomic>

#include "base/text.h"
#include "service/plans_json.h"
#include "service/remote/watch.h"

namespace service {
namespace {

using base::ErrorCode;
using domain::PlanRun;

constexpr std::int64_t kRecordPageMax = 512;
constexpr std::chrono::milliseconds kPreviewTimeout = 60s;
constexpr std::chrono::milliseconds kProofTimeout = 300s;  // Reads everything that a run recorded.
// Checks again after this long, also without a notification.
constexpr std::chrono::milliseconds kCheckAgain = 2s;
// A daemon that has just started resumes its runs; a run that is not resumed by then will not be.
constexpr int kChecksWithoutExecutorMax = 5;

std::string run_path(const std::string& run, std::string_view rest = "") {
    return fmt::format("/plans/runs/{}{}", base::percent_encoded(run), rest);
}

template <class T>
base::Result<T> decode(const base::Result<json::value>& answer, std::string_view what) {
    if (!answer) return std::unexpected(answer.error());
    auto decoded = plan_from<T>(*answer);
    if (!decoded) return unreadable_answer(what, decoded.error().message);
    return decoded;
}

template <class T>
base::Result<std::vector<T>> decode_list(const base::Result<json::value>& answer,
                                         std::string_view what) {
    if (!answer) return std::unexpected(answer.error());
    if (!answer->is_array()) return unreadable_answer(what, "not a list");
    std::vector<T> list;
    for (const auto& one : answer->get_array()) list.push_back(TRY(decode<T>(one, what)));
    return list;
}

base::Result<json::object> as_object(base::Result<json::value> answer, std::string_view what) {
    if (!answer) return std::unexpected(answer.error());
    if (!answer->is_object()) return unreadable_answer(what, "not an object");
    return std::move(answer->get_object());
}

// Here a folder goes by its absolute path; anything else is the name of a run.
json::object subject(const std::string& run) {
    std::error_code failed;
    if (std::filesystem::is_directory(run, failed))
        return {{"folder", std::filesystem::absolute(run, failed).string()}};
    return {{"run", run}};
}

// Wakes the thread that waits for a run.
class Wakeup {
public:
    void ring() {
        {
            const std::lock_guard lock(mutex_);
            rung_ = true;
        }
        woken_.notify_one();
    }
    void wait(std::chrono::milliseconds bound) {
        std::unique_lock lock(mutex_);
        woken_.wait_for(lock, bound, [this] { return rung_; });
        rung_ = false;
    }

private:
    std::mutex mutex_;
    std::condition_variable woken_;
    bool rung_{false};
};

}  // namespace

RemotePlans::RemotePlans(RemotePlansParts parts)
    : parts_(std::move(parts)), client_(parts_.address) {}

base::Result<json::value> RemotePlans::post(const std::string& path, json::object body,
                                            std::chrono::milliseconds timeout) const {
    return client_.ask({.method = Method::Post,
                        .path = path,
                        .body = base::json_text(json::value(std::move(body))),
                        .timeout = timeout});
}

json::object RemotePlans::body_of(const PlanRequest& request) const {
    std::error_code failed;
    const std::filesystem::path vault = request.vault.value_or(parts_.vault.string());
    json::object body{{"vault", std::filesystem::absolute(vault, failed).string()},
                      {"params", request.params},
                      {"policy", request.policy},
                      {"context", request.context}};
    if (request.action)
        body["action"] = *request.action;
    else
        body["text"] = request.text;
    return body;
}

base::Result<PlanCheck> RemotePlans::check(const PlanRequest& request) {
    return decode<PlanCheck>(post("/plans/check", body_of(request)), "check");
}

base::Result<json::object> RemotePlans::preview(const PlanRequest& request) {
    return as_object(post("/plans/preview", body_of(request), kPreviewTimeout), "preview");
}

base::Result<PlanMade> RemotePlans::make(const PlanMakeRequest& /*request*/) {
    return base::fail(base::ErrorCode::Refused,
                      "a daemon makes no plans; holon plan make asks the model itself");
}

base::Result<PlanCreated> RemotePlans::create(const PlanRequest& request) {
    return decode<PlanCreated>(post("/plans/runs", body_of(request)), "runs");
}

base::Result<PlanRun> RemotePlans::approve(const std::string& run, const std::string& /*approver*/,
                                           std::chrono::milliseconds lifetime) {
    return decode<PlanRun>(post(run_path(run, "/approve"), {{"lifetimeMs", lifetime.count()}}),
                           "approve");
}

base::Result<PlanRun> RemotePlans::reject(const std::string& run, const std::string& /*by*/,
                                          const std::string& reason) {
    return decode<PlanRun>(post(run_path(run, "/reject"), {{"reason", reason}}), "reject");
}

base::Result<PlanRun> RemotePlans::begin(const std::string& run) {
    return decode<PlanRun>(post(run_path(run, "/begin"), {}), "begin");
}

base::Result<PlanRun> RemotePlans::cancel(const std::string& run, const std::string& reason) {
    return decode<PlanRun>(
        post(run_path(run, "/cancel"), {{"reason", reason}}, kCancelWait + kAnswerTimeout),
        "cancel");
}

base::Result<RemotePlans::RunState> RemotePlans::run_state(const std::string& run) {
    const auto answer = TRY(as_object(client_.get(run_path(run)), "run"));
    const auto* shown = answer.if_contains("run");
    if (!shown) return unreadable_answer("run", "no run");
    return RunState{TRY(decode<PlanRun>(*shown, "run")), base::bool_at(answer, "isCarried")};
}

base::Result<PlanRun> RemotePlans::run(const std::string& run) {
    return TRY(run_state(run)).run;
}

base::Result<bool> RemotePlans::is_executing(const std::string& run) {
    return TRY(run_state(run)).is_executing;
}

std::shared_ptr<void> RemotePlans::watch_from(const std::string& id, std::int64_t after,
                                              std::function<void(std::int64_t)> changed) const {
    const auto cursor = std::make_shared<std::atomic<std::int64_t>>(after);
    return follow(parts_.address,
                  Followed{.stream_path =
                               [id, cursor] {
                                   return run_path(id, fmt::format("/records/stream?after_seq={}",
                                                                   cursor->load()));
                               },
                           .seq_member = "seq",
                           .ends = true},
                  {.changed =
                       [cursor, changed = std::move(changed)](std::int64_t newest) {
                           if (newest > *cursor) *cursor = newest;
                           changed(*cursor);
                       },
                   .lost = parts_.on_lost});
}

base::Result<std::shared_ptr<void>> RemotePlans::watch(const std::string& run,
                                                       std::function<void(std::int64_t)> changed) {
    const auto current = TRY(this->run(run));
    return watch_from(current.run_id.value, current.last_seq, std::move(changed));
}

// A page may be short of what was asked for, so it continues until the newest line is there.
base::Status RemotePlans::show_new(const PlanRun& run, std::int64_t& cursor,
                                   PlanObserver& observer) {
    while (cursor < run.last_seq) {
        const auto page = TRY(records(run.run_id.value, cursor, kRecordPageMax));
        for (const auto& record : page) observer.on_record(record);
        if (page.empty()) return {};
        cursor = page.back().seq;
    }
    return {};
}

base::Result<PlanRun> RemotePlans::execute(const std::string& run, PlanObserver& observer) {
    const auto before = TRY(this->run(run));
    const std::string id = before.run_id.value;
    std::int64_t cursor = before.last_seq;
    TRY(begin_interruptibly(id));
    Wakeup wakeup;
    const auto token = watch_from(id, cursor, [&](std::int64_t) { wakeup.ring(); });
    for (int checks = 0;; wakeup.wait(kCheckAgain)) {
        // Loaded first: lines that the run wrote before its end are shown then.
        const auto current = run_state(id);
        base::Status shown;
        if (current)
            shown = show_new(current->run, cursor, observer);
        else
            shown = std::unexpected(current.error());
        if (!shown) {
            const std::lock_guard lock(mutex_);
            if (shown.error().code == ErrorCode::Unavailable && !is_given_up_) continue;
            executing_.clear();
            return std::unexpected(shown.error());
        }
        checks = current->is_executing ? 0 : checks + 1;
        if (current->is_executing || (current->run.is_open() && checks < kChecksWithoutExecutorMax))
            continue;
        set_executing("");
        return current->run;
    }
}

// An interrupt that comes meanwhile ends the run once it has begun.
base::Status RemotePlans::begin_interruptibly(const std::string& id) {
    if (cancelling_.joinable()) cancelling_.join();  // Of a run before this one.
    {
        const std::lock_guard lock(mutex_);
        executing_ = id;
        is_beginning_ = true;
        is_given_up_ = false;
        interrupted_.reset();
    }
    const auto begun = begin(id);
    const std::lock_guard lock(mutex_);
    is_beginning_ = false;
    if (!begun) {
        executing_.clear();
        return std::unexpected(begun.error());
    }
    if (interrupted_) start_cancelling();
    return {};
}

void RemotePlans::set_executing(std::string id) {
    const std::lock_guard lock(mutex_);
    executing_ = std::move(id);
}

bool RemotePlans::interrupt(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (executing_.empty()) return false;
    interrupted_ = reason;
    if (!is_beginning_ && !cancelling_.joinable()) start_cancelling();
    return true;
}

// On a thread of its own: the caller waits for signals, and a second one must reach it.
void RemotePlans::start_cancelling() {
    cancelling_ = std::jthread([this, id = executing_, reason = *interrupted_] {
        if (cancel(id, reason)) return;
        const std::lock_guard lock(mutex_);
        is_given_up_ = true;
    });
}

base::Result<Listed<PlanRun>> RemotePlans::runs(const ListQuery& query) {
    auto answer = TRY(client_.list("/plans/runs", query));
    return Listed<PlanRun>{.items = TRY(decode_list<PlanRun>(answer.body, "runs")),
                           .next = std::move(answer.next)};
}

base::Result<json::object> RemotePlans::show(const std::string& run) {
    return as_object(client_.get(run_path(run, "/show")), "show");
}

base::Result<std::vector<domain::PlanRecord>> RemotePlans::records(const std::string& run,
                                                                   std::int64_t after_seq,
                                                                   std::int64_t limit) {
    const auto page = TRY(
        as_object(client_.get(run_path(run, fmt::format("/records?after_seq={}&limit={}", after_seq,
                                                        std::min(limit, kRecordPageMax)))),
                  "records"));
    const auto* list = page.if_contains("records");
    return decode_list<domain::PlanRecord>(list ? *list : json::value(), "records");
}

base::Result<PlanVerdict> RemotePlans::verify(const std::string& run) {
    return decode<PlanVerdict>(post("/plans/verify", subject(run), kProofTimeout), "verify");
}

base::Result<PlanReplay> RemotePlans::replay(const std::string& run) {
    return decode<PlanReplay>(post("/plans/replay", subject(run), kProofTimeout), "replay");
}

base::Result<PlanReverted> RemotePlans::make_revert(const std::string& run,
                                                    const std::string& /*approver*/) {
    return decode<PlanReverted>(post(run_path(run, "/revert"), {}), "revert");
}

base::Result<domain::PlanAction> RemotePlans::save(const std::string& name,
                                                   const std::string& description,
                                                   const std::optional<std::string>& run,
                                                   const std::optional<std::string>& text) {
    json::object body{{"name", name}, {"description", description}};
    if (run)
        body["run"] = *run;
    else
        body["text"] = text.value_or("");
    return decode<domain::PlanAction>(post("/plans/actions", std::move(body)), "actions");
}

base::Result<std::vector<domain::PlanAction>> RemotePlans::actions() {
    return decode_list<domain::PlanAction>(client_.get("/plans/actions"), "actions");
}

base::Result<domain::PlanAction> RemotePlans::action(const std::string& name) {
    return decode<domain::PlanAction>(client_.get("/plans/actions/" + base::percent_encoded(name)),
                                      "action");
}

base::Status RemotePlans::remove_action(const std::string& name) {
    TRY(post("/plans/actions/" + base::percent_encoded(name) + "/remove", {}));
    return {};
}

base::Result<std::vector<ToolView>> RemotePlans::tools() {
    return decode_list<ToolView>(client_.get("/plans/tools"), "tools");
}

}  // namespace service
