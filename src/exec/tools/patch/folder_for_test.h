// A temporary folder whose files tests write, and compare as one value.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace patch {

class TestFolder {
public:
    explicit TestFolder(
        const std::filesystem::path& above = std::filesystem::temp_directory_path()) {
        ::umask(022);  // Modes of new files are compared.
        std::string name = (above / "patch-test-XXXXXX").string();
        path_ = std::filesystem::canonical(::mkdtemp(name.data()));
    }
    ~TestFolder() { std::filesystem::remove_all(path_); }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    // Where flushing costs nothing, if there is such a place; for tests that write much.
    static std::filesystem::path in_memory() {
        return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                               : std::filesystem::temp_directory_path();
    }

    const std::filesystem::path& path() const { return path_; }
    std::string at(std::string_view name) const { return (path_ / name).string(); }

    void write(std::string_view name, std::string_view bytes, mode_t mode = 0644) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << bytes;
        ::chmod(at(name).c_str(), mode);
    }

    // Everything below, hidden files too: "644 text" for files, "-> x" for links, "folder".
    std::map<std::string, std::string> all() const {
        std::map<std::string, std::string> all;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
            all[entry.path().lexically_relative(path_)] = description(entry);
        }
        return all;
    }

private:
    static std::string description(const std::filesystem::directory_entry& entry) {
        if (entry.is_symlink()) return "-> " + std::filesystem::read_symlink(entry).string();
        if (entry.is_directory()) return "folder";
        if (!entry.is_regular_file()) return "special";
        struct stat status{};
        ::stat(entry.path().c_str(), &status);
        std::ostringstream bytes;
        bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
        return fmt::format("{:o} {}", status.st_mode & 07777U, bytes.str());
    }

    std::filesystem::path path_;
};

}  // namespace patch
