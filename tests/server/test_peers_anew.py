"""A broker that has lost its session, and registers anew while its process runs on."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerEpoch
from tests.server.asking_peers import HEARTBEAT, ME, OTHER, asking, image
from tests.server.other_broker import OtherBroker
from tests.server.running import simulated


@simulated
async def test_who_has_registered_anew_itself_hangs_up_on_all(simulation: Simulation) -> None:
    def with_me(epoch: int) -> MetadataImage:
        theirs = image().brokers
        me = theirs[OTHER]._replace(id=ME, epoch=BrokerEpoch(epoch))
        return MetadataImage(brokers={**theirs, ME: me})

    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation, known=with_me(1))
    me.ask()
    await other.turn()
    me.follow(image())  # Its session is lost, and nobody else has come or gone.
    me.follow(with_me(1))
    assert not me.replies
    me.follow(with_me(2))
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION]
    await simulation.sleep(1)
    assert other.connections[0].is_closed
