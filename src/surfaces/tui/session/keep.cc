#include "surfaces/tui/session/keep.h"

#include "base/json.h"
#include "base/os/files.h"

namespace tui {

Kept load_kept(const std::filesystem::path& file) {
    const auto bytes = base::read_file(file, kKeptBytesMax);
    if (!bytes) return {};
    const auto value = base::parse_json(*bytes);
    if (!value) return {};
    return base::from_json<Kept>(*value).value_or(Kept{});
}

void save_kept(const std::filesystem::path& file, Kept kept) {
    std::erase_if(kept.history, [](const auto& text) { return text.size() > kKeptTextMax; });
    if (kept.history.size() > kKeptHistoryMax)
        kept.history.erase(kept.history.begin(),
                           kept.history.end() - static_cast<std::ptrdiff_t>(kKeptHistoryMax));
    std::erase_if(kept.drafts, [](const auto& draft) {
        return draft.second.empty() || draft.second.size() > kKeptTextMax;
    });
    if (!base::make_folders(file.parent_path(), 0700)) return;
    (void)base::write_file_atomic(file, base::json_text(base::to_json(kept)), 0600);
}

}  // namespace tui
