#include "tests/plans/case_tools.h"

#include "base/hash.h"
#include "base/os/files.h"

namespace plans_test {
namespace {

namespace fs = std::filesystem;
using domain::RiskLevel;

struct Data final : results::Output {
    json::object data;
    explicit Data(json::object data) : data(std::move(data)) {}
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{base::string_at(data, "said", "Done."), data};
    }
};

tools::Outcome gives(json::object data, domain::Effects effects = {}) {
    tools::Outcome outcome{.completed = nullptr, .effects = std::move(effects)};
    outcome.completed = std::make_unique<Data>(std::move(data));
    return outcome;
}

tools::Outcome fails(std::string kind, std::string message, bool retryable = false,
                     domain::ResultStatus status = domain::ResultStatus::Ok) {
    tools::Outcome outcome{.completed = nullptr, .status = status};
    outcome.completed = std::unexpected(domain::ToolError{
        .kind = std::move(kind), .message = std::move(message), .retryable = retryable});
    return outcome;
}

std::string name_of(const domain::ToolCall& call) {
    return call.iteration ? fmt::format("{}[{}]", call.step_id, call.iteration->index)
                          : call.step_id;
}

using Act = std::function<tools::Outcome(const domain::ToolCall&, const tools::ExecutionContext&,
                                         results::ArtifactSink&)>;
using Foresee = std::function<json::object(const json::value&, const tools::ExecutionContext&)>;

std::string render(const results::Envelope& envelope) {
    return envelope.summary_text();
}

tools::ToolSpec spec_of(std::string name, RiskLevel risk, bool repeatable) {
    return {.name = std::move(name),
            .description = "For tests.",
            .family = tools::Family::LocalEnvironment,
            .risk = risk,
            .category = "test",
            .repeatable = repeatable,
            .input_schema = {{"type", "object"}},
            .output_schema = {{"type", "object"}},
            .render = render};
}

// Does its work at once.
class Immediate final : public tools::Tool {
public:
    Immediate(tools::ToolSpec spec, ToolWorld& world, Act act, Foresee foresee = {})
        : spec_(std::move(spec)),
          world_(world),
          act_(std::move(act)),
          foresee_(std::move(foresee)) {}
    const tools::ToolSpec& spec() const override { return spec_; }
    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        ++world_.ran[name_of(call)];
        done(act_(call, place, sink));
        return nullptr;
    }
    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext& place) const override {
        return foresee_ ? foresee_(args, place) : json::object{};
    }

private:
    tools::ToolSpec spec_;
    ToolWorld& world_;
    Act act_;
    Foresee foresee_;
};

// Takes its time, and ends early when it is cancelled, unless it does not listen.
class Slow final : public tools::Tool {
public:
    enum class Manner { Ends, WaitsForCancel, Deaf };
    Slow(std::string name, Manner manner, base::Loop& loop, ToolWorld& world)
        : spec_(spec_of(std::move(name), RiskLevel::ReadOnly, true)),
          manner_(manner),
          loop_(loop),
          world_(world) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext&, results::ArtifactSink&,
                                          tools::Done done) override {
        ++world_.ran[name_of(call)];
        world_.running_max = std::max(world_.running_max, ++world_.running);
        auto running = std::make_shared<Handle>(loop_, world_, std::move(done), manner_);
        if (manner_ == Manner::Ends)
            loop_.after(std::chrono::milliseconds(base::int_at(call.args, "ms", 10)),
                        [running, args = call.args] { running->finish(gives(args.get_object())); });
        return running;
    }

private:
    struct Handle final : tools::Running {
        Handle(base::Loop& loop, ToolWorld& world, tools::Done done, Manner manner)
            : loop(loop), world(world), done(std::move(done)), manner(manner) {}
        void cancel() override {
            if (manner == Manner::Deaf || !done) return;
            finish(
                fails("tool_cancelled", "It was stopped.", false, domain::ResultStatus::Cancelled));
        }
        void finish(tools::Outcome outcome) {
            if (!done) return;
            --world.running;
            std::exchange(done, nullptr)(std::move(outcome));
        }
        base::Loop& loop;
        ToolWorld& world;
        tools::Done done;
        Manner manner;
    };
    tools::ToolSpec spec_;
    Manner manner_;
    base::Loop& loop_;
    ToolWorld& world_;
};

std::string etag(std::string_view bytes) {
    return "sha256:" + base::sha256_hex(bytes);
}

tools::Outcome write(const domain::ToolCall& call, const tools::ExecutionContext& place,
                     results::ArtifactSink& sink) {
    const std::string path = base::string_at(call.args, "path");
    const std::string content = base::string_at(call.args, "content");
    const fs::path file = fs::path(place.workspace.execution_root) / path;
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    const auto before = base::read_file(file, 1 << 20);
    json::object entry{{"path", path}, {"afterEtag", etag(content)}};
    domain::Effects effects;
    if (!before) {
        entry["action"] = "create";
        effects.created.push_back({path, domain::PathKind::File});
    } else if (*before != content) {
        entry["action"] = "modify";
        entry["beforeEtag"] = etag(*before);
        entry["beforeArtifact"] = sink.store("before", *before).value();
        effects.modified.push_back({path, domain::PathKind::File, etag(*before), etag(content)});
    }
    effects.side_effects_observed = entry.contains("action");
    CHECK(base::write_file_atomic(file, content, 0644).has_value(), "a test can write");
    json::array undo;
    if (entry.contains("action")) undo.push_back(std::move(entry));
    return gives({{"path", path}, {"undo", std::move(undo)}}, std::move(effects));
}

json::object foresee_write(const json::value& args, const tools::ExecutionContext& place) {
    const std::string path = base::string_at(args, "path");
    const fs::path file = fs::path(place.workspace.execution_root) / path;
    json::object out{{"data", {{"path", path}}}};
    if (!fs::exists(file))
        out["creates"] = json::array{path};
    else
        out["modifies"] = json::array{
            json::object{{"path", path}, {"diff", "+" + base::string_at(args, "content")}}};
    return out;
}

tools::Outcome remove(const domain::ToolCall& call, const tools::ExecutionContext& place,
                      results::ArtifactSink& sink) {
    const std::string path = base::string_at(call.args, "path");
    const fs::path file = fs::path(place.workspace.execution_root) / path;
    const auto before = base::read_file(file, 1 << 20);
    if (!before) return fails("not_found", path + " is not there");
    fs::remove(file);
    domain::Effects effects{.side_effects_observed = true};
    effects.deleted.push_back({path, domain::PathKind::File, false});
    return gives({{"undo", json::array{json::object{
                               {"action", "delete"},
                               {"path", path},
                               {"beforeEtag", etag(*before)},
                               {"beforeArtifact", sink.store("before", *before).value()}}}}},
                 std::move(effects));
}

tools::Outcome move(const domain::ToolCall& call, const tools::ExecutionContext& place,
                    results::ArtifactSink&) {
    const fs::path root = place.workspace.execution_root;
    const std::string from = base::string_at(call.args, "from");
    const std::string to = base::string_at(call.args, "to");
    if (!fs::exists(root / from)) return fails("not_found", from + " is not there");
    fs::rename(root / from, root / to);
    domain::Effects effects{.side_effects_observed = true};
    effects.renamed.push_back({from, to});
    return gives(
        {{"undo", json::array{json::object{{"action", "rename"}, {"path", to}, {"from", from}}}}},
        std::move(effects));
}

tools::Outcome mkdir(const domain::ToolCall& call, const tools::ExecutionContext& place,
                     results::ArtifactSink&) {
    const std::string path = base::string_at(call.args, "path");
    if (!fs::create_directory(fs::path(place.workspace.execution_root) / path))
        return gives({{"undo", json::array()}});
    domain::Effects effects{.side_effects_observed = true};
    effects.created.push_back({path, domain::PathKind::Folder});
    return gives({{"undo", json::array{json::object{{"action", "mkdir"}, {"path", path}}}}},
                 std::move(effects));
}

// The kind of error that has this code.
std::string kind_for(const std::string& code) {
    if (code == "VALIDATION_ERROR") return "invalid_tool_input";
    if (code == "POLICY_DENIED") return "policy_denied";
    if (code == "NOT_FOUND") return "not_found";
    if (code == "CONFLICT") return "conflict";
    if (code == "PRECONDITION_FAILED") return "precondition_failed";
    return "broken";
}

}  // namespace

void add_case_tools(tools::Registry& registry, base::Loop& loop, ToolWorld& world) {
    const auto add = [&](tools::ToolSpec spec, Act act, Foresee foresee = {}) {
        registry.add(std::make_unique<Immediate>(std::move(spec), world, std::move(act),
                                                 std::move(foresee)));
    };
    const auto echo = [](const domain::ToolCall& call, const tools::ExecutionContext&,
                         results::ArtifactSink&) { return gives(call.args.get_object()); };
    const auto mark = [&world](const domain::ToolCall& call, const tools::ExecutionContext&,
                               results::ArtifactSink&) {
        ++world.done[call.idempotency_key.value()];
        return gives({{"key", *call.idempotency_key}});
    };
    add(spec_of("test.echo", RiskLevel::ReadOnly, true), echo);
    add(spec_of("test.command", RiskLevel::Commands, false), echo,
        [](const json::value& args, const tools::ExecutionContext&) {
            return json::object{{"commands", json::array{base::string_at(args, "cmd")}}};
        });
    add(spec_of("test.list", RiskLevel::ReadOnly, true),
        [](const domain::ToolCall& call, const tools::ExecutionContext&, results::ArtifactSink&) {
            json::array items;
            for (std::int64_t n = 0; n < base::int_at(call.args, "count"); ++n)
                items.push_back({{"n", n}, {"name", fmt::format("note {}", n)}});
            return gives({{"items", std::move(items)}});
        });
    add(spec_of("test.fail", RiskLevel::ReadOnly, true),
        [&world](const domain::ToolCall& call, const tools::ExecutionContext&,
                 results::ArtifactSink&) {
            int& failed = world.failed[call.idempotency_key.value()];
            if (failed >= base::int_at(call.args, "times", 1'000'000))
                return gives({{"failures", failed}});
            ++failed;
            return fails(kind_for(base::string_at(call.args, "code", "INTERNAL_ERROR")),
                         "It failed as it was told to.", base::bool_at(call.args, "retryable"));
        });
    // Not repeatable: nobody may call it twice for one piece of work without saying so.
    add(spec_of("test.mark", RiskLevel::Writes, false), mark);
    // Repeatable, because it does its work once however often it is called with one key.
    add(spec_of("test.once", RiskLevel::Writes, true),
        [&world](const domain::ToolCall& call, const tools::ExecutionContext&,
                 results::ArtifactSink&) {
            world.done.try_emplace(call.idempotency_key.value(), 1);
            return gives({{"key", *call.idempotency_key}});
        });
    add(spec_of("test.write", RiskLevel::Writes, false), write, foresee_write);
    add(spec_of("test.remove", RiskLevel::Writes, false), remove,
        [](const json::value& args, const tools::ExecutionContext&) {
            return json::object{{"deletes", json::array{base::string_at(args, "path")}}};
        });
    add(spec_of("test.move", RiskLevel::Writes, false), move,
        [](const json::value& args, const tools::ExecutionContext&) {
            return json::object{
                {"renames", json::array{json::object{{"from", base::string_at(args, "from")},
                                                     {"to", base::string_at(args, "to")}}}}};
        });
    add(spec_of("test.mkdir", RiskLevel::Writes, false), mkdir);
    auto strict = spec_of("test.strict", RiskLevel::ReadOnly, true);
    strict.input_schema = {{"type", "object"},
                           {"properties", {{"n", {{"type", "integer"}}}}},
                           {"required", json::array{"n"}},
                           {"additionalProperties", false}};
    add(std::move(strict), echo);
    auto liar = spec_of("test.liar", RiskLevel::ReadOnly, true);
    liar.output_schema = {{"type", "object"}, {"required", json::array{"truth"}}};
    add(std::move(liar), echo);
    registry.add(std::make_unique<Slow>("test.slow", Slow::Manner::Ends, loop, world));
    registry.add(std::make_unique<Slow>("test.stuck", Slow::Manner::WaitsForCancel, loop, world));
    registry.add(std::make_unique<Slow>("test.deaf", Slow::Manner::Deaf, loop, world));
}

}  // namespace plans_test
