// A folder of its own for a test, and a request that ended well.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "exec/gate/document/write.h"

namespace gate {

class TestFolder {
public:
    TestFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "holon-gate-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
    }
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    std::filesystem::path path(const std::string& name) const { return root_ / name; }
    void write(const std::string& name, std::string_view bytes) const {
        std::filesystem::create_directories(path(name).parent_path());
        std::ofstream(path(name), std::ios::binary) << bytes;
    }

private:
    std::filesystem::path root_;
};

// Its streams are the files "out" and "err" of `folder`.
inline FinishedRequest finished(const TestFolder& folder, const std::string& id = "TR-1") {
    return {.request_id = id,
            .command = "python3 stats.py --all",
            .executor = "tool-exec",
            .backend = "bubble",
            .backend_version = "1.2",
            .limits = {{"cpu_sec", "10"}},
            .runtime_sec = 0.25,
            .stdout_file = folder.path("out"),
            .stderr_file = folder.path("err"),
            .created = base::parse_time("2031-01-02T03:04:05Z").value()};
}

}  // namespace gate
