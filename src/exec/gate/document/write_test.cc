#include "exec/gate/document/write.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/os/files.h"
#include "exec/gate/document/folder_for_test.h"
#include "exec/gate/validator.h"

namespace gate {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Write : public testing::Test {
protected:
    Write() {
        request = finished(folder);
        folder.write("out", "mean 4.5\n");
        folder.write("err", "");
    }

    // Writes the result and reads its document back.
    ResultDocument written() {
        const auto id = write_result(request, folder.path("outbox"));
        EXPECT_TRUE(id) << id.error().message;
        if (!id) return {};
        place = folder.path("outbox") / *id;
        text = base::read_file(place / (*id + ".md"), kDocumentBytesMax).value();
        const auto parsed = parse(text);
        EXPECT_TRUE(parsed.faults.empty()) << parsed.faults[0].message;
        return parsed.document;
    }

    Verdict validated() {
        FolderArtifacts artifacts((place / kArtifactFolder).string());
        static const auto validator = Validator::make({}).value();
        auto verdict = validator.validate(text, artifacts);
        EXPECT_TRUE(verdict) << verdict.error().message;
        return std::move(*verdict);
    }

    TestFolder folder;
    FinishedRequest request;
    fs::path place;
    std::string text;
};

// contract: GATE-02, GATE-03, GATE-05, GATE-06
TEST_F(Write, AFinishedRequestBecomesAnAcceptableDocument) {
    folder.write("made.json", "{}");
    request.files = {{folder.path("made.json"), "data/made.json", "The numbers."}};
    const auto document = written();
    EXPECT_EQ(document.front.result_id, "TS-20310102-030405Z-TR-1");
    EXPECT_EQ(place.filename(), "TS-20310102-030405Z-TR-1");
    EXPECT_EQ(document.front.created_utc, "2031-01-02T03:04:05Z");
    EXPECT_EQ(document.front.stdout_sha256, base::sha256_hex("mean 4.5\n"));
    EXPECT_EQ(document.front.stderr_sha256, base::sha256_hex(""));
    EXPECT_THAT(document.summary, testing::AllOf(HasSubstr("TR-1"), HasSubstr("succeeded"),
                                                 HasSubstr("Outputs produced: 1")));
    EXPECT_EQ(document.provenance,
              (Provenance{"python3 stats.py --all", "bubble 1.2", {{"cpu_sec", "10"}}}));
    EXPECT_EQ(
        document.outputs,
        (std::vector<OutputEntry>{{"data/made.json", base::sha256_hex("{}"), "The numbers."}}));
    EXPECT_EQ(validated().outcome, domain::GateOutcome::Accept);
}

TEST_F(Write, AFailureIsSaid) {
    request.exit_code = 7;
    EXPECT_THAT(written().summary, HasSubstr("failed (exit code 7)"));
}

// contract: GATE-08
TEST_F(Write, OfALongStreamTheFirstLinesAreShownAndAllOfItIsAnArtifact) {
    std::string lines;
    for (int i = 0; i < 10'000; ++i) lines += fmt::format("line {}\n", i);
    folder.write("out", lines);
    folder.write("stdout.txt", "taken");
    request.files = {{folder.path("stdout.txt"), "stdout.txt", "A file of that name."}};
    const auto document = written();
    EXPECT_EQ(std::ranges::count(document.stdout_excerpt.text, '\n'), kStreamLinesDefault);
    EXPECT_TRUE(lines.starts_with(document.stdout_excerpt.text));
    EXPECT_EQ(document.stdout_excerpt.whole_in, "stdout-2.txt");
    EXPECT_EQ(document.stdout_excerpt.lines_total, 10'000);
    EXPECT_EQ(document.front.stdout_sha256, base::sha256_hex(lines));
    EXPECT_EQ(base::read_file(place / "artifacts/stdout-2.txt", 1 << 20).value(), lines);
    EXPECT_THAT(text, HasSubstr("Truncated: this is the beginning of 10000 lines"));
    EXPECT_EQ(validated().outcome, domain::GateOutcome::Accept);
}

TEST_F(Write, StreamsThatAreNoTextAreKeptByteForByte) {
    const std::string bytes("a\0b\xff\nc", 6);
    folder.write("out", bytes);
    const auto document = written();
    EXPECT_EQ(document.stdout_excerpt.whole_in, "stdout.txt");
    EXPECT_EQ(base::read_file(place / "artifacts/stdout.txt", 100).value(), bytes);
    EXPECT_EQ(validated().outcome, domain::GateOutcome::Accept);
}

TEST_F(Write, RequestsThatMakeNoDocumentAreRefusedAndLeaveNothing) {
    request.request_id = "TR-../x";
    EXPECT_EQ(write_result(request, folder.path("outbox")).error().code,
              base::ErrorCode::InvalidInput);
    request.request_id = "TR-1";
    request.executor = "";
    EXPECT_THAT(write_result(request, folder.path("outbox")).error().message,
                HasSubstr("/executor"));
    request.executor = "x";
    folder.write("f", "");
    request.files = {{folder.path("f"), "../f", ""}};
    EXPECT_EQ(write_result(request, folder.path("outbox")).error().code,
              base::ErrorCode::InvalidInput);
    EXPECT_TRUE(fs::is_empty(folder.path("outbox")));
}

TEST_F(Write, AResultIsWrittenOnce) {
    written();
    EXPECT_EQ(write_result(request, folder.path("outbox")).error().code, base::ErrorCode::Conflict);
}

long peak_kib() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

// contract: GATE-14
TEST_F(Write, AGigabyteIsHashedAndJudgedInPieces) {
    folder.write("big", "");
    ASSERT_EQ(::truncate(folder.path("big").c_str(), std::int64_t{1} << 30), 0);
    // Linked, not copied: only the validator is of interest.
    written();
    fs::create_directory(place / kArtifactFolder);
    fs::rename(folder.path("big"), place / kArtifactFolder / "big");
    auto document = parse(text).document;
    const std::string digest = "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14";
    document.front.artifacts = {{"big", digest}};
    document.outputs = {{"big", digest, "Zeros."}};
    text = render(document);
    const long before = peak_kib();
    EXPECT_THAT(validated().reasons, testing::IsEmpty());
    EXPECT_LT(peak_kib() - before, 64 * 1024);
}

// contract: GATE-14
TEST_F(Write, ALineOfAHundredMegabytesIsCutAndKept) {
    folder.write("out", std::string().assign(100'000'000, 'x'));
    const long before = peak_kib();
    const auto document = written();
    EXPECT_LE(document.stdout_excerpt.text.size(), kStreamBytesShownMax + 1);
    EXPECT_EQ(document.stdout_excerpt.lines_total, 1);
    EXPECT_EQ(validated().outcome, domain::GateOutcome::Accept);
    EXPECT_LT(peak_kib() - before, 64 * 1024);
}

// contract: GATE-14
TEST_F(Write, ArtifactsAreNotReachedThroughLinksOrPipes) {
    folder.write("f", "x");
    request.files = {{folder.path("f"), "f", "A file."}};
    written();
    const auto artifact = place / "artifacts/f";
    fs::remove(artifact);
    fs::create_symlink("/etc/hostname", artifact);
    EXPECT_EQ(validated().reasons.at(0).rule, "artifact_missing");
    fs::remove(artifact);
    ASSERT_EQ(::mkfifo(artifact.c_str(), 0600), 0);
    EXPECT_EQ(validated().reasons.at(0).rule, "artifact_missing");
    // A second name under which it could be changed later.
    fs::remove(artifact);
    fs::create_hard_link(folder.path("f"), artifact);
    EXPECT_EQ(validated().reasons.at(0).rule, "artifact_missing");
}

}  // namespace
}  // namespace gate
