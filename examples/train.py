#!/usr/bin/python3
"""Data-parallel training on real data: handwritten digits, a small convolutional network, DDP over gloo on CPUs.

Every rank finds its place from the environment that torchrun, or srun with MASTER_ADDR and MASTER_PORT, gives it. The
data set is the 1,797 digits (8 x 8 pixels) that Debian's python3-sklearn package ships; a fifth is held out. The same
script trains on GPUs with another backend; here it needs none.
"""
import gzip
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

PLACES = (
    os.environ.get("DIGITS", ""),
    "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz",
)


def place_of_this_rank():
    """(rank, world size): torchrun's variables if they are there, else srun's."""
    env = os.environ
    rank = int(env.get("RANK", env.get("SLURM_PROCID", "0")))
    world = int(env.get("WORLD_SIZE", env.get("SLURM_NTASKS", "1")))
    return rank, world


def digits():
    path = next((p for p in PLACES if p and os.path.exists(p)), None)
    if path is None:
        sys.exit("train.py: no digits.csv.gz: install python3-sklearn, or set DIGITS to the file")
    with gzip.open(path, "rt") as lines:
        rows = [[float(x) for x in line.split(",")] for line in lines]
    table = torch.tensor(rows)
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(7))
    table = table[order]
    images = (table[:, :64] / 16.0).reshape(-1, 1, 8, 8)
    labels = table[:, 64].long()
    held_out = len(table) // 5
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))


def main():
    torch.set_num_threads(1)
    rank, world = place_of_this_rank()
    dist.init_process_group("gloo", rank=rank, world_size=world)
    print(f"rank {rank} of {world} on {os.uname().nodename}, GPUs {os.environ.get('CUDA_VISIBLE_DEVICES', 'none')}",
          flush=True)
    torch.manual_seed(0)
    (x, y), (x_test, y_test) = digits()
    x, y = x[rank::world], y[rank::world]
    model = DistributedDataParallel(network())
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_of = nn.CrossEntropyLoss()
    epochs = int(os.environ.get("EPOCHS", "12"))
    batch = 32
    steps = (1797 - 1797 // 5) // world // batch  # the same on every rank
    began = time.monotonic()
    for epoch in range(epochs):
        total = 0.0
        for step in range(steps):
            part = slice(step * batch, (step + 1) * batch)
            optimiser.zero_grad()
            loss = loss_of(model(x[part]), y[part])
            loss.backward()  # DDP averages the gradients of all ranks here
            optimiser.step()
            total += loss.item()
        mean = torch.tensor([total / steps])
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch + 1:2d}  loss {mean.item() / world:.4f}", flush=True)
    if rank == 0:
        with torch.no_grad():
            correct = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"held-out accuracy {correct:.3f} on {len(y_test)} digits after {time.monotonic() - began:.1f} s", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
