"""Asks Kafka and Java what they make of texts of JAAS: make/jaas.py --out tests/config/jaas-answers.jsonl

Needs what `compat_tests/oracle/install` brings; no broker is started.
"""
import argparse
import itertools
import json
import random
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
KAFKA = HERE.parents[2] / "compat_tests" / "oracle" / "kafka"
ENTRIES = [
    'M required;', 'M REQUIRED;', 'M requisite;', 'M sufficient;', 'M Optional;', 'M needed;', 'M;', 'M', '', ' ', ';', '=',
    'M required', 'M required a=b', 'M required a=b;', 'M required a = b ;', 'M required a="b" c=\'d\';',
    'M required\n  a="b"\n  c="d";', 'M required\r\n  a="b"\r\n  c="d";', 'M required\r a="b";', 'M required a="b"; ', 'M required a="b";;',
    'M required a="b"; N optional c="d";', 'M required a="b" N optional;', 'M required a="b"c="d";', 'M required a=b,c=d;',
    'M required a=;', 'M required a;', 'M required a "b";', 'M required ="b";', 'M required a==b;', 'M required a=b=c;',
    'M required a=1;', 'M required a="1";', 'M required a=-1;', 'M required a=1b;', 'M required a=b1;', 'M required a=.5;',
    'M required a=b.c-d_e$f;', 'M required a=-b;', 'M required a=$b;', 'M required a=_b;', 'M required a=b*;', 'M required a=*;',
    'M required a=true;', 'M required 1="b";', 'M required a-b="c";', 'M required a.b="c";', 'M required "a b"="c";', 'M required user_1="c";',
    '"M" "required" "a"="b";', "'M' 'required' 'a'='b';", 'M required a="";', "M required a='';", 'M required a=";" b="=";',
    'M required a="b\\"c";', "M required a='b\\'c';", 'M required a="b\'c";', "M required a='b\"c';", 'M required a="b\\\\c";',
    'M required a="b\\nc\\td\\re\\ff\\bg\\ah\\vi";', 'M required a="b\\qc\\u0041";', 'M required a="\\101\\7\\77\\477\\08\\18";', 'M required a="\\0";',
    'M required a="b\nc";', 'M required a="b', 'M required a="b;', 'M required a="b\\', 'M required a="b\\\nc";', "M required a='b;\n;",
    '// x\nM required a="b"; // y', '/* x */ M /* y\n */ required a="b" /* ; */;', '/* M required;', '/ x\nM required;', 'M required a=b/c;', 'M required a=b//c\n;',
    'M required a="b//c/*d*/";', '/*/ M required; */ N optional;', '/**/M required;', '/*\n*/M required;', '/***/M required;', '# x\nM required;',
    'M required a="\u00e9\u20ac\U0001f600";', '\u00e9 required \u20ac=\U0001f600;', 'M required a=\u0080;', '\ufeffM required;', 'M required a="b" a="c";',
    'M required a="${a.property}";', 'M required a="x${/}y";', 'M required a="${no.property}";', 'M required a="${an.empty.property}";', 'M required a="x${an.empty.property}";',
    'M required a="${a.property";', 'M required a="${{a.property}}";', 'M required a="$a";', 'M required a=${a.property};', 'M required a="${a.property}${a.property}";', 'M required a="${}";',
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin-secret" user_admin="admin-secret" user_alice="a=b;c";',
    'org.apache.kafka.common.security.scram.ScramLoginModule required username=admin password=admin-secret;',
    'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="/etc/kafka.keytab" principal="kafka/h@R";',
    '{', '}', 'M { required;', '. required;', '- required;', '.. required;', '1.2.3 required;', 'M required a=1.2.3;', 'M required a=1-2;', 'M required a=--;',
]  # fmt: skip
FILES = [
    '', ' ', '// nothing', 'KafkaServer {};', 'KafkaServer { };', 'KafkaServer {}', 'KafkaServer', '{};', 'KafkaServer { M required; }',
    'KafkaServer { M required; }; KafkaClient { N optional a=b; };', 'KafkaServer { M required; N optional; };', 'KafkaServer { M required };',
    'KafkaServer { M required; }; KafkaServer { N required; };', 'x.KafkaServer { M required; };', 'a-b_$.KafkaServer { M required; };', '* { M required; };',
    '"KafkaServer" { M required; };', "'KafkaServer' { M required; };", 'KafkaServer M required;', 'KafkaServer { { M required; }; };', '1 { M required; };',
    'KafkaServer {\n  M required\n  a="b"\n  c=1;\n};', '/* x\n */\nKafkaServer {\n\n  M needed;\n};', 'KafkaServer { M required; };;', 'KafkaServer { M required; } x;',
]  # fmt: skip
LETTERS = ["M", "required", "a", "b", "=", ";", '"', "'", "\\", "/", "*", "{", "}", "1", ".", "-", "\n", " ", " ", "$", ",", "x=y", ";\n"]


def walks(seed: int) -> list[str]:
    chosen = random.Random(seed)
    made = []
    for _ in range(250):
        text = list(chosen.choice(['M required a="b" c=\'d\';', 'M required a=b /* c */ d="\\101\\n";', "M optional user_x=y; // z"]))
        for _ in range(chosen.randint(1, 3)):
            at = chosen.randrange(len(text) + 1)
            text[at : at + chosen.randint(0, 2)] = [chosen.choice(LETTERS)]
        made.append("".join(text))
    return list(dict.fromkeys(made))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path, required=True)
    out = options.parse_args().out
    texts = [*ENTRIES, *walks(1)]
    asked = [{"value": text} for text in texts]
    asked += [{"file": text} for text in itertools.chain(FILES, (f"KafkaServer {{ {text} }};" for text in texts))]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("\n".join(map(json.dumps, asked)))
        file.flush()
        told = subprocess.run([KAFKA, "java", HERE / "Jaas.java", file.name], check=True, capture_output=True, text=True)
    out.write_text("".join(json.dumps(json.loads(line)) + "\n" for line in told.stdout.splitlines()))


main()
