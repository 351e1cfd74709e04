#include "tests/plans/case.h"

#include <set>

#include "base/os/files.h"
#include "exec/plan/language/yaml.h"
#include "tests/plans/world.h"

namespace plans_test {
namespace {

using domain::PlanRecordKind;

std::string shown(const json::value& value) {
    return base::json_text(value);
}

// Does `actual` have everything that `wanted` names?
bool fits(const json::value& wanted, const json::value& actual) {
    if (const auto* object = wanted.if_object()) {
        if (object->size() == 1 && object->contains("any")) return true;
        if (!actual.is_object()) return false;
        for (const auto& member : *object) {
            const auto* found = actual.get_object().if_contains(member.key());
            if (!found || !fits(member.value(), *found)) return false;
        }
        return true;
    }
    if (const auto* array = wanted.if_array()) {
        if (!actual.is_array() || actual.get_array().size() != array->size()) return false;
        for (std::size_t i = 0; i < array->size(); ++i)
            if (!fits((*array)[i], actual.get_array()[i])) return false;
        return true;
    }
    return wanted == actual;
}

class Case {
public:
    explicit Case(json::value what) : what_(std::move(what)), expect_(json::object()) {
        if (const auto* found = base::find(what_, "expect")) expect_ = *found;
    }

    std::vector<std::string> run() {
        check_members(what_, {"about", "plan", "text", "vault", "policy", "context", "params",
                              "approval", "cancel", "crash", "expect"});
        check_members(expect_, {"status", "faults", "calls", "results", "events", "failure", "ran",
                                "atOnce", "vault", "preview"});
        if (const auto* vault = base::find(what_, "vault"); vault && vault->is_object())
            for (const auto& member : vault->get_object())
                world_.put(std::string(std::string_view(member.key())),
                           member.value().is_string()
                               ? std::string(std::string_view(member.value().get_string()))
                               : "");
        before_ = world_.files();
        if (base::find(expect_, "preview")) check_preview();
        const bool began = execute();
        if (began) check_journal();
        check_vault();
        check_ran();
        check_at_once();
        return std::move(faults_);
    }

private:
    void fault(std::string text) { faults_.push_back(std::move(text)); }

    // A misspelt member would make a case that proves nothing.
    void check_members(const json::value& value, const std::set<std::string>& known) {
        if (!value.is_object()) return fault("the case is not an object");
        for (const auto& member : value.get_object())
            if (!known.contains(std::string(std::string_view(member.key()))))
                fault(fmt::format("'{}' is no member of a case", std::string_view(member.key())));
    }

    json::object object_at(std::string_view name) const {
        const auto* found = base::find(what_, name);
        return found && found->is_object() ? found->get_object() : json::object();
    }

    domain::PlanRequest request() const {
        domain::PlanRequest request{.params = object_at("params"),
                                    .policy = object_at("policy"),
                                    .context = object_at("context")};
        const auto* plan = base::find(what_, "plan");
        request.text = plan ? base::json_text(*plan) : base::string_at(what_, "text");
        return request;
    }

    void check_preview() {
        Life life(world_);
        const auto preview = life.plans().preview(request());
        if (!preview) return fault("preview: " + preview.error().message);
        if (!fits(expect_.at("preview"), *preview)) fault("preview is " + shown(*preview));
        if (world_.files() != before_) fault("the preview changed the vault");
        world_.tools.ran.clear();
        world_.tools.running_max = 0;
    }

    // False when the plan was refused.
    bool execute() {
        auto life = std::make_unique<Life>(world_);
        const auto created = life->plans().create(request());
        if (!created) {
            fault("create: " + created.error().message);
            return false;
        }
        if (!created->run) {
            check_refusal(created->faults);
            return false;
        }
        if (base::string_at(expect_, "status") == "refused") fault("the plan was not refused");
        run_ = created->run->run_id.value;
        const std::string approval = base::string_at(what_, "approval", "given");
        if (approval == "rejected")
            CHECK(life->plans().reject(run_, "tester", "no").has_value(), "a run can be rejected");
        else if (approval != "none" && created->needs_approval)
            CHECK(life->plans()
                      .approve(run_, "tester",
                               approval == "expired" ? std::chrono::milliseconds(1)
                                                     : std::chrono::hours(24))
                      .has_value(),
                  "a run can be approved");
        if (approval == "expired") {
            life->loop().after(std::chrono::hours(1), [] {});
            life->loop().run();
        }
        execute(std::move(life));
        return true;
    }

    void execute(std::unique_ptr<Life> life) {
        const auto* crash = base::find(what_, "crash");
        if (crash) {
            life.reset();
            life = std::make_unique<Life>(world_, sim::FaultPlan{sim::Fault::CrashAfterCommit,
                                                                 base::int_at(*crash, "commit")});
        }
        const auto* cancel = base::find(what_, "cancel");
        const std::string after = cancel ? base::string_at(*cancel, "after") : "";
        Recorder recorder;
        recorder.on_each = [&](const domain::PlanRecord& record) {
            const auto value = base::parse_json(record.line).value();
            if (cancel && base::string_at(value, "type") == "step.started" &&
                base::string_at(value, "stepId") == after)
                life->loop().post([&] { life->plans().interrupt("the case says so"); });
        };
        try {
            result_ = life->plans().execute(run_, recorder.seen());
        } catch (const sim::Crash&) {
            life.reset();
            life = std::make_unique<Life>(world_);
            result_ = life->plans().execute(run_, recorder.seen());
        }
    }

    void check_refusal(const std::vector<domain::PlanFault>& faults) {
        if (base::string_at(expect_, "status") != "refused")
            for (const auto& one : faults) fault("refused: " + one.path + ": " + one.message);
        const json::value& expected = expect_;
        const auto* wanted = base::find(expected, "faults");
        if (!wanted) return;
        bool same = wanted->get_array().size() == faults.size();
        for (std::size_t i = 0; same && i < faults.size(); ++i) {
            const auto& one = wanted->get_array()[i];
            same = base::string_at(one, "path") == faults[i].path &&
                   (faults[i].message + " " + faults[i].hint).find(base::string_at(one, "says")) !=
                       std::string::npos;
        }
        if (same) return;
        for (const auto& one : faults)
            fault(fmt::format("a fault is {}: {} {}", one.path, one.message, one.hint));
    }

    void check_journal() {
        Life life(world_);
        const auto records = life.plans().records(run_, 0, 1'000'000).value();
        const auto run = life.plans().run(run_).value();
        const json::value& expected = expect_;
        if (const std::string status = base::string_at(expected, "status");
            !status.empty() && status != base::enum_name(run.status))
            fault(fmt::format("the run is {}{}{}", base::enum_name(run.status),
                              run.failure ? ": " + run.failure->message : "",
                              result_ ? "" : " (" + result_.error().message + ")"));
        if (const auto* failure = base::find(expected, "failure")) {
            if (!run.failure || base::string_at(*failure, "step") != run.failure->step_id ||
                base::string_at(*failure, "code") != run.failure->code)
                fault(run.failure ? fmt::format("it failed with {} at '{}': {}", run.failure->code,
                                                run.failure->step_id, run.failure->message)
                                  : "it did not fail");
        }
        check_calls(of_kind(records, PlanRecordKind::Call), expected);
        check_results(of_kind(records, PlanRecordKind::Result),
                      of_kind(records, PlanRecordKind::Call), expected);
        check_events(of_kind(records, PlanRecordKind::Event), expected);
        if (run.is_open()) return;
        for (const auto& promise : broken_promises(records)) fault(promise);
        const auto verdict = life.plans().verify(run_).value();
        for (const auto& one : verdict.faults) fault("verify: " + one);
        const auto replay = life.plans().replay(run_);
        if (!replay) return fault("replay: " + replay.error().message);
        for (const auto& one : replay->divergences) fault("replay: " + one);
    }

    // The members of a call or result that a case names, under the names it uses.
    static json::value as_named(const json::value& record) {
        json::value out = record;
        out.get_object()["step"] = record.at("stepId");
        if (const auto* iteration = base::find(record, "iteration"))
            out.get_object()["item"] = iteration->at("index");
        return out;
    }

    void check_calls(const std::vector<json::value>& calls, const json::value& expected) {
        const auto* wanted = base::find(expected, "calls");
        if (!wanted) return;
        const auto& list = wanted->get_array();
        bool same = list.size() == calls.size();
        for (std::size_t i = 0; same && i < calls.size(); ++i)
            same = fits(list[i], as_named(calls[i]));
        if (same) return;
        for (const auto& call : calls)
            fault(fmt::format(
                "a call is {} {} attempt {} {}", base::string_at(call, "stepId"),
                base::find(call, "iteration") ? shown(call.at("iteration").at("index")) : "",
                base::int_at(call, "attempt"), shown(call.at("args"))));
        if (calls.empty()) fault("there are no calls");
    }

    void check_results(const std::vector<json::value>& results,
                       const std::vector<json::value>& calls, const json::value& expected) {
        const auto* wanted = base::find(expected, "results");
        if (!wanted) return;
        std::size_t next = 0;
        for (const auto& result : results) {
            json::value named = as_named(result);
            for (const auto& call : calls)
                if (call.at("callId") == result.at("callId"))
                    if (const auto* iteration = base::find(call, "iteration"))
                        named.get_object()["item"] = iteration->at("index");
            if (next < wanted->get_array().size() && fits(wanted->get_array()[next], named)) ++next;
        }
        if (next == wanted->get_array().size()) return;
        fault("no result, or not in its place: " + shown(wanted->get_array()[next]));
        for (const auto& result : results) fault("a result is " + shown(result));
    }

    void check_events(const std::vector<json::value>& events, const json::value& expected) {
        const auto* wanted = base::find(expected, "events");
        if (!wanted) return;
        std::size_t next = 0;
        std::string all;
        for (const auto& event : events) {
            const std::string step = base::string_at(event, "stepId");
            const std::string name =
                base::string_at(event, "type") + (step.empty() ? "" : " " + step);
            all += "\n    " + name;
            if (next < wanted->get_array().size() && wanted->get_array()[next] == json::value(name))
                ++next;
        }
        if (next < wanted->get_array().size())
            fault("no event, or not in its place: " + shown(wanted->get_array()[next]) + all);
    }

    void check_vault() {
        auto wanted = before_;
        const json::value& expected = expect_;
        if (const auto* vault = base::find(expected, "vault")) {
            wanted.clear();
            for (const auto& member : vault->get_object())
                wanted[std::string(std::string_view(member.key()))] =
                    member.value().is_string()
                        ? std::string(std::string_view(member.value().get_string()))
                        : "";
        }
        const auto files = world_.files();
        if (files == wanted) return;
        for (const auto& [path, content] : files)
            if (!wanted.contains(path) || wanted[path] != content)
                fault(fmt::format("the vault has {}: {}", path, shown(json::string(content))));
        for (const auto& [path, content] : wanted)
            if (!files.contains(path)) fault(fmt::format("the vault has no {}", path));
    }

    void check_ran() {
        const json::value& expected = expect_;
        const auto* wanted = base::find(expected, "ran");
        if (!wanted) return;
        json::object ran;
        for (const auto& [step, times] : world_.tools.ran) ran[step] = times;
        if (json::value(ran) != *wanted) fault("tools ran " + shown(ran));
    }

    void check_at_once() {
        const json::value& expected = expect_;
        if (!base::find(expected, "atOnce")) return;
        if (world_.tools.running_max != base::int_at(expected, "atOnce"))
            fault(fmt::format("at most {} tools ran at once", world_.tools.running_max));
    }

    json::value what_;
    json::value expect_;
    World world_;
    std::map<std::string, std::string> before_;
    std::string run_;
    base::Result<domain::PlanRun> result_;
    std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> run_case(const std::filesystem::path& file) {
    const auto text = base::read_file(file, 1 << 20);
    if (!text) return {text.error().message};
    auto what = plan::parse_yaml(*text);
    if (!what) return {file.filename().string() + ": " + what.error().message};
    return Case(std::move(*what)).run();
}

}  // namespace plans_test
