// SPDX-License-Identifier: Apache-2.0
#include "comm/network/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "base/error.h"

namespace loomix::comm {
namespace {

constexpr size_t kReadAhead = size_t{128} << 10;  // of the system in one call; many records
constexpr const char* kCiphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr Role kRoles[] = {Role::scheduler, Role::server, Role::worker};

using Certificate = Openssl<X509, X509_free>;
using Key = Openssl<EVP_PKEY, EVP_PKEY_free>;
using Memory = Openssl<BIO, BIO_free_all>;

std::string last_error() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason ? reason : "no reason was given";
  ERR_clear_error();
  return text;
}

Memory reader(const std::string& text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is asked for a password.
int no_password(char*, int, int, void*) { return 0; }

std::vector<Certificate> certificates_in(const std::string& text) {
  std::vector<Certificate> all;
  const Memory from = reader(text);
  while (X509* const one = PEM_read_bio_X509(from.get(), nullptr, no_password, nullptr))
    all.emplace_back(one);
  ERR_clear_error();
  return all;
}

}  // namespace

TlsContext::TlsContext(const Keys& keys) : context_(SSL_CTX_new(TLS_method())) {
  SSL_CTX* const context = context_.get();
  LOOMIX_CHECK(context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                   SSL_CTX_set_ciphersuites(context, kCiphers) == 1,
               ValueError, "[comm] this machine's OpenSSL has no TLS 1.3: {}.", last_error());
  // Nothing is resumed: who was refused once is looked at anew.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAhead);

  const std::vector<Certificate> trusted = certificates_in(keys.authority);
  LOOMIX_CHECK(!trusted.empty(), ValueError,
               "[comm] the authority's file has no certificate; expected text that begins with -----BEGIN "
               "CERTIFICATE-----.");
  for (const Certificate& one : trusted) X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get());
  std::vector<Certificate> own = certificates_in(keys.own);
  const Memory from = reader(keys.own);
  const Key key(PEM_read_bio_PrivateKey(from.get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  LOOMIX_CHECK(
      !own.empty() && key, ValueError,
      "[comm] this node's keys lack {}; expected a private key without a password, and its certificate.",
      own.empty() ? "a certificate" : "a private key");
  LOOMIX_CHECK(SSL_CTX_use_certificate(context, own[0].get()) == 1 &&
                   SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1,
               ValueError, "[comm] this node's private key and certificate do not fit: {}.", last_error());
  for (size_t i = 1; i < own.size(); ++i) SSL_CTX_add0_chain_cert(context, own[i].release());
}

std::string tls_fault(SSL* connection) {
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  const std::string text = last_error();
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return fmt::format("its certificate is not accepted ({})",
                         X509_verify_cert_error_string(SSL_get_verify_result(connection)));
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return "it has no certificate";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST: return "it does not use TLS: it has no keys, or is no peer";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return "it does not use TLS 1.3";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return fmt::format("it does not accept this node's certificate ({})", text);
    default: return fmt::format("TLS failed ({})", text);
  }
}

std::vector<Role> roles_of_peer(SSL* connection) {
  std::vector<Role> roles;
  const Certificate certificate(SSL_get1_peer_certificate(connection));
  if (!certificate) return roles;
  const Openssl<GENERAL_NAMES, GENERAL_NAMES_free> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                                static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    for (const Role role : kRoles) {
      if (text == name_of(role)) roles.push_back(role);
    }
  }
  return roles;
}

// New keys. Their times are chosen so that no clock matters.

namespace {

void check(bool good) { LOOMIX_CHECK(good, NetworkError, "[comm] no keys can be made: {}.", last_error()); }

Key new_key() {
  Key key(EVP_EC_gen("P-256"));
  check(key != nullptr);
  return key;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Openssl<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  check(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

// `issuer` null: signed by itself.
Certificate new_certificate(EVP_PKEY* key, const std::string& name, const std::string& roles, X509* issuer,
                            EVP_PKEY* signer) {
  Certificate made(X509_new());
  X509* const c = made.get();
  const Openssl<BIGNUM, BN_free> serial(BN_new());
  constexpr int kSerialBits = 127;
  check(c && serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
        BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(c)) != nullptr &&
        X509_set_version(c, X509_VERSION_3) == 1 &&
        ASN1_TIME_set_string_X509(X509_getm_notBefore(c), "19700101000000Z") == 1 &&
        ASN1_TIME_set_string_X509(X509_getm_notAfter(c), "99991231235959Z") == 1 &&
        X509_set_pubkey(c, key) == 1);
  X509_NAME* const subject = X509_get_subject_name(c);
  check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char*>(name.data()),
                                   static_cast<int>(name.size()), -1, 0) == 1 &&
        X509_set_issuer_name(c, issuer ? X509_get_subject_name(issuer) : subject) == 1);
  X509* const by = issuer ? issuer : c;
  extend(c, by, NID_subject_key_identifier, "hash");
  if (issuer) extend(c, by, NID_authority_key_identifier, "keyid");
  extend(c, by, NID_basic_constraints, issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
  extend(c, by, NID_key_usage, issuer ? "critical,digitalSignature" : "critical,keyCertSign");
  if (!roles.empty()) extend(c, by, NID_subject_alt_name, roles);
  check(X509_sign(c, signer, EVP_sha256()) > 0);
  return made;
}

std::string text_of(const Memory& memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace

NewKeys make_keys(const std::vector<std::vector<Role>>& roles) {
  NewKeys made;
  const Key signer = new_key();
  const Certificate authority =
      new_certificate(signer.get(), "Loomix cluster's authority", {}, nullptr, signer.get());
  const Memory out(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_X509(out.get(), authority.get()) == 1);
  made.authority = text_of(out);
  for (const std::vector<Role>& of_one : roles) {
    std::string names, title;
    for (const Role role : of_one) {
      names += fmt::format("{}DNS:{}", names.empty() ? "" : ",", name_of(role));
      title += fmt::format("{}{}", title.empty() ? "" : ", ", name_of(role));
    }
    const Key key = new_key();
    const Certificate certificate =
        new_certificate(key.get(), "Loomix " + title, names, authority.get(), signer.get());
    const Memory own(BIO_new(BIO_s_mem()));
    check(PEM_write_bio_PrivateKey(own.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1 &&
          PEM_write_bio_X509(own.get(), certificate.get()) == 1);
    made.own.push_back(text_of(own));
  }
  return made;
}

}  // namespace loomix::comm
