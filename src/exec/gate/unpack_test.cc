#include "exec/gate/unpack.h"

#include <zlib.h>

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "exec/gate/document/sample_for_test.h"

namespace gate {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::string utf16(std::string_view text, bool is_big) {
    std::string bytes;
    for (const char c : text) bytes += is_big ? std::string{'\0', c} : std::string{c, '\0'};
    return bytes;
}

std::string deflated(std::string_view text, int window_bits) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(text.size() + 200, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
}
std::string gzip(std::string_view text) {
    return deflated(text, 15 + 16);
}

// One entry, without a directory and with its size left to the data.
std::string zip(std::string_view text) {
    std::string file("PK\x03\x04\x14\0\x08\0\x08\0", 10);
    file.append(16, '\0');
    file += std::string("\x01\0\0\0", 4) + "f";
    return file + deflated(text, -15);
}

std::vector<std::string> inside(std::string_view bytes) {
    std::vector<std::string> found;
    visit_unpacked(bytes, [&](std::string_view text, const std::string&) {
        found.emplace_back(text.substr(0, 100));
    });
    return found;
}

TEST(Unpack, OpensWhatIsPackedAndWhatIsPackedInThat) {
    const std::string text = "hello, this is what is inside";
    for (const auto& bytes :
         {utf16(text, false), utf16(text, true), "\xff\xfe" + utf16(text, false), gzip(text),
          deflated(text, 15), zip(text)})
        EXPECT_THAT(inside(bytes), ElementsAre(text));
    EXPECT_THAT(inside(zip(gzip(utf16(text, false)))), Contains(text));
    EXPECT_THAT(inside(text), IsEmpty());
}

TEST(Unpack, IsBoundedForBombsAndDamage) {
    const std::string bomb = gzip(std::string(std::size_t{64} << 20, 'a'));
    std::size_t out = 0;
    visit_unpacked(bomb, [&](std::string_view text, const std::string&) { out += text.size(); });
    EXPECT_EQ(out, kUnpackedBytesMax);
    const std::string whole = zip("some text that is cut");
    for (std::size_t size = 0; size < whole.size(); ++size) (void)inside(whole.substr(0, size));
}

// contract: GATE-10
TEST(Unpack, SecretsInPackedArtifactsAreARejection) {
    const auto validator = Validator::make({}).value();
    const std::string secret =
        "a log\n" + scan::example(scan::secret_rules()[0].good[0]) + "\nand its end\n";
    for (const auto& bytes : {utf16(secret, false), "\xfe\xff" + utf16(secret, true), gzip(secret),
                              zip(secret), gzip(zip(secret))}) {
        auto document = sample();
        document.front.artifacts[0].sha256 = document.outputs[0].sha256 = base::sha256_hex(bytes);
        MapArtifacts artifacts;
        artifacts.files["output.json"] = bytes;
        const auto verdict = validator.validate(render(document), artifacts);
        ASSERT_TRUE(verdict);
        ASSERT_EQ(verdict->reasons.size(), 1U);
        EXPECT_EQ(verdict->reasons[0].rule, "github-ghp");
    }
}

}  // namespace
}  // namespace gate
