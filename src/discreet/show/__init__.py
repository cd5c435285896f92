"""Charts: pure functions from mechanisms or plain rows to pictures, and the files they are saved in."""

from discreet.show.chart import bars, heatmap, lines, stacked, steps
from discreet.show.save import save

__all__ = ["bars", "heatmap", "lines", "save", "stacked", "steps"]
