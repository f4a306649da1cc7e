"""What those of Kafka 4.4's broker keys mean that are described and do not act: see
`described_keys.py`, which reads it."""

from __future__ import annotations

DESCRIBED = """
add.partitions.to.txn.retry.backoff.max.ms INT 0.. = 100
    The longest pause between two tries to verify a transaction's partition.
add.partitions.to.txn.retry.backoff.ms INT 1.. = 20
    The first pause before a transaction's partition is verified again.
alter.config.policy.class.name CLASS
    A Java class that may veto changes of settings.
alter.log.dirs.replication.quota.window.num INT 1.. = 11
    Samples kept to measure how fast replicas move between folders.
alter.log.dirs.replication.quota.window.size.seconds INT 1.. = 1
    How long one of those samples spans.
authorizer.class.name STRING =
    The Java class that decides who may do what; empty: everybody may.
background.threads INT 1.. = 10
    Threads for chores that no request waits for.
broker.heartbeat.interval.ms INT = 2000
    How often a broker tells the controller that it is there.
broker.session.timeout.ms INT = 9000
    A broker silent for so long is fenced.
client.quota.callback.class CLASS
    A Java class that decides which quota a client has.
config.providers LIST =
    Names of providers that settings may take values from.
controller.quorum.append.linger.ms INT 0.. = 25
    How long the metadata quorum's leader gathers records before it writes.
controller.quorum.auto.join.enable BOOLEAN = false
    Whether a controller adds itself to the quorum's voters.
controller.quorum.bootstrap.servers LIST =
    Addresses at which the metadata quorum is found.
controller.quorum.election.backoff.max.ms INT 0.. = 1000
    The longest pause after an election of the quorum that nobody won.
controller.quorum.election.timeout.ms INT 0.. = 1000
    How long a candidate waits for votes.
controller.quorum.fetch.max.bytes INT 1.. = 1048576
    The most metadata records that one fetch of the quorum carries.
controller.quorum.fetch.snapshot.max.bytes INT 1.. = 1048576
    The most bytes of a metadata snapshot that one fetch carries.
controller.quorum.fetch.timeout.ms INT 0.. = 2000
    A voter that cannot fetch from the leader for so long stands for election.
controller.quorum.request.timeout.ms INT 0.. = 2000
    How long a member of the quorum waits for an answer.
controller.quorum.retry.backoff.ms INT 0.. = 20
    The pause before a request to the quorum is sent again.
controller.quorum.voters LIST =
    The fixed voters of the metadata quorum, as id@host:port.
controller.quota.window.num INT 1.. = 11
    Samples kept to measure changes of topics against their quota.
controller.quota.window.size.seconds INT 1.. = 1
    How long one of those samples spans.
controller.socket.timeout.ms INT = 30000
    How long a request to the controller may take on the wire.
create.topic.policy.class.name CLASS
    A Java class that may veto new topics.
delegation.token.expiry.check.interval.ms LONG 1.. = 3600000
    How often expired delegation tokens are looked for.
delegation.token.expiry.time.ms LONG 1.. = 86400000
    How long a delegation token holds before it must be renewed.
delegation.token.max.lifetime.ms LONG 1.. = 604800000
    After so long a delegation token cannot be renewed.
delegation.token.secret.key PASSWORD
    The secret that delegation tokens are signed with; not set: there are none.
delete.records.purgatory.purge.interval.requests INT = 1
    Finished DeleteRecords requests that purgatory gathers before it is cleaned.
early.start.listeners LIST
    Listeners that open before the authorizer is ready.
errors.deadletterqueue.auto.create.topics.enable BOOLEAN = false
    Whether share groups may create their dead letter topics.
errors.deadletterqueue.topic.name.prefix STRING = dlq.
    How the names of dead letter topics begin.
fetch.purgatory.purge.interval.requests INT = 1000
    Finished fetches that purgatory gathers before it is cleaned.
follower.fetch.last.tiered.offset.enable BOOLEAN = false
    Whether a new follower begins behind what tiered storage has.
group.consumer.max.assignment.interval.ms INT 0.. = 15000
    The largest assignment interval that a consumer group may set.
group.consumer.max.heartbeat.interval.ms INT 1.. = 15000
    The largest heartbeat interval that a consumer group may set.
group.consumer.max.session.timeout.ms INT 1.. = 60000
    The largest session timeout that a consumer group may set.
group.consumer.min.assignment.interval.ms INT 0.. = 0
    The smallest assignment interval that a consumer group may set.
group.coordinator.append.linger.ms INT -1.. = -1
    How long a group coordinator gathers records before it writes; -1: as long as it has work.
group.coordinator.background.threads INT 1.. = 2
    Threads that compute assignments and match regular expressions.
group.coordinator.cached.buffer.max.bytes INT 524288.. = 1048588
    The largest write buffer that a group coordinator keeps for use again.
group.coordinator.threads INT 1.. = 4
    Threads that run group coordinators.
group.share.assignment.interval.ms INT 0.. = 1000
    The least time between two assignments of a share group.
group.share.assignors LIST nonempty = simple
    How the broker spreads partitions in share groups.
group.share.delivery.count.limit INT 2..10 = 5
    How often a record is given out before a share group gives it up.
group.share.heartbeat.interval.ms INT 1.. = 5000
    How often members of share groups are to send heartbeats.
group.share.max.assignment.interval.ms INT 0.. = 15000
    The largest assignment interval that a share group may set.
group.share.max.delivery.count.limit INT 5..25 = 10
    The largest delivery count limit that a share group may set.
group.share.max.heartbeat.interval.ms INT 1.. = 15000
    The largest heartbeat interval that a share group may set.
group.share.max.partition.max.record.locks INT 2000..10000 = 4000
    The largest number of locked records per partition that a share group may set.
group.share.max.record.lock.duration.ms INT 30000..3600000 = 60000
    The longest lock on a record that a share group may set.
group.share.max.session.timeout.ms INT 1.. = 60000
    The largest session timeout that a share group may set.
group.share.max.share.sessions INT 1.. = 2000
    Share sessions that a broker keeps.
group.share.max.size INT 1..1000 = 200
    The most members that a share group may have.
group.share.min.assignment.interval.ms INT 0.. = 0
    The smallest assignment interval that a share group may set.
group.share.min.delivery.count.limit INT 2..5 = 2
    The smallest delivery count limit that a share group may set.
group.share.min.heartbeat.interval.ms INT 1.. = 5000
    The smallest heartbeat interval that a share group may set.
group.share.min.partition.max.record.locks INT 100..2000 = 100
    The smallest number of locked records per partition that a share group may set.
group.share.min.record.lock.duration.ms INT 1000..30000 = 15000
    The shortest lock on a record that a share group may set.
group.share.min.session.timeout.ms INT 1.. = 45000
    The smallest session timeout that a share group may set.
group.share.partition.max.record.locks INT 100..10000 = 2000
    Records of one partition that a share group may have locked at a time.
group.share.record.lock.duration.ms INT 1000..3600000 = 30000
    How long a record given out stays locked for its consumer.
group.share.session.timeout.ms INT 1.. = 45000
    A share group's member silent for so long is out.
group.streams.assignment.interval.ms INT 0.. = 1000
    The least time between two assignments of a streams group.
group.streams.assignors LIST nonempty = sticky
    How the broker spreads tasks in streams groups.
group.streams.heartbeat.interval.ms INT 1.. = 5000
    How often members of streams groups are to send heartbeats.
group.streams.initial.rebalance.delay.ms INT 0.. = 3000
    How long an empty streams group waits for more members.
group.streams.max.assignment.interval.ms INT 0.. = 15000
    The largest assignment interval that a streams group may set.
group.streams.max.heartbeat.interval.ms INT 1.. = 15000
    The largest heartbeat interval that a streams group may set.
group.streams.max.session.timeout.ms INT 1.. = 60000
    The largest session timeout that a streams group may set.
group.streams.max.size INT 1.. = 2147483647
    The most members that a streams group may have.
group.streams.max.standby.replicas INT 0.. = 2
    The most standby copies of a task that a streams group may set.
group.streams.min.assignment.interval.ms INT 0.. = 0
    The smallest assignment interval that a streams group may set.
group.streams.min.heartbeat.interval.ms INT 1.. = 5000
    The smallest heartbeat interval that a streams group may set.
group.streams.min.session.timeout.ms INT 1.. = 45000
    The smallest session timeout that a streams group may set.
group.streams.num.standby.replicas INT 0.. = 0
    Standby copies of each task in streams groups.
group.streams.rack.aware.assignment.tags LIST =
    Client tags that standby tasks are spread over.
group.streams.session.timeout.ms INT 1.. = 45000
    A streams group's member silent for so long is out.
group.streams.topology.description.plugin.class CLASS
    A Java class that keeps descriptions of streams topologies.
initial.broker.registration.timeout.ms INT = 60000
    How long a starting broker tries to register before it gives up.
kafka.metrics.polling.interval.secs INT 1.. = 10
    How often the reporters of the older metrics library poll.
kafka.metrics.reporters LIST =
    Reporters of the older metrics library.
log.dir.failure.timeout.ms LONG 1.. = 30000
    A broker that cannot tell the controller of a failed folder for so long stops.
max.connection.creation.rate INT 0.. = 2147483647
    The most new connections in a second.
metadata.max.idle.interval.ms INT 0.. = 500
    How often the active controller writes an empty record when nothing happens.
metric.reporters LIST = org.apache.kafka.common.metrics.JmxReporter
    Java classes that are told of metrics.
metrics.num.samples INT 1.. = 2
    Samples kept for each metric.
metrics.recording.level STRING = INFO
    The finest level of metrics that are recorded.
metrics.sample.window.ms LONG 1.. = 30000
    How long one sample of a metric spans.
num.io.threads INT 1.. = 8
    Threads that carry out requests, disk included.
num.network.threads INT 1.. = 3
    Threads that read requests and write answers, for each listener.
num.recovery.threads.per.data.dir INT 1.. = 2
    Threads that open and close logs, for each data folder.
num.replica.alter.log.dirs.threads INT
    Threads that move replicas between folders; not set: one a folder.
num.replica.fetchers INT 1.. = 1
    Fetchers for each broker that is followed.
principal.builder.class CLASS
    = org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
    The Java class that tells who is behind a connection.
process.roles LIST broker|controller nonempty
    Whether the process is a broker, a controller or both. A controller alone serves nobody here.
producer.purgatory.purge.interval.requests INT = 1000
    Finished produces that purgatory gathers before it is cleaned.
queued.max.request.bytes LONG = -1
    Bytes of requests read but not answered before reading stops; -1: no limit.
quota.window.num INT 1.. = 11
    Samples kept to measure clients against their quotas.
quota.window.size.seconds INT 1.. = 1
    How long one of those samples spans.
remote.fetch.max.wait.ms INT 1.. = 500
    How long a fetch waits for tiered storage.
remote.list.offsets.request.timeout.ms LONG 1.. = 30000
    How long a ListOffsets waits for tiered storage.
remote.log.index.file.cache.total.size.bytes LONG 1.. = 1073741824
    Disk space for indexes fetched from tiered storage.
remote.log.manager.copier.thread.pool.size INT 1.. = 10
    Threads that copy segments to tiered storage.
remote.log.manager.copy.max.bytes.per.second LONG 1.. = 9223372036854775807
    The most that is copied to tiered storage in a second.
remote.log.manager.copy.quota.window.num INT 1.. = 11
    Samples kept to measure those copies.
remote.log.manager.copy.quota.window.size.seconds INT 1.. = 1
    How long one of those samples spans.
remote.log.manager.expiration.thread.pool.size INT 1.. = 10
    Threads that remove expired segments from tiered storage.
remote.log.manager.fetch.max.bytes.per.second LONG 1.. = 9223372036854775807
    The most that is fetched from tiered storage in a second.
remote.log.manager.fetch.quota.window.num INT 1.. = 11
    Samples kept to measure those fetches.
remote.log.manager.fetch.quota.window.size.seconds INT 1.. = 1
    How long one of those samples spans.
remote.log.manager.follower.thread.pool.size INT 1.. = 2
    Threads for tiered partitions that this broker follows.
remote.log.manager.task.interval.ms LONG 1.. = 30000
    How often segments are looked over for copying to tiered storage.
remote.log.manager.thread.pool.size INT 1.. = 2
    Threads of tiered storage for all its work.
remote.log.metadata.custom.metadata.max.bytes INT 0.. = 128
    The most that a tiered storage plug-in may keep with a segment.
remote.log.metadata.manager.class.name STRING nonempty
    = org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager
    The Java class that keeps what is known of tiered segments.
remote.log.metadata.manager.class.path STRING
    Where that class is found.
remote.log.metadata.manager.impl.prefix STRING nonempty = rlmm.config.
    How the settings of that class begin.
remote.log.metadata.manager.listener.name STRING nonempty
    The listener by which that class reaches the brokers.
remote.log.reader.max.pending.tasks INT 1.. = 100
    Reads of tiered storage that may queue.
remote.log.reader.threads INT 1.. = 10
    Threads that read from tiered storage.
remote.log.storage.manager.class.name STRING nonempty
    The Java class that stores tiered segments.
remote.log.storage.manager.class.path STRING
    Where that class is found.
remote.log.storage.manager.impl.prefix STRING nonempty = rsm.config.
    How the settings of that class begin.
remote.log.storage.system.enable BOOLEAN = false
    Whether tiered storage is on.
replica.socket.receive.buffer.bytes INT = 65536
    SO_RCVBUF of the sockets that followers fetch with.
replica.socket.timeout.ms INT = 30000
    How long a follower's request may take on the wire.
replication.quota.window.num INT 1.. = 11
    Samples kept to measure throttled replication.
replication.quota.window.size.seconds INT 1.. = 1
    How long one of those samples spans.
sasl.client.callback.handler.class CLASS
    The Java class that answers a SASL client's questions, as for its name and secret.
sasl.kerberos.kinit.cmd STRING = /usr/bin/kinit
    Where Kerberos' kinit is.
sasl.kerberos.min.time.before.relogin LONG = 60000
    The least time between two logins with Kerberos.
sasl.kerberos.principal.to.local.rules LIST = DEFAULT
    How Kerberos principals become short names.
sasl.kerberos.service.name STRING
    The name that the broker's Kerberos principal has.
sasl.kerberos.ticket.renew.jitter DOUBLE = 0.05
    How much, by chance, renewals of tickets are put off.
sasl.kerberos.ticket.renew.window.factor DOUBLE = 0.8
    The part of a ticket's life after which it is renewed.
sasl.login.callback.handler.class CLASS
    The Java class that answers a login's questions.
sasl.login.class CLASS
    The Java class that logs in.
sasl.login.connect.timeout.ms INT
    How long a connection to the identity provider may take to open.
sasl.login.read.timeout.ms INT
    How long the identity provider may take to answer.
sasl.login.refresh.buffer.seconds SHORT = 300
    How long before its end a login is renewed at the latest.
sasl.login.refresh.min.period.seconds SHORT = 60
    A login is not renewed before it is this old.
sasl.login.refresh.window.factor DOUBLE = 0.8
    The part of a login's life after which it is renewed.
sasl.login.refresh.window.jitter DOUBLE = 0.05
    How much, by chance, renewals of logins are put off.
sasl.login.retry.backoff.max.ms LONG = 10000
    The longest pause between two tries to log in.
sasl.login.retry.backoff.ms LONG = 100
    The first pause before a login is tried again.
sasl.mechanism.controller.protocol STRING = GSSAPI
    The SASL mechanism between brokers and controllers.
sasl.oauthbearer.allow.unverified.audience BOOLEAN = false
    Whether tokens are taken when no audience is expected of them.
sasl.oauthbearer.allow.unverified.issuer BOOLEAN = false
    Whether tokens are taken when no issuer is expected of them.
sasl.oauthbearer.assertion.algorithm STRING ~ES256|RS256 = RS256
    How the assertion that is shown for a token is signed.
sasl.oauthbearer.assertion.claim.aud STRING
    The audience that the assertion claims.
sasl.oauthbearer.assertion.claim.exp.seconds INT 0..86400 = 300
    How long the assertion claims to hold.
sasl.oauthbearer.assertion.claim.iss STRING
    The issuer that the assertion claims.
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN = false
    Whether each assertion has an id of its own.
sasl.oauthbearer.assertion.claim.nbf.seconds INT 0..3600 = 60
    How far back the assertion claims to hold.
sasl.oauthbearer.assertion.claim.sub STRING
    The subject that the assertion claims.
sasl.oauthbearer.assertion.file STRING
    A file with an assertion made beforehand.
sasl.oauthbearer.assertion.private.key.file STRING
    The key that signs the assertion.
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD
    What unlocks that key.
sasl.oauthbearer.assertion.template.file STRING
    Header and claims that each assertion begins with.
sasl.oauthbearer.client.credentials.client.id STRING
    The name that a client shows for a token.
sasl.oauthbearer.client.credentials.client.secret PASSWORD
    The secret that goes with that name.
sasl.oauthbearer.clock.skew.seconds INT = 30
    How far the clocks of broker and identity provider may differ.
sasl.oauthbearer.expected.audience LIST =
    The audiences that a token may be for.
sasl.oauthbearer.expected.issuer STRING
    The issuer that a token must come from.
sasl.oauthbearer.jwks.endpoint.refresh.ms LONG = 3600000
    How often the identity provider's keys are fetched anew.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG = 10000
    The longest pause between two tries to fetch those keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG = 100
    The first pause before those keys are fetched again.
sasl.oauthbearer.jwks.endpoint.url STRING
    Where the identity provider's keys are.
sasl.oauthbearer.jwt.retriever.class CLASS
    = org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
    The Java class that fetches tokens.
sasl.oauthbearer.jwt.validator.class CLASS
    = org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
    The Java class that checks tokens.
sasl.oauthbearer.scope STRING
    The scope that a token is asked for.
sasl.oauthbearer.scope.claim.name STRING = scope
    The claim of a token that has its scope.
sasl.oauthbearer.sub.claim.name STRING = sub
    The claim of a token that has its subject.
sasl.oauthbearer.token.endpoint.url STRING
    Where tokens are asked for.
security.providers STRING
    Java classes that bring security algorithms.
share.coordinator.append.linger.ms INT -1.. = -1
    How long a share coordinator gathers records before it writes; -1: as long as it has work.
share.coordinator.cached.buffer.max.bytes INT 524288.. = 1048588
    The largest write buffer that a share coordinator keeps for use again.
share.coordinator.load.buffer.size INT 1.. = 5242880
    Bytes read at a time while a share coordinator loads.
share.coordinator.snapshot.update.records.per.snapshot INT 0..500 = 500
    Updates of a share partition before its state is written whole.
share.coordinator.state.topic.compression.codec INT 0..4 = 0
    The codec of __share_group_state by its number; 0: none.
share.coordinator.threads INT 1.. = 1
    Threads that run share coordinators.
share.coordinator.write.timeout.ms INT 1.. = 5000
    How long a share coordinator waits for the replicas of its partition.
share.fetch.purgatory.purge.interval.requests INT = 1000
    Finished share fetches that purgatory gathers before it is cleaned.
socket.connection.setup.timeout.max.ms LONG = 30000
    The longest time that a connection to another node may take to open.
socket.connection.setup.timeout.ms LONG = 10000
    How long the first try may take; later ones get more time.
ssl.allow.dn.changes BOOLEAN = false
    Whether a new certificate may have another distinguished name.
ssl.allow.san.changes BOOLEAN = false
    Whether a new certificate may have other alternative names.
ssl.engine.factory.class CLASS
    The Java class that makes TLS engines.
ssl.keymanager.algorithm STRING = SunX509
    Java's algorithm for managing keys.
ssl.principal.mapping.rules STRING = DEFAULT
    How the distinguished name of a certificate becomes a user's name.
ssl.provider STRING
    The Java security provider for TLS; not set: Java's own.
ssl.secure.random.implementation STRING
    Java's source of randomness for TLS.
ssl.trustmanager.algorithm STRING = PKIX
    Java's algorithm for trusting certificates.
telemetry.max.bytes INT 1.. = 1048576
    The largest push of client metrics that is taken.
transaction.abort.timed.out.transaction.cleanup.interval.ms INT 1.. = 10000
    How often transactions that have timed out are looked for.
transaction.two.phase.commit.enable BOOLEAN = false
    Whether transactions may take part in a two-phase commit, and never time out then.
"""
"""A line with name, type and, behind `=`, the default; then what it means."""
