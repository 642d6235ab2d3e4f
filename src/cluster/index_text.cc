#include "cluster/index_text.h"

#include "base/text.h"

namespace phalanx::cluster {

std::uint32_t stride_of(const std::vector<std::uint32_t>& indexes) {
  if (indexes.size() < 3) return 1;
  const std::uint32_t stride = indexes[1] - indexes[0];
  for (std::size_t i = 1; i < indexes.size(); ++i)
    if (indexes[i] - indexes[i - 1] != stride) return 1;
  return stride;
}

std::string index_text(const std::vector<std::uint32_t>& indexes) {
  if (const std::uint32_t stride = stride_of(indexes); stride > 1)
    return format("{}-{}:{}", indexes.front(), indexes.back(), stride);
  std::string text;
  for (std::size_t i = 0; i < indexes.size();) {
    std::size_t last = i;
    while (last + 1 < indexes.size() && indexes[last + 1] == indexes[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? format("{}", indexes[i]) : format("{}-{}", indexes[i], indexes[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace phalanx::cluster
