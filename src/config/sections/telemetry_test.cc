#include "config/sections/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace config {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(LoadTelemetry, SendsNothingUnlessAnEndpointIsSet) {
    EXPECT_EQ(load_telemetry({})->traces_url, "");
    EXPECT_EQ(load_telemetry({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}})->traces_url, "");
    EXPECT_EQ(load_telemetry(
                  {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}, {"OTEL_SDK_DISABLED", "true"}})
                  ->traces_url,
              "");
}

TEST(LoadTelemetry, TheEndpointIsABaseAndTheTracesEndpointIsNot) {
    EXPECT_EQ(load_telemetry({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}})->traces_url,
              "http://c:4318/v1/traces");
    EXPECT_EQ(load_telemetry({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/"}})->traces_url,
              "http://c:4318/v1/traces");
    EXPECT_EQ(load_telemetry({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"},
                              {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x"}})
                  ->traces_url,
              "http://t/x");
}

TEST(LoadTelemetry, HeadersAreAListOfNamesAndValues) {
    const auto telemetry = load_telemetry({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"},
                                           {"OTEL_EXPORTER_OTLP_HEADERS", "a=1, b = x=y ,"}});
    EXPECT_THAT(telemetry->headers, ElementsAre(Pair("a", "1"), Pair("b", "x=y")));
}

TEST(LoadTelemetry, WhatCannotBeUsedIsAnError) {
    for (const auto& [name, value] : std::map<std::string, std::string>{
             {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
             {"OTEL_EXPORTER_OTLP_HEADERS", "novalue"},
             {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318"}}) {
        const auto loaded =
            load_telemetry({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"}, {name, value}});
        ASSERT_FALSE(loaded) << name;
        EXPECT_EQ(loaded.error().code, base::ErrorCode::InvalidInput);
    }
}

}  // namespace
}  // namespace config
