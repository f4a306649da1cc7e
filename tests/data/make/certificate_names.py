"""Asks Java how it writes distinguished names: make/certificate_names.py --out tests/security/certificate-names.jsonl"""
import argparse
import base64
import json
import subprocess
import warnings
from pathlib import Path

from cryptography.x509 import Name, NameAttribute as A, ObjectIdentifier, RelativeDistinguishedName
from cryptography.x509.name import _ASN1Type as T
from cryptography.x509.oid import NameOID as N

HERE = Path(__file__).parent
KAFKA = HERE.parents[2] / "compat_tests" / "oracle" / "kafka"
warnings.simplefilter("ignore")  # For texts of unusual lengths.


def one(*attributes):
    return [RelativeDistinguishedName([each]) for each in attributes]


NAMES = [
 one(A(N.COUNTRY_NAME,"DE"),A(N.STATE_OR_PROVINCE_NAME,"S"),A(N.LOCALITY_NAME,"L"),A(N.ORGANIZATION_NAME,"O"),A(N.ORGANIZATIONAL_UNIT_NAME,"OU"),A(N.COMMON_NAME,"alice")),
 one(A(N.STREET_ADDRESS,"St 1"),A(N.DOMAIN_COMPONENT,"example"),A(N.USER_ID,"u1"),A(N.COMMON_NAME,"a")),
 one(A(N.COMMON_NAME,"a"),A(N.EMAIL_ADDRESS,"a@b.c")),
 one(A(N.SURNAME,"Sur"),A(N.GIVEN_NAME,"Gï"),A(N.SERIAL_NUMBER,"12"),A(N.TITLE,"T"),A(N.DN_QUALIFIER,"q")),
 one(A(N.COMMON_NAME,' lead')),one(A(N.COMMON_NAME,'trail ')),one(A(N.COMMON_NAME,'  two  ')),one(A(N.COMMON_NAME,'#hash')),one(A(N.COMMON_NAME,'a,b+c"d\\e<f>g;h=i/j')),
 one(A(N.COMMON_NAME,' ')),one(A(N.COMMON_NAME,'a  b')),one(A(N.COMMON_NAME,'Zoë €😀')),one(A(N.COMMON_NAME,'a\x00b')),one(A(N.COMMON_NAME,'a\nb\x7f')),
 one(A(N.COMMON_NAME,'bmp ä',T.BMPString)),one(A(N.COMMON_NAME,'t61',T.T61String)),one(A(N.COMMON_NAME,'prn',T.PrintableString)),one(A(N.COMMON_NAME,'ia5',T.IA5String)),one(A(N.COMMON_NAME,'vis',T.VisibleString)),one(A(N.COMMON_NAME,'unib',T.UniversalString)),one(A(N.EMAIL_ADDRESS,"ä@b.c",T.UTF8String)),
 [RelativeDistinguishedName([A(N.COMMON_NAME,"x"),A(N.ORGANIZATIONAL_UNIT_NAME,"y")]),RelativeDistinguishedName([A(N.ORGANIZATION_NAME,"z")])],
 [RelativeDistinguishedName([A(N.USER_ID,"b"),A(N.COMMON_NAME,"a"),A(N.EMAIL_ADDRESS,"e@f")])],
 one(A(ObjectIdentifier("1.2.3.4"),"custom")),one(A(N.COMMON_NAME,"n"*64)), one(A(N.COMMON_NAME,"a"),A(N.COMMON_NAME,"b")), one(A(ObjectIdentifier("1.2.3.4"),"c"*200)),
one(A(N.COMMON_NAME,'a#b#')),one(A(N.COMMON_NAME,'\r x \r')),one(A(N.COMMON_NAME,'   ')),one(A(N.COMMON_NAME,'#')),
 [],
]

options = argparse.ArgumentParser()
options.add_argument("--out", type=Path, required=True)
out = options.parse_args().out
asked = [Name(name).public_bytes().hex() for name in NAMES]
told = subprocess.run(
    [KAFKA, "java", HERE / "CertificateNames.java"], input="\n".join(asked), check=True, capture_output=True, text=True
).stdout.splitlines()
rows = [{"subject": subject, "name": base64.b64decode(name).decode()} for subject, name in zip(asked, told, strict=True)]
out.write_text("".join(json.dumps(row) + "\n" for row in rows))
