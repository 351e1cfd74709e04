// Notices that another process has replaced a file, without polling.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "base/os/asio_loop.h"
#include "base/result.h"

namespace base {

// Calls `changed` on the loop after a file was renamed to `file`, as write_file_atomic() does. A
// few changes in a row may be one call. The folder must exist. Used on the loop; must be gone
// before it.
class FileWatch {
public:
    static Result<std::unique_ptr<FileWatch>> open(AsioLoop& loop,
                                                   const std::filesystem::path& file,
                                                   std::function<void()> changed);
    ~FileWatch();
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

private:
    struct State;
    explicit FileWatch(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
};

}  // namespace base
