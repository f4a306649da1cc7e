"""Who clients are: SASL, and how long what they have shown holds."""

from __future__ import annotations

from kafkalite.config.keys import INT, LIST, LONG, PASSWORD, STRING, ConfigKey, ConfigType

_OF_A_MECHANISM = "it acts as listener.name.NAME.MECHANISM."

SASL_KEYS = (
    ConfigKey(
        "sasl.enabled.mechanisms",
        LIST,
        "GSSAPI",
        "The SASL mechanisms that clients may use: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and"
        " OAUTHBEARER. Kafka differs: it speaks GSSAPI (Kerberos) too; here that is left out where"
        " there are others, and refused where it is the only one.",
    ),
    ConfigKey(
        "sasl.mechanism.inter.broker.protocol",
        STRING,
        "GSSAPI",
        "The SASL mechanism among brokers.",
    ),
    ConfigKey(
        "sasl.jaas.config",
        PASSWORD,
        None,
        f"The login of one mechanism, in the format of Java's JAAS; {_OF_A_MECHANISM}"
        "sasl.jaas.config alone.",
    ),
    ConfigKey(
        "kafkalite.java.security.auth.login.config",
        STRING,
        None,
        "A file of JAAS for the mechanisms that have no sasl.jaas.config, with a section"
        " KafkaServer, or NAME.KafkaServer for one listener. To Kafka it is an option of Java.",
    ),
    ConfigKey(
        "sasl.server.callback.handler.class",
        ConfigType.CLASS,
        None,
        "The Java class that checks what SASL clients say of themselves;"
        f" {_OF_A_MECHANISM}sasl.server.callback.handler.class alone. Kafka differs: it loads any;"
        " here it may only be the one that checks by default.",
    ),
    ConfigKey(
        "sasl.server.max.receive.size",
        INT,
        "524288",
        "The largest message of a SASL exchange, in bytes.",
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        LONG,
        "0",
        "How long a SASL session lasts before the client must authenticate anew; 0: for good. Also"
        " of one listener, and of one mechanism there.",
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        INT,
        "100",
        "How long a client that failed to authenticate waits for the answer, after which its"
        " connection closes.",
        minimum=0,
    ),
)
