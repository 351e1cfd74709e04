// editor.*: the file, selection and cursor that were given with the run.
#include "base/text.h"
#include "exec/tools/plan_tools/vault_tool.h"

namespace plan_tools {
namespace {

constexpr const char* kCategory = "editor";

using vault::Decision;
using vault::Done;
using vault::Outcome;
using vault::Root;

struct NoArgs {};
BOOST_DESCRIBE_STRUCT(NoArgs, (), ())

struct TextArgs {
    std::string text;
};
BOOST_DESCRIBE_STRUCT(TextArgs, (), (text))
constexpr auto describe_fields(const TextArgs*) {
    return std::to_array<base::FieldDoc>({{"text", "The text to put there."}});
}

struct PathResult {
    std::string path;
};
BOOST_DESCRIBE_STRUCT(PathResult, (), (path))

// Offsets are characters from the start of the file; `end` is not included.
struct SelectionResult {
    std::string path;
    std::string text;
    std::int64_t start{0};
    std::int64_t end{0};
    std::string etag;
};
BOOST_DESCRIBE_STRUCT(SelectionResult, (), (path, text, start, end, etag))

struct EditResult {
    std::string path;
    std::string etag;
    bool changed{false};
    std::int64_t start{0};  // The position of the text; the cursor is at its end.
    std::int64_t end{0};
    std::vector<vault::UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(EditResult, (), (path, etag, changed, start, end, undo))

vault::Failure absent(std::string_view what, std::string_view hint) {
    return vault::Failure(
        domain::ToolError{.kind = "precondition_failed",
                          .message = fmt::format("This run was given no {}.", what),
                          .recovery_hint = std::string(hint)});
}

Outcome<std::string> active_file(const Request& request) {
    if (!request.context.active_file)
        return absent("active file", "Start the run with an active file.");
    return vault::checked_path(*request.context.active_file);
}

Outcome<Selection> selection_of(const Request& request) {
    if (!request.context.selection)
        return absent("selection", "Start the run with a selection in the active file.");
    return *request.context.selection;
}

Outcome<Selection> cursor_of(const Request& request) {
    if (!request.context.cursor)
        return absent("cursor", "Start the run with a cursor in the active file.");
    return Selection{.from = *request.context.cursor, .to = *request.context.cursor};
}

// The active file around a selection.
struct Parts {
    std::string before, inside, after;
    std::string whole() const { return before + inside + after; }
};

Outcome<Parts> split(const Root& root, const std::string& path, const Selection& selection) {
    const auto content = TRY(root.read(path, vault::kFileBytesMax, false));
    if (!base::is_utf8(content.bytes))
        return vault::unfit(path, "is not a text file", "Only UTF-8 text can be edited.");
    if (selection.from > selection.to || selection.to > base::char_count(content.bytes))
        return vault::unfit(path, "has no such selection or cursor: it ends before",
                            "Select anew; the file may have become shorter.");
    const std::string_view text = content.bytes;
    const std::string_view before = base::first_chars(text, selection.from);
    const std::string_view inside =
        base::first_chars(text.substr(before.size()), selection.to - selection.from);
    if (selection.text && *selection.text != inside)
        return vault::conflict(path, "no longer has the selected text where it was selected",
                               "Select anew.");
    return Parts{std::string(before), std::string(inside),
                 std::string(text.substr(before.size() + inside.size()))};
}

Outcome<Answer> get_path(const Request& request) {
    const PathResult result{TRY(active_file(request))};
    return answer("The active file is " + result.path, result);
}

Outcome<Answer> get_selection(const Root& root, const Request& request) {
    const std::string path = TRY(active_file(request));
    const Selection selection = TRY(selection_of(request));
    const Parts parts = TRY(split(root, path, selection));
    return answer(
        fmt::format("{} characters are selected in {}", selection.to - selection.from, path),
        SelectionResult{.path = path,
                        .text = parts.inside,
                        .start = static_cast<std::int64_t>(selection.from),
                        .end = static_cast<std::int64_t>(selection.to),
                        .etag = vault::etag(parts.whole())});
}

using Target = Outcome<Selection> (*)(const Request&);

Change edit(const std::shared_ptr<Contexts>& contexts, Target target) {
    const auto where = [target](const Request& request) {
        const Selection old = target(request).value();  // Decided already.
        const std::size_t size = base::char_count(request.as<TextArgs>().text);
        return std::pair(old, Selection{.from = old.from, .to = old.from + size});
    };
    return {.decide = [target](const Root& root, const Request& request) -> Outcome<Decision> {
                const std::string path = TRY(active_file(request));
                const Parts parts = TRY(split(root, path, TRY(target(request))));
                return vault::decide_rewrite(
                    path, parts.whole(), parts.before + request.as<TextArgs>().text + parts.after);
            },
            .report =
                [where](const Request& request, const Done& done) {
                    const Selection now = where(request).second;
                    return answer("Edited " + done.decision.path,
                                  EditResult{.path = done.decision.path,
                                             .etag = done.decision.etag,
                                             .changed = !done.decision.steps.empty(),
                                             .start = static_cast<std::int64_t>(now.from),
                                             .end = static_cast<std::int64_t>(now.to),
                                             .undo = done.performed.undo});
                },
            .files = [](const Request& request) -> std::set<std::string> {
                if (!request.context.active_file) return {};
                return {*request.context.active_file};
            },
            .after =
                [where, contexts](const domain::RunId& run, const Request& request, const Done&) {
                    const auto [old, now] = where(request);
                    RunContext context = request.context;
                    context.cursor = now.to;
                    // An insertion moves a selection behind it, and one inside makes it
                    // meaningless.
                    if (context.selection && old.from == old.to) {
                        Selection& selection = *context.selection;
                        if (selection.from >= old.from) {
                            selection.from += now.to - now.from;
                            selection.to += now.to - now.from;
                        } else if (selection.to > old.from) {
                            context.selection.reset();
                        }
                    } else if (context.selection) {
                        context.selection = now;
                    }
                    contexts->moved(run, std::move(context));
                }};
}

}  // namespace

RunContext context_from(const json::object& context) {
    const auto offset = [](const json::value* value) -> std::optional<std::size_t> {
        if (!value || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
        return static_cast<std::size_t>(value->get_int64());
    };
    RunContext out;
    if (const auto* path = base::find(context, "activeFilePath"); path && path->is_string())
        out.active_file = std::string(path->get_string());
    out.cursor = offset(base::find(context, "cursor"));
    if (const auto* selection = base::find(context, "selection")) {
        const auto from = offset(base::find(*selection, "start"));
        const auto to = offset(base::find(*selection, "end"));
        if (from && to) out.selection = Selection{.from = *from, .to = *to};
        if (const auto* text = base::find(*selection, "text");
            out.selection && text && text->is_string())
            out.selection->text = std::string(text->get_string());
    }
    return out;
}

void add_editor(tools::Registry& registry, const Kit& kit) {
    registry.add(read_tool(
        kit,
        about<NoArgs, SelectionResult>("editor.getSelection", kCategory, "Read what is selected."),
        get_selection));
    registry.add(change_tool(kit,
                             about<TextArgs, EditResult>("editor.replaceSelection", kCategory,
                                                         "Put text in place of the selection."),
                             edit(kit.contexts, selection_of)));
    registry.add(change_tool(kit,
                             about<TextArgs, EditResult>("editor.insertAtCursor", kCategory,
                                                         "Insert text at the cursor."),
                             edit(kit.contexts, cursor_of)));
    registry.add(compute_tool(kit,
                              about<NoArgs, PathResult>("editor.getActiveFilePath", kCategory,
                                                        "Report which file is active."),
                              get_path));
}

}  // namespace plan_tools
