#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/codec.h"
#include "dialect/kube/check.h"
#include "dialect/kube/job.h"
#include "dialect/kube/patch.h"

// Two lines: an object and a patch. Whatever they are, each kind of patch gives an object or an
// error, and what comes out can be checked and translated.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace kube = phalanx::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  const auto object = phalanx::codec::parse_json(text.substr(0, line));
  const auto patch = phalanx::codec::parse_json(text.substr(line + 1));
  if (!object.ok() || !patch.ok()) return 0;
  const kube::Message& job = *kube::message_of("batch/v1", "Job");
  boost::json::value merged = *object;
  kube::merge_patch(merged, *patch);
  boost::json::value edited = *object;
  (void)kube::json_patch(edited, *patch);
  boost::json::value strategic = *object;
  if (strategic.is_object() && patch->is_object())
    (void)kube::strategic_patch(strategic.get_object(), patch->get_object(), job);
  for (const boost::json::value* v : {&merged, &edited, &strategic}) {
    kube::Checked checked = kube::check(*v, job);
    if (!checked.mistyped.empty()) continue;
    kube::set_job_defaults(checked.object);
    (void)kube::translate_job(checked.object, {});
  }
  return 0;
}
