"""What a broker hears of a metadata store, for tests of any store."""

from __future__ import annotations

from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import StoreEvent


class Listener:
    """Keeps all that it hears."""

    def __init__(self) -> None:
        self.heard: list[StoreEvent] = []
        self.images: list[MetadataImage] = []
        self.deltas: list[MetadataDelta] = []

    def watch(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """To be given to `MetadataSession.watch`."""
        self.images.append(image)
        self.deltas.append(delta)
