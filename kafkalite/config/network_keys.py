"""Who a broker is, where it listens, and what it takes from a connection."""

from __future__ import annotations

from kafkalite.config.keys import INT, LIST, LONG, PASSWORD, STRING, ConfigKey

NETWORK_KEYS = (
    ConfigKey(
        "node.id",
        INT,
        "1",
        "This broker's number in the cluster. Kafka differs: it has no default.",
        minimum=0,
    ),
    ConfigKey("broker.id", INT, "-1", "The older name of node.id; -1: not set."),
    ConfigKey(
        "inter.broker.listener.name",
        STRING,
        None,
        "The listener that brokers use among themselves.",
    ),
    ConfigKey("broker.rack", STRING, None, "The rack that replicas are spread over."),
    ConfigKey(
        "listeners",
        LIST,
        "PLAINTEXT://:9092",
        "Where to listen: NAME://host:port.",
        may_be_empty=False,
    ),
    ConfigKey(
        "advertised.listeners",
        LIST,
        None,
        "What clients are told to connect to; not set: the address that each has reached."
        " Kafka differs: not set, it is the listeners.",
        may_be_empty=False,
    ),
    ConfigKey(
        "controller.listener.names",
        LIST,
        None,
        "Names of listeners that controllers use among themselves. Kafka differs: its controllers"
        " listen on them; here the broker is its own controller, and nobody connects to it. A"
        " controller alone listens, and answers nothing but ApiVersions.",
        may_be_empty=False,
    ),
    ConfigKey(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "The security protocol of each listener's name: NAME:PROTOCOL.",
    ),
    ConfigKey(
        "security.inter.broker.protocol",
        STRING,
        "PLAINTEXT",
        "The security protocol among brokers, where no listener is named for it.",
        one_of=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    ConfigKey(
        "ssl.keystore.type",
        STRING,
        "JKS",
        "The format of ssl.keystore.location: JKS or PKCS12, which mean one another too, since the"
        " file says which it is; or PEM.",
    ),
    ConfigKey("ssl.keystore.location", STRING, None, "The file with key and certificates."),
    ConfigKey("ssl.keystore.password", PASSWORD, None, "What unlocks that file."),
    ConfigKey(
        "ssl.key.password",
        PASSWORD,
        None,
        "What unlocks the private key; not set: what unlocks the file.",
    ),
    ConfigKey("ssl.keystore.key", PASSWORD, None, "The private key, in PEM."),
    ConfigKey(
        "ssl.keystore.certificate.chain", PASSWORD, None, "The certificates that are shown, in PEM."
    ),
    ConfigKey(
        "ssl.truststore.type",
        STRING,
        "JKS",
        "The format of ssl.truststore.location; as ssl.keystore.type.",
    ),
    ConfigKey(
        "ssl.truststore.location",
        STRING,
        None,
        "The file with the certificates that are trusted; not set: those that the system trusts.",
    ),
    ConfigKey(
        "ssl.truststore.password",
        PASSWORD,
        None,
        "What unlocks that file; JKS can be read without, and is not checked for damage then.",
    ),
    ConfigKey(
        "ssl.truststore.certificates", PASSWORD, None, "The certificates that are trusted, in PEM."
    ),
    ConfigKey(
        "ssl.client.auth",
        STRING,
        "none",
        "Whether TLS clients must, may or need not show a certificate.",
        one_of=("required", "requested", "none"),
    ),
    ConfigKey(
        "ssl.enabled.protocols",
        LIST,
        "TLSv1.2,TLSv1.3",
        "The versions of TLS that may be used. Older ones than TLSv1.2 are passed over, as Java"
        " does by default.",
    ),
    ConfigKey(
        "ssl.protocol",
        STRING,
        "TLSv1.3",
        "The newest version of TLS that this broker speaks as another's client.",
    ),
    ConfigKey(
        "ssl.cipher.suites",
        LIST,
        "",
        "The TLS cipher suites that may be used, by Java's names; empty: all good ones."
        " Kafka differs: of TLSv1.3 it takes some; here it is all of its suites or none.",
    ),
    ConfigKey(
        "ssl.endpoint.identification.algorithm",
        STRING,
        "https",
        "How another broker's name is held against its certificate; empty: it is not.",
    ),
    ConfigKey(
        "socket.request.max.bytes",
        INT,
        "104857600",
        "The largest request taken; a larger one closes the connection.",
        minimum=1,
    ),
    ConfigKey(
        "socket.send.buffer.bytes",
        INT,
        "262144",
        "SO_SNDBUF of client sockets; -1: the system's. Kafka differs: 102400, with which large"
        " fetches take more time here.",
    ),
    ConfigKey(
        "socket.receive.buffer.bytes",
        INT,
        "102400",
        "SO_RCVBUF of client sockets; -1: the system's.",
    ),
    ConfigKey(
        "socket.listen.backlog.size",
        INT,
        "1024",
        "Connections that may wait to be accepted. Kafka differs: 50, for which a thousand clients"
        " at once wait many seconds.",
        minimum=1,
    ),
    ConfigKey(
        "connections.max.idle.ms", LONG, "600000", "Close a connection that was silent so long."
    ),
    ConfigKey("max.connections", INT, "2147483647", "Connections open at once.", minimum=0),
    ConfigKey(
        "max.connections.per.ip",
        INT,
        "2147483647",
        "Connections open at once from one address; 0 only with overrides.",
        minimum=0,
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        "Other limits for some addresses: HOST:COUNT,HOST:COUNT.",
    ),
    ConfigKey(
        "queued.max.requests", INT, "500", "Requests read but not answered, in all.", minimum=1
    ),
    ConfigKey("request.timeout.ms", INT, "30000", "How long this broker waits for another."),
)
