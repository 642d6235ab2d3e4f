// Setters behind the option table: each checks one value and writes it into JobOptions.
#pragma once

#include "dialect/slurm/options.h"

namespace phalanx::slurm::set {

template <auto Member>
Status flag(Setting& s) {
  s.options.*Member = true;
  return {};
}
template <auto Member>
Status step_flag(Setting& s) {
  s.options.step.*Member = true;
  return {};
}
template <auto Member>
Status text(Setting& s) {
  s.options.*Member = std::string(s.value);
  return {};
}
template <auto Member>
Status more(Setting& s) {
  s.options.*Member += 1;
  return {};
}
template <bool Value>
Status requeue(Setting& s) {
  s.options.requeue = Value;
  return {};
}

Status kill_on_invalid_dependency(Setting& s);
Status time(Setting& s);
Status nodes(Setting& s);
Status nodelist(Setting& s);
Status exclude(Setting& s);
Status constraint(Setting& s);
Status ntasks(Setting& s);
Status ntasks_per_node(Setting& s);
Status cpus_per_task(Setting& s);
Status mem(Setting& s);
Status mem_per_cpu(Setting& s);
Status mem_per_gpu(Setting& s);
Status gres(Setting& s);
Status gpus(Setting& s);
Status gpus_per_node(Setting& s);
Status gpus_per_task(Setting& s);
Status exclusive(Setting& s);
Status overlap(Setting& s);
Status array(Setting& s);
Status dependency(Setting& s);
Status begin(Setting& s);
Status signal(Setting& s);
Status nice(Setting& s);
Status hint(Setting& s);
Status requeue_mode(Setting& s);
Status export_env(Setting& s);
Status open_mode(Setting& s);
Status mail_types(Setting& s);
Status job_id(Setting& s);
Status wait_seconds(Setting& s);
Status relative(Setting& s);
Status kill_on_bad_exit(Setting& s);
Status cpu_bind(Setting& s);
Status gpu_bind(Setting& s);
Status distribution(Setting& s);
Status mpi(Setting& s);
Status pty(Setting& s);

}  // namespace phalanx::slurm::set
