// `phalanx kubeconfig`: prints what kubectl needs to reach this cluster as the caller.
#pragma once

namespace phalanx::cli {

int kubeconfig_verb(int argc, char** argv);

}  // namespace phalanx::cli
