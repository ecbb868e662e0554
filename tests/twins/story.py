"""A plain walk through the frames that a rollout has collected."""

from collections.abc import Iterator

from torch import Tensor


def walk(
    begins: Tensor, running: Tensor, done: Tensor, ended: Tensor, rewards: Tensor, limit: int
) -> Iterator[tuple[int, int, bool, bool]]:
    """Each world's frames, (T, B) each: begin, run, end once, begin again.

    Yields time, world, and whether the frame is an episode's first and whether it is its last; what
    holds for every rollout is checked on the way.
    """
    times, worlds = begins.shape
    for world in range(worlds):
        is_first, is_last, steps = True, False, 0
        for t in range(times):
            assert begins[t, world] == is_first
            assert running[t, world] != is_last
            yield t, world, is_first, is_last
            if is_last:  # nothing is decided any more, and nothing paid
                assert not done[t, world]
                assert not ended[t, world]
                assert rewards[t, world] == 0
                is_first, is_last, steps = True, False, 0
                continue
            steps += 1
            assert ended[t, world] == (done[t, world] or steps == limit)
            is_first, is_last = False, bool(ended[t, world])
