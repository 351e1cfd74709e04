#include "exec/plan/undo_tool.h"

#include <unistd.h>

#include "base/files.h"
#include "base/hash.h"

namespace plan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = std::size_t{256} * 1024 * 1024;
constexpr mode_t kFileMode = 0644;

enum class Action { Create, Modify, Delete, Rename, Mkdir };
BOOST_DESCRIBE_ENUM(Action, Create, Modify, Delete, Rename, Mkdir)

struct Args {
    Action action{Action::Create};
    std::string path;
    std::optional<std::string> from{};
    std::optional<std::string> beforeEtag{};
    std::optional<std::string> afterEtag{};
    std::optional<std::string> beforeArtifact{};
};
BOOST_DESCRIBE_STRUCT(Args, (), (action, path, from, beforeEtag, afterEtag, beforeArtifact))

struct Output final : results::Output {
    std::string path;
    std::string said;
    json::array undo;
    base::Result<results::Canonical> project(results::ArtifactSink&,
                                             const results::OutputPolicy&) const override {
        return results::Canonical{
            said, {{"path", path}, {"restored", true}, {"message", said}, {"undo", undo}}};
    }
};

domain::ToolError changed(const std::string& path, std::string_view what) {
    return {.kind = "conflict",
            .message = fmt::format("{} {}; it is left as it is.", path, what),
            .details = json::object{{"path", path}},
            .recovery_hint = "Look at it and restore by hand what you want back."};
}

std::string etag_of(std::string_view bytes) {
    return "sha256:" + base::sha256_hex(bytes);
}

// One undo, off the loop: it owns everything that it touches.
struct Undo {
    Args args;
    fs::path root;
    fs::path artifacts;
    results::ArtifactSink& sink;
    std::unique_ptr<Output> output{std::make_unique<Output>()};
    domain::Effects effects{};
    std::optional<domain::ToolError> error{};

    using Step = std::expected<void, domain::ToolError>;

    void run() {
        output->path = args.path;
        if (auto done = perform(); !done) error = std::move(done).error();
        effects.side_effects_observed =
            !error && !(effects.created.empty() && effects.modified.empty() &&
                        effects.deleted.empty() && effects.renamed.empty());
    }

    Step perform() {
        switch (args.action) {
            case Action::Create:
                return uncreate();
            case Action::Modify:
                return unmodify();
            case Action::Delete:
                return undelete();
            case Action::Rename:
                return unrename();
            case Action::Mkdir:
                return unmkdir();
        }
        return {};
    }

    fs::path at(const std::string& path) const { return root / path; }
    static bool is_there(const fs::path& path) {
        std::error_code ignored;
        return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
    }
    static domain::ToolError failed(const base::Error& error) {
        return {.kind = "io_error", .message = error.message};
    }

    // What the run left there, or why it is not that any more.
    std::expected<std::string, domain::ToolError> as_left() const {
        const fs::path path = at(args.path);
        std::error_code ignored;
        if (fs::symlink_status(path, ignored).type() != fs::file_type::regular)
            return std::unexpected(changed(args.path, "is no longer the file that the run left"));
        auto bytes = base::read_file(path, kFileBytesMax);
        if (!bytes) return std::unexpected(failed(bytes.error()));
        if (args.afterEtag && etag_of(*bytes) != *args.afterEtag)
            return std::unexpected(changed(args.path, "has changed since the run"));
        return std::move(*bytes);
    }

    std::expected<std::string, domain::ToolError> before() const {
        const fs::path file = args.beforeArtifact.value_or("");
        const auto rest = file.lexically_normal().lexically_relative(artifacts);
        if (rest.empty() || *rest.begin() == "..")
            return std::unexpected(domain::ToolError{
                .kind = "policy_denied",
                .message = "What was there before is not among the files that runs "
                           "keep."});
        auto bytes = base::read_file(file, kFileBytesMax);
        if (!bytes) return std::unexpected(failed(bytes.error()));
        if (args.beforeEtag && etag_of(*bytes) != *args.beforeEtag)
            return std::unexpected(
                changed(args.path, "cannot be restored: what was kept of it is damaged"));
        return std::move(*bytes);
    }

    std::expected<std::string, domain::ToolError> keep(std::string_view bytes) const {
        auto kept = sink.store("before", bytes);
        if (!kept) return std::unexpected(failed(kept.error()));
        return std::move(*kept);
    }

    Step write(std::string_view bytes) const {
        std::error_code ignored;
        fs::create_directories(at(args.path).parent_path(), ignored);
        if (auto done = base::write_file_atomic(at(args.path), bytes, kFileMode); !done)
            return std::unexpected(failed(done.error()));
        return {};
    }

    Step uncreate() {
        if (!is_there(at(args.path))) {
            output->said = args.path + " is gone already.";
            return {};
        }
        const auto bytes = TRY(as_left());
        const auto kept = TRY(keep(bytes));
        if (::unlink(at(args.path).c_str()) != 0)
            return std::unexpected(failed(base::fail_errno("remove " + args.path).error()));
        effects.deleted.push_back({args.path, domain::PathKind::File, false});
        output->said = "Removed " + args.path + ".";
        output->undo.push_back({{"action", "delete"},
                                {"path", args.path},
                                {"beforeEtag", etag_of(bytes)},
                                {"beforeArtifact", kept}});
        return {};
    }

    Step unmodify() {
        const auto now = TRY(as_left());
        const auto then = TRY(before());
        const auto kept = TRY(keep(now));
        TRY(write(then));
        effects.modified.push_back(
            {args.path, domain::PathKind::File, etag_of(now), etag_of(then)});
        output->said = "Restored " + args.path + ".";
        output->undo.push_back({{"action", "modify"},
                                {"path", args.path},
                                {"beforeEtag", etag_of(now)},
                                {"afterEtag", etag_of(then)},
                                {"beforeArtifact", kept}});
        return {};
    }

    Step undelete() {
        if (is_there(at(args.path))) return std::unexpected(changed(args.path, "is there again"));
        const auto then = TRY(before());
        TRY(write(then));
        effects.created.push_back({args.path, domain::PathKind::File});
        output->said = "Brought back " + args.path + ".";
        output->undo.push_back(
            {{"action", "create"}, {"path", args.path}, {"afterEtag", etag_of(then)}});
        return {};
    }

    Step unrename() {
        const std::string from = args.from.value_or("");
        if (from.empty())
            return std::unexpected(domain::ToolError{.kind = "invalid_tool_input",
                                                     .message = "A rename needs `from`."});
        if (!is_there(at(args.path)))
            return std::unexpected(changed(args.path, "is no longer there"));
        if (is_there(at(from))) return std::unexpected(changed(from, "is there again"));
        if (args.afterEtag && fs::is_regular_file(at(args.path))) TRY(as_left());
        std::error_code error;
        fs::create_directories(at(from).parent_path(), error);
        fs::rename(at(args.path), at(from), error);
        if (error)
            return std::unexpected(domain::ToolError{
                .kind = "io_error",
                .message = fmt::format("{} could not be renamed: {}", args.path, error.message())});
        effects.renamed.push_back({args.path, from});
        output->said = fmt::format("Renamed {} back to {}.", args.path, from);
        output->undo.push_back({{"action", "rename"}, {"path", from}, {"from", args.path}});
        return {};
    }

    Step unmkdir() {
        const fs::path path = at(args.path);
        if (!is_there(path)) {
            output->said = args.path + " is gone already.";
            return {};
        }
        if (::rmdir(path.c_str()) != 0)
            return std::unexpected(changed(args.path, "is not the empty folder the run made"));
        effects.deleted.push_back({args.path, domain::PathKind::Folder, false});
        output->said = "Removed the folder " + args.path + ".";
        output->undo.push_back({{"action", "delete"}, {"path", args.path}});
        return {};
    }
};

std::string render(const results::Envelope& envelope) {
    return envelope.summary_text();
}

class UndoTool final : public tools::Tool {
public:
    UndoTool(base::Loop& loop, fs::path artifacts)
        : loop_(loop), artifacts_(std::move(artifacts)) {}

    const tools::ToolSpec& spec() const override { return spec_; }

    std::optional<domain::ToolError> check(const json::value& args) const override {
        for (const std::string_view name : {"path", "from"}) {
            const fs::path path = base::string_at(args, name);
            const auto normal = path.lexically_normal();
            if (path.is_absolute() || (!normal.empty() && *normal.begin() == ".."))
                return tools::invalid_input(kUndoTool, name, "must lie inside the vault",
                                            "Give it relative to the vault.");
        }
        return std::nullopt;
    }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call, const tools::Place& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        auto undo = std::make_shared<Undo>(Undo{.args = base::from_json<Args>(call.args).value(),
                                                .root = place.workspace.execution_root,
                                                .artifacts = artifacts_,
                                                .sink = sink});
        loop_.offload([undo] { undo->run(); },
                      [undo, done = std::move(done)]() mutable {
                          tools::Outcome outcome{.completed = nullptr, .effects = undo->effects};
                          if (undo->error)
                              outcome.completed = std::unexpected(std::move(*undo->error));
                          else
                              outcome.completed = std::move(undo->output);
                          done(std::move(outcome));
                      });
        return nullptr;
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::Place&) const override {
        const auto undo = TRY(base::from_json<Args>(args));
        switch (undo.action) {
            case Action::Create:
            case Action::Mkdir:
                return json::object{{"deletes", json::array{undo.path}}};
            case Action::Modify:
                return json::object{
                    {"modifies", json::array{json::object{{"path", undo.path}, {"diff", ""}}}}};
            case Action::Delete:
                return json::object{{"creates", json::array{undo.path}}};
            case Action::Rename:
                return json::object{
                    {"renames", json::array{json::object{{"from", undo.path},
                                                         {"to", undo.from.value_or("")}}}}};
        }
        return json::object{};
    }

private:
    base::Loop& loop_;
    fs::path artifacts_;
    const tools::ToolSpec spec_{
        .name = std::string(kUndoTool),
        .description = "Take one change of an earlier run back, if nothing has changed since.",
        .family = tools::Family::LocalEnvironment,
        .risk = domain::RiskLevel::Writes,
        .category = "plan",
        .plans_only = true,
        .input_schema = base::schema_of<Args>(),
        .output_schema = json::object{{"type", "object"}},
        .render = render};
};

}  // namespace

std::unique_ptr<tools::Tool> undo_tool(base::Loop& loop, fs::path artifacts) {
    return std::make_unique<UndoTool>(loop, std::move(artifacts));
}

}  // namespace plan
