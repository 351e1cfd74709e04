// vault.*: files and folders of a vault. Structs spell their fields as plans do.
#include "base/text.h"
#include "exec/tools/plan_tools/vault_tool.h"
#include "exec/tools/vault/ignore.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/search.h"
#include "exec/tools/vault/walk.h"

namespace plan_tools {
namespace {

// Of one file, into a result. More is refused, or cut where the call asks for less.
constexpr std::size_t kReadBytesMax = 1024 * 1024;
constexpr std::int64_t kListedDefault = 1000;
constexpr std::int64_t kSearchHitsDefault = 100;
constexpr const char* kFileCategory = "vault";

using vault::Decision;
using vault::Done;
using vault::Outcome;
using vault::Root;
using vault::UndoEntry;

struct PathArgs {
    std::string path;
};
BOOST_DESCRIBE_STRUCT(PathArgs, (), (path))
constexpr auto describe_fields(const PathArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"path", "Relative to the vault, '/' between names.", R"("minLength":1)"}});
}

struct FolderResult {
    std::string path;
    bool created{false};
    std::vector<UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(FolderResult, (), (path, created, undo))

struct CreateArgs {
    std::string path;
    std::string content;
    vault::OnCollision onCollision{vault::OnCollision::Unique};
};
BOOST_DESCRIBE_STRUCT(CreateArgs, (), (path, content, onCollision))
constexpr auto describe_fields(const CreateArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"path", "Where to create it. Missing folders are made, names are made safe.",
          R"("minLength":1)"},
         {"content", "The whole text.", R"("default":"")", true},
         {"onCollision", "unique: take another name, as in 'Title (2).md'. error: fail.",
          R"("default":"unique")", true}});
}

struct CreateResult {
    std::string path;
    std::string etag;
    std::optional<std::int64_t> mtime{};  // Milliseconds since 1970; a preview has none.
    std::vector<UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(CreateResult, (), (path, etag, mtime, undo))

struct ReadArgs {
    std::string path;
    std::optional<std::int64_t> maxBytes{};
};
BOOST_DESCRIBE_STRUCT(ReadArgs, (), (path, maxBytes))
constexpr auto describe_fields(const ReadArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"path", "Relative to the vault.", R"("minLength":1)"},
         {"maxBytes", "Give the beginning only, cut at a whole character.",
          R"("minimum":0,"maximum":1048576)"}});
}

struct ReadResult {
    std::string path;
    std::string content;
    std::string etag;  // Of the whole file, also when the content is cut.
    std::int64_t bytes{0};
    std::optional<std::int64_t> mtime{};
    bool truncated{false};
};
BOOST_DESCRIBE_STRUCT(ReadResult, (), (path, content, etag, bytes, mtime, truncated))

struct WriteArgs {
    std::string path;
    std::string content;
    vault::WriteMode mode{vault::WriteMode::Replace};
    bool create{false};
    std::optional<std::string> expectedEtag{};
};
BOOST_DESCRIBE_STRUCT(WriteArgs, (), (path, content, mode, create, expectedEtag))
constexpr auto describe_fields(const WriteArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"path", "The file to change.", R"("minLength":1)"},
         {"content", "The new text."},
         {"mode", "replace the content, append to it, or prepend.", R"("default":"replace")", true},
         {"create", "Create the file if it is missing.", R"("default":false)", true},
         {"expectedEtag", "Fail with CONFLICT unless the file has this etag.",
          R"("minLength":1)"}});
}

struct WriteResult {
    std::string path;
    std::string etag;
    std::optional<std::int64_t> mtime{};
    bool changed{false};
    bool created{false};
    std::vector<UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(WriteResult, (), (path, etag, mtime, changed, created, undo))

struct RenameArgs {
    std::string from;
    std::string to;
    bool updateLinks{true};
    vault::OnCollision onCollision{vault::OnCollision::Unique};
    std::optional<std::string> expectedEtag{};
};
BOOST_DESCRIBE_STRUCT(RenameArgs, (), (from, to, updateLinks, onCollision, expectedEtag))
constexpr auto describe_fields(const RenameArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"from", "The file or folder to rename or move.", R"("minLength":1)"},
         {"to", "Its new path. Missing folders are made, names are made safe.", R"("minLength":1)"},
         {"updateLinks", "Rewrite links in notes so that they follow.", R"("default":true)", true},
         {"onCollision", "unique: take another name. error: fail.", R"("default":"unique")", true},
         {"expectedEtag", "Fail with CONFLICT unless the file has this etag.",
          R"("minLength":1)"}});
}

struct RenameResult {
    std::string from;
    std::string path;
    std::vector<std::string> modifiedFiles;
    std::int64_t linksUpdated{0};
    std::int64_t linksBroken{0};
    std::vector<UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(RenameResult, (),
                      (from, path, modifiedFiles, linksUpdated, linksBroken, undo))

struct DeleteArgs {
    std::string path;
    std::optional<std::string> expectedEtag{};
};
BOOST_DESCRIBE_STRUCT(DeleteArgs, (), (path, expectedEtag))
constexpr auto describe_fields(const DeleteArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"path", "The file or folder to move to the trash.", R"("minLength":1)"},
         {"expectedEtag", "Fail with CONFLICT unless the file has this etag.",
          R"("minLength":1)"}});
}

struct DeleteResult {
    std::string path;
    std::string trashPath;
    std::vector<UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(DeleteResult, (), (path, trashPath, undo))

struct SearchArgs {
    std::string query;
    bool regex{false};
    bool caseSensitive{false};
    std::string folder;
    std::optional<std::string> glob{};
    std::int64_t maxResults{kSearchHitsDefault};
};
BOOST_DESCRIBE_STRUCT(SearchArgs, (), (query, regex, caseSensitive, folder, glob, maxResults))
constexpr auto describe_fields(const SearchArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"query", "Text to find, or a regular expression.", R"("minLength":1,"maxLength":1000)"},
         {"regex", "Read the query as an RE2 expression.", R"("default":false)", true},
         {"caseSensitive", "Distinguish upper and lower case.", R"("default":false)", true},
         {"folder", "Search below this folder only.", R"("default":"")", true},
         {"glob", "Search files whose path fits this pattern, such as *.md.", R"("minLength":1)"},
         {"maxResults", "Lines to give at most.", R"("default":100,"minimum":1,"maximum":1000)",
          true}});
}

struct SearchResult {
    std::vector<vault::Hit> matches;
    std::int64_t filesSearched{0};
    std::int64_t filesSkipped{0};
    bool truncated{false};
};
BOOST_DESCRIBE_STRUCT(SearchResult, (), (matches, filesSearched, filesSkipped, truncated))

struct ListArgs {
    std::string folder;
    bool recursive{true};
    std::optional<std::string> glob{};
    bool includeFolders{false};
    bool includeIgnored{false};
    std::int64_t limit{kListedDefault};
};
BOOST_DESCRIBE_STRUCT(ListArgs, (),
                      (folder, recursive, glob, includeFolders, includeIgnored, limit))
constexpr auto describe_fields(const ListArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"folder", "List this folder; the whole vault if left out.", R"("default":"")", true},
         {"recursive", "Also what lies in folders below.", R"("default":true)", true},
         {"glob", "List paths that fit this pattern, such as *.md.", R"("minLength":1)"},
         {"includeFolders", "List folders as well.", R"("default":false)", true},
         {"includeIgnored", "List what .gitignore and .ignore leave out.", R"("default":false)",
          true},
         {"limit", "Entries to give at most.", R"("default":1000,"minimum":1,"maximum":10000)",
          true}});
}

enum class ListedKind { File, Folder, Link, Special };
BOOST_DESCRIBE_ENUM(ListedKind, File, Folder, Link, Special)
struct Listed {
    std::string path;
    std::string name;
    ListedKind kind{ListedKind::File};
    std::int64_t bytes{0};
    std::optional<std::int64_t> mtime{};
};
BOOST_DESCRIBE_STRUCT(Listed, (), (path, name, kind, bytes, mtime))
struct ListResult {
    std::vector<Listed> files;
    bool truncated{false};
    std::int64_t unnamed{0};  // Entries whose names are not UTF-8; no call can name them.
};
BOOST_DESCRIBE_STRUCT(ListResult, (), (files, truncated, unnamed))

// The etag of the file that was created or changed last.
std::string last_etag(const Done& done) {
    if (!done.decision.etag.empty()) return done.decision.etag;
    for (const auto& step : done.decision.steps)
        if (const auto* created = std::get_if<vault::CreateFile>(&step))
            return vault::etag(created->bytes);
    return "";
}

std::optional<std::int64_t> mtime_of(const Done& done) {
    return done.performed.mtime_ms ? done.performed.mtime_ms : done.decision.mtime_ms;
}

template <class S>
bool has_step(const Done& done) {
    return std::ranges::any_of(done.decision.steps,
                               [](const auto& step) { return std::holds_alternative<S>(step); });
}

Answer report_folder(const Request&, const Done& done) {
    const bool created = !done.decision.steps.empty() || !done.performed.undo.empty();
    return answer(fmt::format("{} the folder {}", created ? "Created" : "There already is",
                              vault::shown(done.decision.path)),
                  FolderResult{done.decision.path, created, done.performed.undo});
}

Answer report_create(const Request&, const Done& done) {
    return answer(
        "Created " + done.decision.path,
        CreateResult{done.decision.path, last_etag(done), mtime_of(done), done.performed.undo});
}

Outcome<Answer> read(const Root& root, const Request& request) {
    const auto args = request.as<ReadArgs>();
    const std::string path = TRY(vault::checked_path(root, args.path));
    auto content = TRY(root.read(path));
    if (!base::is_utf8(content.bytes) || content.bytes.contains('\0'))
        return vault::unfit(path, "is not a text file", "Only UTF-8 text can be read.");
    const std::size_t size = content.bytes.size();
    if (!args.maxBytes && size > kReadBytesMax)
        return vault::unfit(path, fmt::format("has {} bytes, more than {}", size, kReadBytesMax),
                            "Read its beginning with maxBytes, or search it.");
    ReadResult result{.path = path, .etag = vault::etag(content.bytes)};
    result.mtime = vault::mtime_ms(content.status);
    result.bytes = static_cast<std::int64_t>(size);
    if (args.maxBytes && static_cast<std::size_t>(*args.maxBytes) < size) {
        std::size_t end = static_cast<std::size_t>(*args.maxBytes);
        while (end > 0 && (static_cast<unsigned char>(content.bytes[end]) & 0xC0U) == 0x80U) --end;
        content.bytes.resize(end);
        result.truncated = true;
    }
    result.content = std::move(content.bytes);
    return answer(fmt::format("Read {} ({} bytes)", path, size), result);
}

Answer report_write(const Request&, const Done& done) {
    const bool changed = !done.decision.steps.empty();
    const bool created = has_step<vault::CreateFile>(done);
    return answer(fmt::format("{} {}",
                              created   ? "Created"
                              : changed ? "Wrote"
                                        : "Nothing to change in",
                              done.decision.path),
                  WriteResult{done.decision.path, last_etag(done), mtime_of(done), changed, created,
                              done.performed.undo});
}

Answer report_rename(const Request& request, const Done& done) {
    RenameResult result{.from = request.as<RenameArgs>().from,
                        .path = done.decision.path,
                        .linksUpdated = static_cast<std::int64_t>(done.decision.links),
                        .linksBroken = static_cast<std::int64_t>(done.decision.broken),
                        .undo = done.performed.undo};
    for (const auto& step : done.decision.steps)
        if (const auto* changed = std::get_if<vault::ModifyFile>(&step))
            result.modifiedFiles.push_back(changed->path);
    if (done.decision.steps.empty())
        return answer(fmt::format("{} has that name already", vault::shown(result.path)), result);
    return answer(
        fmt::format("Renamed {} to {}; {} links in {} notes follow", vault::shown(result.from),
                    vault::shown(result.path), result.linksUpdated, result.modifiedFiles.size()),
        result);
}

Answer report_delete(const Request& request, const Done& done) {
    const DeleteResult result{request.as<DeleteArgs>().path, done.decision.path,
                              done.performed.undo};
    return answer(fmt::format("Moved {} to {}", vault::shown(result.path), result.trashPath),
                  result);
}

Outcome<Answer> search(const Root& root, const Request& request) {
    auto args = request.as<SearchArgs>();
    auto found = TRY(vault::search(root, {.query = args.query,
                                          .regex = args.regex,
                                          .case_sensitive = args.caseSensitive,
                                          .folder = TRY(vault::checked_path(root, args.folder)),
                                          .glob = args.glob,
                                          .hits_max = static_cast<std::size_t>(args.maxResults),
                                          .stop = request.stop}));
    const std::size_t hits = found.hits.size();
    return answer(fmt::format("Found {}{} lines in {} files", hits,
                              found.truncated ? " or more" : "", found.files),
                  SearchResult{std::move(found.hits), static_cast<std::int64_t>(found.files),
                               static_cast<std::int64_t>(found.skipped), found.truncated});
}

Outcome<Answer> list(const Root& root, const Request& request) {
    const auto args = request.as<ListArgs>();
    std::optional<vault::Glob> glob;
    if (args.glob) {
        glob = vault::Glob::compile(*args.glob);
        if (!glob)
            return vault::invalid(*args.glob, "is not a path pattern", "Write it like *.md.");
    }
    ListResult result;
    const auto visit = [&](const vault::Entry& entry) {
        if ((entry.kind == vault::Kind::Folder && !args.includeFolders) ||
            (glob && !glob->matches(entry.path)))
            return true;
        if (result.files.size() == static_cast<std::size_t>(args.limit)) return false;
        const auto kind = entry.kind == vault::Kind::File     ? ListedKind::File
                          : entry.kind == vault::Kind::Folder ? ListedKind::Folder
                          : entry.kind == vault::Kind::Link   ? ListedKind::Link
                                                              : ListedKind::Special;
        result.files.push_back({entry.path, std::string(vault::name_of(entry.path)), kind,
                                static_cast<std::int64_t>(entry.bytes), entry.mtime_ms});
        return true;
    };
    const auto walked = TRY(vault::walk(root,
                                        {.folder = TRY(vault::checked_path(root, args.folder)),
                                         .recursive = args.recursive,
                                         .with_ignored = args.includeIgnored,
                                         .stop = request.stop},
                                        visit));
    result.truncated = walked.truncated;
    result.unnamed = static_cast<std::int64_t>(walked.unnamed);
    return answer(
        fmt::format("Listed {} entries{}", result.files.size(), result.truncated ? " of more" : ""),
        result);
}

}  // namespace

void add_vault(tools::Registry& registry, const Kit& kit) {
    registry.add(change_tool(
        kit,
        about<PathArgs, FolderResult>("vault.ensureFolder", kFileCategory,
                                      "Make a folder, and those above it, unless they exist."),
        {.decide =
             [](const Root& root, const Request& request) {
                 return vault::decide_folder(root, request.as<PathArgs>().path);
             },
         .report = report_folder}));
    registry.add(
        change_tool(kit,
                    about<CreateArgs, CreateResult>("vault.createFile", kFileCategory,
                                                    "Create a file without replacing another."),
                    {.decide =
                         [](const Root& root, const Request& request) {
                             const auto args = request.as<CreateArgs>();
                             return vault::decide_create(root, args.path, args.content,
                                                         args.onCollision, request.first_try);
                         },
                     .report = report_create}));
    registry.add(read_tool(
        kit, about<ReadArgs, ReadResult>("vault.readFile", kFileCategory, "Read a text file."),
        read));
    registry.add(change_tool(
        kit,
        about<WriteArgs, WriteResult>("vault.writeFile", kFileCategory,
                                      "Replace, append to or prepend to a file."),
        {.decide =
             [](const Root& root, const Request& request) {
                 auto args = request.as<WriteArgs>();
                 return vault::decide_write(root, {.path = std::move(args.path),
                                                   .content = std::move(args.content),
                                                   .mode = args.mode,
                                                   .create = args.create,
                                                   .expected_etag = std::move(args.expectedEtag)});
             },
         .report = report_write,
         .files = [](const Request& request) { return files_named(request, {"path"}); }}));
    registry.add(change_tool(
        kit,
        about<RenameArgs, RenameResult>("vault.rename", kFileCategory,
                                        "Rename or move a file or folder; links in notes follow."),
        {.decide =
             [](const Root& root, const Request& request) {
                 auto args = request.as<RenameArgs>();
                 return vault::decide_rename(root, {.from = std::move(args.from),
                                                    .to = std::move(args.to),
                                                    .update_links = args.updateLinks,
                                                    .on_collision = args.onCollision,
                                                    .expected_etag = std::move(args.expectedEtag)});
             },
         .report = report_rename,
         .files = [](const Request& request) { return files_named(request, {"from"}); }}));
    registry.add(change_tool(
        kit,
        about<DeleteArgs, DeleteResult>("vault.delete", kFileCategory,
                                        "Move a file or folder to the vault's trash."),
        {.decide = [allowed = kit.host.allow_delete](const Root& root,
                                                     const Request& request) -> Outcome<Decision> {
             const auto args = request.as<DeleteArgs>();
             if (!allowed)
                 return vault::denied(
                     args.path, "may not be deleted: deleting is switched off",
                     "Allow it with: holon config set plan.allow_delete true; or rename the "
                     "file.");
             return vault::decide_delete(root, args.path, args.expectedEtag);
         },
         .report = report_delete,
         .files = [](const Request& request) { return files_named(request, {"path"}); }}));
    registry.add(read_tool(kit,
                           about<SearchArgs, SearchResult>("vault.searchText", kFileCategory,
                                                           "Find lines of text in the vault."),
                           search));
    registry.add(read_tool(
        kit,
        about<ListArgs, ListResult>("vault.listFiles", kFileCategory, "List files of the vault."),
        list));
}

}  // namespace plan_tools
