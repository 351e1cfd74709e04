// What a process is executing, kept where it survives the process: the next one can say during
// whose work it died.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace base {

// A name is at most this long; a longer one is cut.
inline constexpr std::size_t kMarkBytesMax = 64;

// While one of these exists, its thread executes something for `name`. They nest: the innermost
// counts. Any thread; without CrashMarks in the process, and in more threads than it has room for,
// it does nothing.
class CrashMark {
public:
    explicit CrashMark(std::string_view name);
    ~CrashMark();
    CrashMark(const CrashMark&) = delete;
    CrashMark& operator=(const CrashMark&) = delete;

private:
    std::string before_;
    bool is_set_{false};
};

// The marks of this process, in a file of its own in `folder`. At most one exists in a process, and
// it outlives every CrashMark.
class CrashMarks {
public:
    // Makes the folder and the file, and collects the names that processes that died had marked.
    static Result<std::unique_ptr<CrashMarks>> open(const std::filesystem::path& folder);
    // A process that ends in order leaves no file.
    ~CrashMarks();
    CrashMarks(const CrashMarks&) = delete;
    CrashMarks& operator=(const CrashMarks&) = delete;

    // The names that dead processes had marked, once for each process.
    const std::vector<std::string>& left() const { return left_; }
    // The caller has recorded left(): the files of the dead processes go.
    void forget_left();

private:
    struct Mapping;
    CrashMarks();

    std::vector<std::string> left_;
    std::vector<std::filesystem::path> left_files_;
    std::unique_ptr<Mapping> mapping_;
};

}  // namespace base
