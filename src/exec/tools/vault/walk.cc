#include "exec/tools/vault/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <ranges>
#include <vector>

#include "base/text.h"
#include "exec/tools/vault/ignore.h"
#include "exec/tools/vault/names.h"

namespace vault {
namespace {

constexpr std::array kIgnoreFiles{".gitignore", ".ignore"};  // The later one has the last word.

class Walker {
public:
    Walker(const Root& root, const WalkOptions& options,
           const std::function<bool(const Entry&)>& visit)
        : root_(root), options_(options), visit_(visit) {}

    Outcome<Walked> run() {
        base::Fd folder;
        if (root_.is_pretended())
            TRY(root_.is_folder(options_.folder));
        else
            folder = TRY(root_.folder(options_.folder));
        // A rule of a folder above holds here too.
        if (!options_.folder.empty()) {
            load_rules("");
            for (std::size_t slash = options_.folder.find('/'); slash != std::string::npos;
                 slash = options_.folder.find('/', slash + 1))
                load_rules(options_.folder.substr(0, slash));
        }
        TRY(enter(std::move(folder), options_.folder, 0));
        return walked_;
    }

private:
    struct Rules {
        std::string folder;
        IgnoreRules rules;
    };

    void load_rules(const std::string& folder) {
        if (options_.with_ignored) return;
        for (const auto* name : kIgnoreFiles)
            if (auto text = root_.read(join(folder, name), kIgnoreBytesMax, false))
                rules_.push_back({folder, IgnoreRules::parse(text->bytes)});
    }

    bool is_ignored(const std::string& path, bool is_folder) const {
        for (const auto& [folder, rules] : rules_ | std::views::reverse) {
            const std::string_view below =
                std::string_view(path).substr(folder.empty() ? 0 : folder.size() + 1);
            if (const auto verdict = rules.judge(below, is_folder)) return *verdict;
        }
        return false;
    }

    // On disk by descriptor, so that nothing can be swapped in on the way; a pretended vault by
    // path.
    Outcome<std::vector<std::string>> all_names(const base::Fd& folder, const std::string& path) {
        if (!folder) return root_.children(path);
        const int copy = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const std::unique_ptr<DIR, int (*)(DIR*)> dir(copy < 0 ? nullptr : ::fdopendir(copy),
                                                      ::closedir);
        if (!dir) return refused("Listing", path, errno);
        std::vector<std::string> names;
        while (const dirent* entry = ::readdir(dir.get())) {
            names.emplace_back(entry->d_name);
            if (names.size() > kEntriesMax) break;
        }
        return names;
    }

    Outcome<std::vector<std::string>> names_in(const base::Fd& folder, const std::string& path) {
        auto names = TRY(all_names(folder, path));
        std::erase_if(names, [&](const std::string& name) {
            if (name == "." || name == ".." || name == ".git" || name.starts_with(kTemporaryPrefix))
                return true;
            if (path.empty() && name == kTrash) return true;
            if (base::is_utf8(name)) return false;
            ++walked_.unnamed;
            return true;
        });
        std::ranges::sort(names);
        return names;
    }

    // False when it was deleted since it was listed, or is not readable.
    bool status_of(const base::Fd& folder, const std::string& path, const std::string& name,
                   struct stat& status) const {
        if (folder) return ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
        const auto seen = root_.look(join(path, name));
        if (seen) status = seen->status;
        return seen && seen->kind != Kind::Missing;
    }

    Outcome<void> enter(base::Fd folder, const std::string& path, std::size_t depth) {
        const std::size_t rules_before = rules_.size();
        load_rules(path);
        for (const auto& name : TRY(names_in(folder, path))) {
            if (options_.stop && options_.stop->load()) return stopped();
            if (walked_.truncated) break;
            struct stat status{};
            if (!status_of(folder, path, name, status)) continue;
            TRY(show(folder, name,
                     {.path = join(path, name),
                      .kind = kind_of(status),
                      .bytes = static_cast<std::uint64_t>(status.st_size),
                      .mtime_ms = mtime_ms(status)},
                     depth));
        }
        rules_.erase(rules_.begin() + static_cast<std::ptrdiff_t>(rules_before), rules_.end());
        return {};
    }

    Outcome<void> show(const base::Fd& folder, const std::string& name, Entry entry,
                       std::size_t depth) {
        const bool is_folder = entry.kind == Kind::Folder;
        if (is_folder) entry.bytes = 0;
        if (is_ignored(entry.path, is_folder)) return {};
        const bool is_allowed = root_.allows(entry.path);
        if (!is_allowed) {
            ++walked_.hidden;
            if (!is_folder || !root_.may_enter(entry.path)) return {};
        } else if (shown_++ == kEntriesMax || !visit_(entry)) {
            walked_.truncated = true;
            return {};
        }
        if (!is_folder || !options_.recursive || depth == kPathDepthMax) return {};
        if (!folder) return enter(base::Fd(), entry.path, depth + 1);
        base::Fd below(
            ::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!below) return {};
        return enter(std::move(below), entry.path, depth + 1);
    }

    const Root& root_;
    const WalkOptions& options_;
    const std::function<bool(const Entry&)>& visit_;
    std::vector<Rules> rules_;
    Walked walked_;
    std::size_t shown_{0};
};

}  // namespace

Outcome<Walked> walk(const Root& root, const WalkOptions& options,
                     const std::function<bool(const Entry&)>& visit) {
    return Walker(root, options, visit).run();
}

}  // namespace vault
