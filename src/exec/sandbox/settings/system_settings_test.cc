#include "exec/sandbox/settings/system_settings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/sandbox/program/plan.h"

namespace sandbox {
namespace {

std::vector<Part> parts_in(const SystemSettings& settings) {
    const auto bytes = base::read_file("/proc/self/fd/" + std::to_string(settings.file->get()),
                                       std::size_t{8} << 20);
    EXPECT_TRUE(bytes) << bytes.error().message;
    std::vector<Part> parts;
    for (const auto& one : decode_parts(bytes.value_or("")).value_or(std::vector<PartView>{}))
        parts.push_back({.kind = one.kind,
                         .path = std::string(one.path),
                         .source = std::string(one.source),
                         .text = std::string(one.text)});
    return parts;
}

TEST(SystemSettings, HoldTheNamedFilesAndNoCredentials) {
    const auto settings = system_settings();
    ASSERT_TRUE(settings) << settings.error().message;
    const auto parts = parts_in(*settings);
    const auto passwd = std::ranges::find(parts, "/etc/passwd", &Part::path);
    ASSERT_NE(passwd, parts.end());
    EXPECT_EQ(passwd->text, base::read_file("/etc/passwd", 1 << 20).value());
    for (const auto& part : parts) {
        EXPECT_TRUE(part.path.starts_with("/etc/")) << part.path;
        EXPECT_FALSE(part.path.contains("shadow") || part.path.contains("ssh")) << part.path;
        EXPECT_TRUE(part.kind == Part::Kind::File || part.kind == Part::Kind::Link) << part.path;
        if (part.kind == Part::Kind::Link)
            EXPECT_TRUE(part.source.starts_with("/usr/")) << part.path;
    }
}

TEST(SystemSettings, AreReadAgainOnlyWhenSomethingChanged) {
    std::string folder = testing::TempDir() + "holon-settings-XXXXXX";
    ASSERT_TRUE(::mkdtemp(folder.data()));
    std::filesystem::create_directories(folder + "/profile.d");
    const auto write = [&](const char* name, const char* text) {
        std::ofstream(folder + "/" + name) << text;
    };
    const auto text_of = [&](SettingsCache& cache, const char* path) {
        const auto parts = parts_in(*cache.read());
        const auto found = std::ranges::find(parts, path, &Part::path);
        return found == parts.end() ? "(none)" : found->text;
    };
    SettingsCache cache(folder);
    write("hosts", "one");
    write("profile.d/x.sh", "two");
    const auto first = cache.read();
    ASSERT_TRUE(first);
    EXPECT_EQ(cache.read()->file, first->file);
    EXPECT_EQ(text_of(cache, "/etc/hosts"), "one");
    EXPECT_EQ(text_of(cache, "/etc/profile.d/x.sh"), "two");
    write("hosts", "another");
    EXPECT_EQ(text_of(cache, "/etc/hosts"), "another");
    write("profile.d/x.sh", "longer");
    EXPECT_EQ(text_of(cache, "/etc/profile.d/x.sh"), "longer");
    write("passwd", "new");
    EXPECT_EQ(text_of(cache, "/etc/passwd"), "new");
    write("shadow", "secret");
    std::filesystem::permissions(folder + "/passwd", std::filesystem::perms::owner_read);
    EXPECT_EQ(text_of(cache, "/etc/passwd"), "(none)");
    EXPECT_EQ(text_of(cache, "/etc/shadow"), "(none)");
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sandbox
