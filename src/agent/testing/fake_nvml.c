/* A libnvidia-ml.so.1 for tests. The environment says what it shows:
   FAKE_NVML_GPUS     how many GPUs (default 2)
   FAKE_NVML_NAME     the product's name
   FAKE_NVML_FAILING  the index of a GPU that fell off the bus
   FAKE_NVML_MIG      the index of a GPU in MIG mode
   FAKE_NVML_PIDS     "index:pid,index:pid": processes on GPUs
   FAKE_NVML_INIT     an error code for nvmlInit_v2
   Minors run against the indexes, as they may on real machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kInvalid = 2, kNotSupported = 3, kInsufficientSize = 7, kLost = 15 };
typedef struct {
  unsigned long long total, free, used;
} Memory;
typedef struct {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
} Pci;
typedef struct {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
} Process;

static int setting(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}
static int gpus(void) { return setting("FAKE_NVML_GPUS", 2); }
static int index_of(void* device) { return (int)(size_t)device - 1; }

/* NOLINTBEGIN(readability-identifier-naming): NVIDIA's names */
int nvmlInit_v2(void) { return setting("FAKE_NVML_INIT", kSuccess); }
int nvmlShutdown(void) { return kSuccess; }
const char* nvmlErrorString(int code) {
  switch (code) {
    case kLost:
      return "GPU is lost";
    case 9:
      return "Driver Not Loaded";
    default:
      return "an error";
  }
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  snprintf(text, size, "570.86.15");
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = (unsigned)gpus();
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if ((int)index >= gpus()) return kInvalid;
  if ((int)index == setting("FAKE_NVML_FAILING", -1)) return kLost;
  *device = (void*)(size_t)(index + 1); /* NOLINT(performance-no-int-to-ptr): opaque to callers */
  return kSuccess;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  const char* name = getenv("FAKE_NVML_NAME");
  (void)device;
  snprintf(text, size, "%s", name && *name ? name : "NVIDIA RTX PRO 6000 Blackwell");
  return kSuccess;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  snprintf(text, size, "GPU-00000000-0000-0000-0000-%012d", index_of(device));
  return kSuccess;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  *minor = (unsigned)(gpus() - 1 - index_of(device));
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  (void)device;
  memory->total = 96ULL << 30;
  memory->used = 1ULL << 30;
  memory->free = memory->total - memory->used;
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  memset(pci, 0, sizeof *pci);
  pci->bus = 0x3bU + (unsigned)index_of(device);
  snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
  return kSuccess;
}
/* GPU 0 is near CPUs 0-3 and 8, the others near 64 and 65. */
int nvmlDeviceGetCpuAffinity(void* device, unsigned size, unsigned long* mask) {
  memset(mask, 0, size * sizeof *mask);
  if (index_of(device) == 0)
    mask[0] = 0x10f;
  else if (size > 1)
    mask[1] = 3;
  return kSuccess;
}
int nvmlDeviceGetMigMode(void* device, unsigned* mode, unsigned* pending) {
  *mode = *pending = index_of(device) == setting("FAKE_NVML_MIG", -1) ? 1 : 0;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* out) {
  const char* text = getenv("FAKE_NVML_PIDS");
  unsigned found = 0;
  while (text && *text) {
    int index = 0, pid = 0;
    if (sscanf(text, "%d:%d", &index, &pid) == 2 && index == index_of(device)) {
      if (out && found < *count) {
        memset(&out[found], 0, sizeof out[found]);
        out[found].pid = (unsigned)pid;
      }
      ++found;
    }
    text = strchr(text, ',');
    if (text) ++text;
  }
  const int fits = found == 0 || (out && found <= *count);
  *count = found;
  return fits ? kSuccess : kInsufficientSize;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void* device, unsigned* count, Process* out) {
  (void)device;
  (void)out;
  *count = 0;
  return kNotSupported;
}
/* NOLINTEND(readability-identifier-naming) */
