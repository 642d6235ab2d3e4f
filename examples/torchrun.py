#!/usr/bin/python3
"""torchrun for Debian 12: its torch 1.13 on Python 3.11 reads `--redirects` and `--tee` as None, because enum members
are no longer found by their values with `in`. This starts the same launcher with that one reader mended."""
import re

import torch.distributed.elastic.multiprocessing.api as api


def std_from_text(text):
    if re.fullmatch(r"\d+", text):
        return api.Std(int(text))
    return {int(rank): api.Std(int(value)) for rank, value in (pair.split(":") for pair in text.split(","))}


api.Std.from_str = staticmethod(std_from_text)

from torch.distributed.run import main  # noqa: E402  (after the mending)

main()
