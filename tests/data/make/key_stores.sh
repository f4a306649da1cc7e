#!/usr/bin/env bash
# Makes key stores of Java's own format, JKS, by keytool (JDK 17): key_stores.sh FOLDER
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$1"
for_long=(-validity 36500)
hosts=(-ext "SAN=dns:localhost,ip:127.0.0.1")
tool() { # tool STORE PASSWORD WORDS...
  local store=$1 password=$2; shift 2
  keytool "$@" -noprompt -keystore "$store" -storetype JKS -storepass "$password" 2>/dev/null
}

# A key with a password of its own, and a chain of two.
tool authority.jks changeit -genkeypair -alias authority -keyalg EC -dname CN=authority -ext bc:c "${for_long[@]}" -keypass changeit
tool broker.jks changeit -genkeypair -alias broker -keyalg EC -dname CN=broker "${hosts[@]}" "${for_long[@]}" -keypass of-the-key
tool authority.jks changeit -exportcert -alias authority -file authority.der
tool broker.jks changeit -certreq -alias broker -keypass of-the-key -file broker.csr
tool authority.jks changeit -gencert -alias authority "${hosts[@]}" "${for_long[@]}" -infile broker.csr -outfile broker.der
tool broker.jks changeit -importcert -alias authority -file authority.der
tool broker.jks changeit -importcert -alias broker -keypass of-the-key -file broker.der

# Several keys; RSA's is the first by its alias.
for alias in alpha mid kafka1 kafka2; do
  tool several.jks changeit -genkeypair -alias "$alias" -keyalg EC -dname "CN=$alias" "${for_long[@]}" -keypass changeit
done
tool several.jks changeit -genkeypair -alias p -keyalg RSA -dname CN=rsa "${for_long[@]}" -keypass changeit

# Two that are trusted, and a password that is not ASCII.
tool broker.jks changeit -exportcert -alias broker -file broker.der
for alias in authority broker; do
  tool trust.jks "geheimnis-äß€" -importcert -alias "$alias" -file "$alias.der"
done
rm -f ./*.der ./*.csr authority.jks
