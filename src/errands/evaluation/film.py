"""An episode as a film: what the first world of a batch looks like, with its list below."""

from typing import cast

from errands.worlds.draw import Picture
from errands.worlds.film import caption
from errands.worlds.gym import listed, render
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds


class EpisodeFilm:
    """The frames of a film, from the moment before the first step.

    A longer film than `most_frames` is thinned out: every second frame, every fourth, ...
    """

    def __init__(self, worlds: Worlds, most_frames: int) -> None:
        self._worlds = worlds
        wanted = listed(worlds)
        self._captions = [item.words(worlds.spec.vocabulary) for item in wanted]
        trained = set(list_tasks(worlds.spec, "train", (1, 1)).pool)
        self._unseen = {i for i, item in enumerate(wanted) if item not in trained}
        self._most_frames = most_frames
        self._stride = 1
        self._offered = 0
        self.frames: list[Picture] = []
        self.add()

    def add(self) -> None:
        """Keep the world as it looks now, or not if the film has become a fast one."""
        ended = bool(self._worlds.status[0])
        if self._offered % self._stride == 0 or ended:
            world = self._worlds.privileged[0]
            picture = cast(Picture, render(self._worlds, 0, "rgb_array"))
            captioned = caption(
                picture,
                self._captions,
                marked=int(world["progress"]),
                title=f"step {world['steps']}",
                unseen=self._unseen,
            )
            self.frames.append(captioned)
        self._offered += 1
        if len(self.frames) > self._most_frames and not ended:
            self.frames = self.frames[::2]
            self._stride *= 2
