#!/bin/sh
# Make the passwords of this installation, each in a file of deploy/secrets; what is there stays as it is.
#   deploy/make-secrets.sh             passwords of PostgreSQL, Redis, Flower and the dashboard
#   deploy/make-secrets.sh --tls NAME  and certificates for the machine that the others call NAME
set -eu
umask 077
folder="${SECRETS_DIR:-$(dirname "$0")/secrets}"
days=825

# The folder keeps others of this machine out. The files are mounted one by one into containers whose users have
# other numbers, and those must be able to read them.
mkdir -p "$folder"
chmod 700 "$folder"

password() {
    test -s "$folder/$1" || head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$folder/$1"
    chmod 444 "$folder/$1"
}

password database_password
password redis_password
password flower_password
password dashboard_password

# Redis knows a digest of the password. Its user may do all that a crawl does and see
# which workers are connected, and not empty or reconfigure it.
digest=$(sha256sum < "$folder/redis_password" | cut -d ' ' -f 1)
test -s "$folder/redis_users" || cat > "$folder/redis_users" <<USERS
user default off
user sale_sofia on #$digest ~* &* +@all -@admin +client|list -flushall -flushdb
USERS
chmod 444 "$folder/redis_users"

test "${1:-}" = --tls || exit 0
name="${2:?--tls wants the name by which the other machines call this one}"
# Python 3.13 and newer refuse certificates that do not say what RFC 5280 demands: key usage and key identifiers.
test -s "$folder/ca.key" || openssl req -x509 -newkey rsa:3072 -nodes -sha256 -days "$days" \
    -subj "/CN=sale-sofia" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout "$folder/ca.key" -out "$folder/ca.crt" 2> /dev/null
case "$name" in
    *[!0-9.]*) kind=DNS ;;
    *) kind=IP ;;
esac
openssl req -newkey rsa:3072 -nodes -sha256 -subj "/CN=$name" \
    -keyout "$folder/server.key" -out "$folder/server.csr" 2> /dev/null
printf '%s\n' "subjectAltName=$kind:$name,DNS:redis,DNS:postgres" \
    subjectKeyIdentifier=hash authorityKeyIdentifier=keyid > "$folder/server.ext"
openssl x509 -req -sha256 -days "$days" -in "$folder/server.csr" -extfile "$folder/server.ext" \
    -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -CAcreateserial -out "$folder/server.crt" 2> /dev/null
cp -f "$folder/server.key" "$folder/redis.key"
cp -f "$folder/server.key" "$folder/postgres.key"
rm -f "$folder/server.csr" "$folder/server.ext" "$folder/server.key"
chmod 444 "$folder/ca.crt" "$folder/server.crt" "$folder/redis.key"
# PostgreSQL refuses a key that others may read: it must be root's, and readable for its own group (999).
chmod 640 "$folder/postgres.key"
if test "$(id -u)" -eq 0; then
    chown 0:999 "$folder/postgres.key"
else
    echo "run: sudo chown 0:999 $folder/postgres.key" >&2
fi
