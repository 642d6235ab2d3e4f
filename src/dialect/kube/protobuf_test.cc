#include "dialect/kube/protobuf.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx::kube {
namespace {

// A length-delimited field with a number below 16, and a varint one.
std::string part(unsigned number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out += static_cast<char>(bytes.size());
  return out + bytes;
}
std::string varint(unsigned number, char value) {
  return std::string(1, static_cast<char>(number << 3)) + value;
}

std::string body(const std::string& version, const std::string& kind, const std::string& raw) {
  return std::string(kProtobufMagic) + part(1, part(1, version) + part(2, kind)) + part(2, raw);
}

std::string decoded(const std::string& bytes) {
  const auto v = decode_protobuf(bytes);
  return v.ok() ? json::serialize(*v) : "error: " + v.error().message;
}

std::string unhex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    out += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  }
  return out;
}

TEST(Protobuf, ReadsWhatKubectlCreateConfigmapSends) {
  EXPECT_EQ(decoded(unhex("6b3873000a0f0a0276311209436f6e6669674d617012330a180a0873657474696e677312"
                          "001a0022002a0032003800420012090a05656d7074791200120c0a046d6f646512046661"
                          "73741a002200")),
            R"({"metadata":{"name":"settings"},"data":{"empty":"","mode":"fast"},)"
            R"("apiVersion":"v1","kind":"ConfigMap"})");
}

TEST(Protobuf, ReadsWhatKubectlCreateJobSends) {
  EXPECT_EQ(
      decoded(unhex("6b3873000a0f0a0862617463682f763112034a6f621293010a150a0568656c6c6f12001a002200"
                    "2a003200380042001270326e0a100a0012001a0022002a00320038004200125a12370a0568656c"
                    "6c6f1204686f73741a072f62696e2f73681a022d631a076563686f2068692a0042006a00720080"
                    "0100880100900100a201001a054e65766572320042004a0052005800600068008201008a01009a"
                    "0100c201001a082000280030003a001a002200")),
      R"({"metadata":{"name":"hello"},"spec":{"template":{"metadata":{},"spec":{"containers":[)"
      R"({"name":"hello","image":"host","command":["/bin/sh","-c","echo hi"],"resources":{}}],)"
      R"("restartPolicy":"Never"}}},"apiVersion":"batch/v1","kind":"Job"})");
}

TEST(Protobuf, KeepsNumbersThatAreZeroOnPurpose) {
  const std::string spec = varint(1, 0) + varint(2, 5) + varint(10, 1);
  EXPECT_EQ(decoded(body("batch/v1", "Job", part(2, spec))),
            R"({"spec":{"parallelism":0,"completions":5,"suspend":true},)"
            R"("apiVersion":"batch/v1","kind":"Job"})");
}

TEST(Protobuf, ReadsQuantitiesAndBytes) {
  const std::string limits = part(1, part(1, "nvidia.com/gpu") + part(2, part(1, "2")));
  const std::string job = part(2, part(6, part(2, part(2, part(8, limits)))));
  EXPECT_EQ(decoded(body("batch/v1", "Job", job)),
            R"({"spec":{"template":{"spec":{"containers":[{"resources":{"limits":)"
            R"({"nvidia.com/gpu":"2"}}}]}}},"apiVersion":"batch/v1","kind":"Job"})");
  EXPECT_EQ(decoded(body("v1", "ConfigMap", part(3, part(1, "key") + part(2, "\xff\x01")))),
            R"({"binaryData":{"key":"/wE="},"apiVersion":"v1","kind":"ConfigMap"})");
}

TEST(Protobuf, ReadsDeleteOptions) {
  EXPECT_EQ(decoded(body("batch/v1", "DeleteOptions",
                         varint(1, 0) + part(2, part(1, "u")) + part(4, "Background"))),
            R"({"gracePeriodSeconds":0,"preconditions":{"uid":"u"},)"
            R"("propagationPolicy":"Background","apiVersion":"batch/v1","kind":"DeleteOptions"})");
}

TEST(Protobuf, LosesNothingSilently) {
  const auto says = [](const std::string& bytes, std::string_view words) {
    EXPECT_NE(decoded(bytes).find(words), std::string::npos) << decoded(bytes);
  };
  says(body("batch/v1", "Job", part(9, "x")), "field 9 of Job is not known here");
  says(body("batch/v1", "Job", part(2, part(6, part(2, part(1, "x"))))), "volumes of PodSpec");
  says(body("apps/v1", "Deployment", ""), "protobuf bodies of kind Deployment");
  says("k8s", "not a Kubernetes protobuf body");
  says(body("v1", "ConfigMap", "\x0a\x7f"), "cut off or damaged");
}

TEST(Protobuf, AcceptsUnknownFieldsThatSayNothing) {
  EXPECT_EQ(decoded(body("v1", "ConfigMap", part(9, "") + varint(10, 0))),
            R"({"apiVersion":"v1","kind":"ConfigMap"})");
}

}  // namespace
}  // namespace phalanx::kube
