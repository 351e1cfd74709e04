#include "exec/results/artifacts.h"

#include "base/os/files.h"

namespace results {

FileArtifacts::FileArtifacts(std::filesystem::path folder, std::string prefix, base::Ids& ids)
    : folder_(std::move(folder)), prefix_(std::move(prefix)), ids_(ids) {}

base::Result<std::string> FileArtifacts::store(std::string_view role, std::string_view bytes) {
    const auto path = reserve(role);
    TRY(base::make_folders(folder_, 0700));
    TRY(base::write_file_atomic(path, bytes, 0600));
    return path.string();
}

std::filesystem::path FileArtifacts::reserve(std::string_view role) {
    return folder_ / fmt::format("{}-{}-{}.log", prefix_, ids_.hex32(), role);
}

}  // namespace results
