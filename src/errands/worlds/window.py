"""A window on the screen, for `render_mode="human"`, by pygame, as in Gymnasium's own worlds."""

import importlib
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray


class Window:
    """Shows pictures at a steady rate; the window opens with the first one."""

    def __init__(self, fps: int) -> None:
        try:
            self._pygame: Any = importlib.import_module("pygame")
        except ModuleNotFoundError as missing:
            raise gymnasium.error.DependencyNotInstalled(
                "render_mode='human' needs pygame: pip install 'errands[human]'"
            ) from missing
        self._fps = fps
        self._screen: Any = None

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Draw a picture (height, width, 3), and wait until it is time for the next one."""
        pygame = self._pygame
        height, width, _ = picture.shape
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption("Errands")
            self._screen = pygame.display.set_mode((width, height))
            self._clock = pygame.time.Clock()
        self._screen.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        pygame.event.pump()  # a window that never reads its events counts as frozen
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
