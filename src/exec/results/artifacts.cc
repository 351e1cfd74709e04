#include "exec/results/artifacts.h"

#include <fcntl.h>

#include "base/os/files.h"
#include "base/os/fs/open_path.h"

namespace results {

FileArtifacts::FileArtifacts(std::filesystem::path folder, std::string prefix, base::Ids& ids)
    : folder_(std::move(folder)), prefix_(std::move(prefix)), ids_(ids) {}

base::Result<std::string> FileArtifacts::store(std::string_view role, std::string_view bytes) {
    const auto path = reserve(role);
    TRY(base::make_folders(folder_, 0700));
    // The folder lies in the agent's home, where its commands may have put a link in its place.
    const base::Fd home(::open(folder_.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (home.get() < 0) return base::fail_errno("open " + folder_.parent_path().string());
    const auto folder =
        TRY(base::open_beneath(home.get(), folder_.filename(), O_PATH | O_DIRECTORY));
    const auto opened = std::filesystem::path("/proc/self/fd") / std::to_string(folder.get());
    TRY(base::write_file_atomic(opened / path.filename(), bytes, 0600));
    return path.string();
}

std::filesystem::path FileArtifacts::reserve(std::string_view role) {
    return folder_ /
           fmt::format("{}-{}-{}{}", prefix_, ids_.hex32(), role, role.contains('.') ? "" : ".log");
}

}  // namespace results
