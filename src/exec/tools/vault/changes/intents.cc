#include "exec/tools/vault/changes/intents.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace vault {
namespace {

constexpr std::string_view kBootFile = "/proc/sys/kernel/random/boot_id";
constexpr std::size_t kBootBytesMax = 64;

const std::string& boot_id() {
    static const std::string id = [] {
        const auto text = base::read_file(kBootFile, kBootBytesMax);
        return text ? std::string(base::trim(*text)) : std::string();
    }();
    return id;
}

std::string boot_line() {
    return base::json_text(json::object{{"boot", boot_id()}}) + "\n";
}

Failure not_kept(const std::filesystem::path& file, int error) {
    return broken("Writing", file.string(), error);
}

// Opens the file for more lines. A new one is on disk with the id of this boot before the first
// change, so that no file means no change, also after a power cut.
Outcome<base::Fd> open_intents(const std::filesystem::path& folder) {
    const auto file = folder / kIntentsFile;
    constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    base::Fd fd(::open(file.c_str(), kFlags));
    if (fd) return fd;
    if (errno != ENOENT) return not_kept(file, errno);
    if (const auto made = base::make_folders(folder, 0700); !made)
        return broken("Creating", folder.string(), EIO);
    fd.reset(::open(file.c_str(), kFlags | O_CREAT, 0600));
    if (!fd || !base::write_all(fd.get(), boot_line()) || ::fsync(fd.get()) != 0)
        return not_kept(file, errno);
    const base::Fd above(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!above || ::fsync(above.get()) != 0) return not_kept(file, errno);
    return fd;
}

}  // namespace

Outcome<void> Intents::write(std::string_view name, json::value value) {
    if (!file_) file_ = TRY(open_intents(folder_));
    const std::string line =
        base::json_text(json::object{{"boot", boot_id()}, {"call", call_}, {name, value}}) + "\n";
    if (!base::write_all(file_.get(), line)) return not_kept(folder_ / kIntentsFile, errno);
    return {};
}

Outcome<void> Intents::add(const Intent& intent) {
    return write("intent", base::to_json(intent));
}

Outcome<void> Intents::reset() {
    return write("reset", true);
}

void Intents::end(const Ending& ending) {
    if (file_) (void)write("ending", base::to_json(ending));
}

Outcome<Begun> read_intents(const std::filesystem::path& folder, const std::string& call) {
    Begun begun;
    const auto file = folder / kIntentsFile;
    const auto text = base::read_file(file, kIntentsBytesMax);
    if (!text && text.error().code == base::ErrorCode::NotFound) return begun;
    if (!text) return broken("Reading", file.string(), EIO);
    bool is_same_boot = false;  // Of the last line, whichever call it is of.
    for (const auto line : base::split_lines(*text)) {
        is_same_boot = line.starts_with(fmt::format(R"({{"boot":"{}")", boot_id()));
        if (!line.contains(call)) continue;
        const auto value = base::parse_json(line);
        // A line that the crash cut off is of a change that had not begun.
        if (!value || base::string_at(*value, "call") != call) continue;
        if (const auto* intent = base::find(*value, "intent")) {
            auto decoded = base::from_json<Intent>(*intent);
            if (!decoded) return broken("Reading", file.string(), EBADMSG);
            begun.intents.push_back(std::move(*decoded));
        } else if (const auto* ending = base::find(*value, "ending")) {
            if (auto decoded = base::from_json<Ending>(*ending)) begun.ending = std::move(*decoded);
        } else {
            begun.intents.clear();
        }
    }
    begun.is_sure = is_same_boot;
    return begun;
}

void forget_intents(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::filesystem::remove(folder / kIntentsFile, ignored);
}

}  // namespace vault
