#include "agent/cgroup_bpf.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr std::size_t kMaxLoaded = 128;  // more different rules than a node's jobs have at once
constexpr std::size_t kMaxFiltersOfGroup = 64;

long bpf(bpf_cmd command, bpf_attr& attr) {
  return ::syscall(SYS_bpf, command, &attr, sizeof(attr));
}

bpf_insn instruction(int code, int dst, int src, int offset, int immediate) {
  bpf_insn insn{};
  insn.code = static_cast<std::uint8_t>(code);
  insn.dst_reg = static_cast<std::uint8_t>(dst & 0xf);
  insn.src_reg = static_cast<std::uint8_t>(src & 0xf);
  insn.off = static_cast<std::int16_t>(offset);
  insn.imm = immediate;
  return insn;
}
bpf_insn load_word(int dst, int src, std::size_t offset) {
  return instruction(BPF_LDX | BPF_W | BPF_MEM, dst, src, static_cast<int>(offset), 0);
}
bpf_insn skip_unless_equal(int reg, int value, int skipped) {
  return instruction(BPF_JMP | BPF_JNE | BPF_K, reg, 0, skipped, value);
}
bpf_insn answer(int value) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value);
}
bpf_insn leave() { return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

constexpr int kType = BPF_REG_2, kMajor = BPF_REG_3, kMinor = BPF_REG_4;

void add_rule(std::vector<bpf_insn>& code, DeviceNumber device, int verdict) {
  code.push_back(skip_unless_equal(kMajor, device.major, 3));
  code.push_back(skip_unless_equal(kMinor, device.minor, 2));
  code.push_back(answer(verdict));
  code.push_back(leave());
}

// The first rule that matches answers: allowed devices, denied devices, denied majors; the rest may
// pass.
std::vector<bpf_insn> assemble(const DeviceRules& rules) {
  std::vector<bpf_insn> code{
      load_word(kType, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, access_type)),
      instruction(BPF_ALU | BPF_AND | BPF_K, kType, 0, 0, 0xffff),  // the upper half is the access
      load_word(kMajor, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, major)),
      load_word(kMinor, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, minor)),
      instruction(BPF_JMP | BPF_JEQ | BPF_K, kType, 0, 2, BPF_DEVCG_DEV_CHAR),
      answer(1),
      leave(),
  };
  for (const DeviceNumber& device : rules.allowed) add_rule(code, device, 1);
  for (const DeviceNumber& device : rules.denied) add_rule(code, device, 0);
  for (int major : rules.denied_majors) {
    code.push_back(skip_unless_equal(kMajor, major, 2));
    code.push_back(answer(0));
    code.push_back(leave());
  }
  code.push_back(answer(1));
  code.push_back(leave());
  return code;
}

Error refused(std::string_view what, int error) {
  return unavailable(format("BPF device filter: {}: {}", what, std::strerror(error)));
}

// The ids of the programs attached to the very group `cgroup`.
Result<std::vector<std::uint32_t>> attached(int cgroup) {
  std::vector<std::uint32_t> ids(kMaxFiltersOfGroup);
  bpf_attr attr{};
  attr.query.target_fd = static_cast<std::uint32_t>(cgroup);
  attr.query.attach_type = BPF_CGROUP_DEVICE;
  attr.query.prog_ids = reinterpret_cast<std::uintptr_t>(ids.data());
  attr.query.prog_cnt = static_cast<std::uint32_t>(ids.size());
  if (bpf(BPF_PROG_QUERY, attr) != 0) return refused("the kernel does not list filters", errno);
  ids.resize(attr.query.prog_cnt);
  return ids;
}

Result<std::uint32_t> id_of(int program) {
  bpf_prog_info info{};
  bpf_attr attr{};
  attr.info.bpf_fd = static_cast<std::uint32_t>(program);
  attr.info.info_len = sizeof(info);
  attr.info.info = reinterpret_cast<std::uintptr_t>(&info);
  if (bpf(BPF_OBJ_GET_INFO_BY_FD, attr) != 0) return refused("the kernel does not name it", errno);
  return info.id;
}

Status attach(int cgroup, int program) {
  bpf_attr attr{};
  attr.target_fd = static_cast<std::uint32_t>(cgroup);
  attr.attach_bpf_fd = static_cast<std::uint32_t>(program);
  attr.attach_type = BPF_CGROUP_DEVICE;
  attr.attach_flags = BPF_F_ALLOW_MULTI;
  if (bpf(BPF_PROG_ATTACH, attr) != 0) return refused("the kernel does not attach it", errno);
  return {};
}

Status detach(int cgroup, std::uint32_t id) {
  bpf_attr by_id{};
  by_id.prog_id = id;
  const Fd program(static_cast<int>(bpf(BPF_PROG_GET_FD_BY_ID, by_id)));
  if (!program) return refused("the kernel does not open the group's old filter", errno);
  bpf_attr attr{};
  attr.target_fd = static_cast<std::uint32_t>(cgroup);
  attr.attach_bpf_fd = static_cast<std::uint32_t>(program.get());
  attr.attach_type = BPF_CGROUP_DEVICE;
  if (bpf(BPF_PROG_DETACH, attr) != 0) return refused("the kernel keeps the old filter", errno);
  return {};
}

}  // namespace

Result<int> DeviceFilters::program(const DeviceRules& rules) {
  if (auto found = loaded_.find(rules); found != loaded_.end()) return found->second.get();
  const std::vector<bpf_insn> code = assemble(rules);
  bpf_attr attr{};
  attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attr.insns = reinterpret_cast<std::uintptr_t>(code.data());
  attr.insn_cnt = static_cast<std::uint32_t>(code.size());
  attr.license = reinterpret_cast<std::uintptr_t>("Apache-2.0");
  std::memcpy(attr.prog_name, "phalanx_gpu", sizeof("phalanx_gpu"));
  const long fd = bpf(BPF_PROG_LOAD, attr);
  if (fd < 0) return refused("the kernel does not load it", errno);
  if (loaded_.size() >= kMaxLoaded) loaded_.clear();  // attached programs live on without us
  return loaded_.emplace(rules, Fd(static_cast<int>(fd))).first->second.get();
}

Status DeviceFilters::set(const std::string& dir, const DeviceRules& rules) {
  const Fd cgroup(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup) return refused(dir, errno);
  const int wanted = TRY(program(rules));
  const std::uint32_t wanted_id = TRY(id_of(wanted));
  const std::vector<std::uint32_t> before = TRY(attached(cgroup.get()));
  // The new filter comes before the old ones go, so that the group is never without one.
  if (std::ranges::find(before, wanted_id) == before.end()) TRY(attach(cgroup.get(), wanted));
  for (std::uint32_t id : before)
    if (id != wanted_id) TRY(detach(cgroup.get(), id));
  return {};
}

}  // namespace phalanx::agent
