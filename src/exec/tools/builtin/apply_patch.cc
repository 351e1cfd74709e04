#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/patch_output.h"
#include "exec/tools/patch/parse/parse.h"
#include "exec/tools/patch/patch.h"
#include "exec/tools/seen.h"

namespace builtin {
namespace {

struct ApplyPatchArgs {
    std::string patch;
};
BOOST_DESCRIBE_STRUCT(ApplyPatchArgs, (), (patch))
constexpr auto describe_fields(const ApplyPatchArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"patch",
          "A unified diff: `--- a/path`, `+++ b/path` and `@@` hunks with a few lines of context.",
          R"("minLength":1)"}});
}

// Applying is short and all-or-nothing, so once begun it is not cut off.
class Uninterruptible final : public tools::Running {
public:
    void cancel() override {}
};

std::string below(const std::filesystem::path& root, const std::filesystem::path& path) {
    return path.lexically_normal().lexically_relative(root.lexically_normal()).string();
}

std::string diff_of(const patch::FilePatch& file) {
    std::string diff =
        fmt::format("--- a/{}\n+++ b/{}\n", file.from_path.value_or(file.path), file.path);
    for (const auto& hunk : file.hunks) {
        diff += "@@\n";
        for (const auto& line : hunk.lines)
            diff += fmt::format("{}{}\n",
                                line.kind == patch::LineKind::Add      ? '+'
                                : line.kind == patch::LineKind::Remove ? '-'
                                                                       : ' ',
                                line.text);
    }
    return diff;
}

// The content that the patch wrote, file by file.
std::optional<domain::SeenFiles> seen_in(const patch::Applied& applied) {
    domain::SeenFiles seen{.root = applied.undo.root};
    for (const auto& file : applied.undo.files)
        if (file.after && seen.files.size() < tools::kSeenFilesMax)
            seen.files.push_back({file.path, file.after->sha256});
    if (seen.files.empty()) return std::nullopt;
    return seen;
}

class ApplyPatch final : public tools::Tool {
public:
    explicit ApplyPatch(base::Loop& loop) : loop_(loop) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        const std::string text = base::string_at(call.args, "patch");
        const patch::Place where{place.workspace.execution_root, place.workspace.cwd};
        auto result = std::make_shared<std::expected<patch::Applied, domain::ToolError>>();
        const patch::Keep keep = [&sink](std::string_view bytes) {
            return sink.store("before", bytes);
        };
        loop_.offload(
            [text, where, keep, result] {
                *result = patch::apply(text, patch::Format::UnifiedDiff, where, keep);
            },
            [result, done = std::move(done)]() mutable {
                tools::Outcome outcome{.completed = nullptr};
                if (*result) {
                    auto output = std::make_unique<PatchOutput>();
                    output->applied = std::move(**result);
                    outcome.effects = output->applied.effects;
                    outcome.seen = seen_in(output->applied);
                    outcome.completed = std::move(output);
                } else {
                    outcome.completed = std::unexpected(std::move(*result).error());
                }
                done(std::move(outcome));
            });
        return std::make_shared<Uninterruptible>();
    }

    std::vector<std::string> paths(const json::value& args,
                                   const tools::ExecutionContext& place) const override {
        const auto parsed =
            patch::parse(base::string_at(args, "patch"), patch::Format::UnifiedDiff);
        std::vector<std::string> paths;
        if (!parsed) return paths;  // start() reports it, and touches nothing.
        const std::filesystem::path cwd = place.workspace.cwd;
        for (const auto& file : parsed->files) {
            paths.push_back((cwd / file.path).string());
            if (file.from_path) paths.push_back((cwd / *file.from_path).string());
        }
        return paths;
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext& place) const override {
        const std::string text = base::string_at(args, "patch");
        const auto parsed = patch::parse(text, patch::Format::UnifiedDiff);
        if (!parsed) return base::fail(base::ErrorCode::InvalidInput, "{}", parsed.error().message);
        json::array creates, modifies, renames, deletes;
        const auto path_of = [&](const std::string& path) {
            return json::value(below(place.workspace.execution_root,
                                     std::filesystem::path(place.workspace.cwd) / path));
        };
        for (const auto& file : parsed->files) {
            switch (file.action) {
                case patch::Action::Add:
                    creates.push_back(path_of(file.path));
                    break;
                case patch::Action::Delete:
                    deletes.push_back(path_of(file.path));
                    break;
                case patch::Action::Move:
                    renames.push_back(json::object{{"from", path_of(file.from_path.value_or(""))},
                                                   {"to", path_of(file.path)}});
                    if (file.hunks.empty()) break;
                    [[fallthrough]];
                case patch::Action::Modify:
                    modifies.push_back(
                        json::object{{"path", path_of(file.path)}, {"diff", diff_of(file)}});
                    break;
            }
        }
        return json::object{{"creates", std::move(creates)},
                            {"modifies", std::move(modifies)},
                            {"renames", std::move(renames)},
                            {"deletes", std::move(deletes)}};
    }

private:
    base::Loop& loop_;
    const tools::ToolSpec spec_{.name = "ApplyPatch",
                                .description =
                                    "Change files with a unified diff (add, modify, delete, "
                                    "rename). All of it is applied or nothing. "
                                    "Paths are relative to cwd and stay inside the execution root.",
                                .family = tools::Family::LocalEnvironment,
                                .risk = domain::RiskLevel::Writes,
                                .category = "files",
                                .changes_files = true,
                                .freeform_patch = true,
                                .input_schema = base::schema_of<ApplyPatchArgs>(),
                                .output_schema = base::schema_of<PatchResult>(),
                                .render = render_patch,
                                .cancellable = false};
};

}  // namespace

std::unique_ptr<tools::Tool> apply_patch(base::Loop& loop) {
    return std::make_unique<ApplyPatch>(loop);
}

}  // namespace builtin
