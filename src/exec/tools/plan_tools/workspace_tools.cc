// workspace.*: what a host with windows would show. This one has none and reports what it would do.
#include "exec/tools/plan_tools/vault_tool.h"

namespace plan_tools {
namespace {

constexpr const char* kCategory = "workspace";

struct OpenArgs {
    std::string path;
};
BOOST_DESCRIBE_STRUCT(OpenArgs, (), (path))
constexpr auto describe_fields(const OpenArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"path", "The file to show, relative to the vault.", R"("minLength":1)"}});
}

// `opened` is false without a window; the record then names what to open.
struct OpenResult {
    std::string path;
    std::string etag;
    bool opened{false};
};
BOOST_DESCRIBE_STRUCT(OpenResult, (), (path, etag, opened))

struct ContextArgs {};
BOOST_DESCRIBE_STRUCT(ContextArgs, (), ())

struct ContextSelection {
    std::int64_t start{0};
    std::int64_t end{0};
};
BOOST_DESCRIBE_STRUCT(ContextSelection, (), (start, end))

struct ContextResult {
    std::string vaultName;
    std::optional<std::string> activeFilePath{};
    std::optional<ContextSelection> selection{};
    std::optional<std::int64_t> cursor{};
};
BOOST_DESCRIBE_STRUCT(ContextResult, (), (vaultName, activeFilePath, selection, cursor))

vault::Outcome<Answer> open_file(const vault::Root& root, const Request& request) {
    const std::string path = TRY(vault::checked_path(root, request.as<OpenArgs>().path));
    const auto content = TRY(root.read(path));
    return answer("Would open " + path,
                  OpenResult{.path = path, .etag = vault::etag(content.bytes)});
}

vault::Outcome<Answer> get_context(const Request& request) {
    const RunContext& context = request.context;
    // The name alone: where the vault lies is nothing a plan needs.
    ContextResult result{
        .vaultName = vault::shown(
            std::filesystem::path(request.place.workspace.execution_root).filename().string()),
        .activeFilePath = context.active_file};
    if (context.selection)
        result.selection = {static_cast<std::int64_t>(context.selection->from),
                            static_cast<std::int64_t>(context.selection->to)};
    if (context.cursor) result.cursor = static_cast<std::int64_t>(*context.cursor);
    return answer(
        context.active_file ? "The active file is " + *context.active_file : "No file is active",
        result);
}

}  // namespace

void add_workspace(tools::Registry& registry, const Kit& kit) {
    registry.add(read_tool(
        kit,
        about<OpenArgs, OpenResult>("workspace.openFile", kCategory,
                                    "Say which file a person should be shown; it has to exist."),
        open_file));
    registry.add(compute_tool(
        kit,
        about<ContextArgs, ContextResult>("workspace.getContext", kCategory,
                                          "Report the active file, selection and cursor."),
        get_context));
}

}  // namespace plan_tools
