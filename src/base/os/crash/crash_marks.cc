#include "base/os/crash/crash_marks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>

#include "base/os/files.h"

namespace base {
namespace {

constexpr std::size_t kSlots = 64;  // Threads that can mark at the same time.
constexpr std::size_t kSlotBytes = kMarkBytesMax + 1;
constexpr std::size_t kFileBytes = kSlots * kSlotBytes;
constexpr std::string_view kSuffix = ".marks";

std::atomic<char*> slots{nullptr};
std::atomic<std::size_t> threads{0};

// The slot of this thread: no other thread writes to it.
char* slot_of_thread() {
    char* const all = slots.load(std::memory_order_acquire);
    if (!all) return nullptr;
    static thread_local const std::size_t index = threads.fetch_add(1);
    return index < kSlots ? all + index * kSlotBytes : nullptr;
}

std::string_view text_in(const char* slot) {
    return {slot, ::strnlen(slot, kMarkBytesMax)};
}

void write_slot(char* slot, std::string_view name) {
    const std::size_t size = std::min(name.size(), kMarkBytesMax);
    // Never half a name: it is empty while it changes.
    slot[0] = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (size > 1) std::memcpy(slot + 1, name.data() + 1, size - 1);
    slot[size] = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (size > 0) slot[0] = name[0];
}

std::set<std::string> names_in(const std::string& bytes) {
    std::set<std::string> names;
    for (std::size_t at = 0; at + kSlotBytes <= bytes.size(); at += kSlotBytes)
        if (const auto name = text_in(bytes.data() + at); !name.empty()) names.emplace(name);
    return names;
}

}  // namespace

CrashMark::CrashMark(std::string_view name) {
    char* const slot = slot_of_thread();
    if (!slot) return;
    before_ = text_in(slot);
    is_set_ = true;
    write_slot(slot, name);
}

CrashMark::~CrashMark() {
    if (!is_set_) return;
    if (char* const slot = slot_of_thread()) write_slot(slot, before_);
}

struct CrashMarks::Mapping {
    std::filesystem::path file;
    Fd fd;  // Locked: it says that this process lives.
    void* bytes{nullptr};
    ~Mapping() {
        slots = nullptr;
        if (bytes) ::munmap(bytes, kFileBytes);
        ::unlink(file.c_str());
    }
};

CrashMarks::CrashMarks() = default;
CrashMarks::~CrashMarks() = default;

Result<std::unique_ptr<CrashMarks>> CrashMarks::open(const std::filesystem::path& folder) {
    TRY(make_folders(folder, 0700));
    std::unique_ptr<CrashMarks> marks(new CrashMarks);
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
        if (!entry.path().filename().string().ends_with(kSuffix)) continue;
        const Fd fd(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
        if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;  // Its process lives.
        const auto bytes = read_file(entry.path(), kFileBytes);
        if (bytes)
            for (const auto& name : names_in(*bytes)) marks->left_.push_back(name);
        marks->left_files_.push_back(entry.path());
    }
    auto mapping = std::make_unique<Mapping>();
    mapping->file = folder / (std::to_string(::getpid()) + std::string(kSuffix));
    std::erase(marks->left_files_, mapping->file);  // Of an earlier process with the same id.
    ::unlink(mapping->file.c_str());
    mapping->fd.reset(::open(mapping->file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!mapping->fd || ::flock(mapping->fd.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::ftruncate(mapping->fd.get(), kFileBytes) != 0)
        return fail_errno("create " + mapping->file.string());
    void* const bytes =
        ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapping->fd.get(), 0);
    if (bytes == MAP_FAILED) return fail_errno("map " + mapping->file.string());
    mapping->bytes = bytes;
    slots = static_cast<char*>(bytes);
    marks->mapping_ = std::move(mapping);
    return marks;
}

void CrashMarks::forget_left() {
    for (const auto& file : left_files_) ::unlink(file.c_str());
    left_files_.clear();
    left_.clear();
}

}  // namespace base
