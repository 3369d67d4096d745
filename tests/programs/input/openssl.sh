# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# openssl under test, on the file "in". Keys are random: of them only what must hold of any key is printed.
set -euo pipefail
openssl dgst -sha256 -r in
openssl enc -aes-256-ctr -in in -out sealed -iv 000102030405060708090a0b0c0d0e0f \
    -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
openssl dgst -sha512 -r sealed
openssl enc -base64 -in in | openssl md5 -r
openssl asn1parse -genstr UTF8:lido

openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=lido 2> dots
openssl verify -CAfile cert cert
openssl x509 -in cert -pubkey -noout > public
openssl dgst -sha256 -sign key -out signature in
openssl dgst -sha256 -verify public -signature signature in
openssl ecparam -name prime256v1 -genkey -noout -out ec
openssl ec -in ec -check -noout 2>&1 | tail -n 1
