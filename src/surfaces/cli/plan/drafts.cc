#include "surfaces/cli/plan/drafts.h"

#include <algorithm>
#include <vector>

#include "base/os/files.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameDigits = 12;
constexpr std::string_view kEnding = ".json";
constexpr std::size_t kEntriesMax =
    10'000;  // Checked each time; further ones wait for the next time.

bool is_draft(std::string_view name) {
    return name.size() == kNameDigits + kEnding.size() && name.ends_with(kEnding) &&
           name.find_first_not_of("0123456789abcdef") == kNameDigits;
}

void drop_oldest(const fs::path& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> drafts;
    std::error_code failed;
    fs::directory_iterator entry(folder, failed);
    for (; !failed && entry != fs::directory_iterator() && drafts.size() < kEntriesMax;
         entry.increment(failed)) {
        std::error_code unknown;
        const auto written = entry->last_write_time(unknown);
        if (!unknown && is_draft(entry->path().filename().string()))
            drafts.emplace_back(written, entry->path());
    }
    if (drafts.size() <= kDraftsMax) return;
    std::ranges::sort(drafts, std::greater());
    // One that cannot be removed is tried again with the next draft.
    for (std::size_t i = kDraftsMax; i < drafts.size(); ++i) fs::remove(drafts[i].second, failed);
}

}  // namespace

base::Result<fs::path> keep_draft(const fs::path& folder, std::string_view plan_hash,
                                  std::string_view text) {
    TRY(base::make_folders(folder, 0700));
    const std::string_view digest = plan_hash.substr(plan_hash.find(':') + 1);
    fs::path file = folder / (std::string(digest.substr(0, kNameDigits)) + std::string(kEnding));
    TRY(base::write_file_atomic(file, text, 0600));
    drop_oldest(folder);
    return file;
}

}  // namespace cli
