// Package multihub is the client of the Multihub merchant API: signed requests, verified answers, payments that are never
// created twice.
package multihub

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
)

const (
	v1Path = "/public/api/multihub/v1"
	v2Path = "/public/api/multihub/v2"
)

// ReplayPair is the Unix time in seconds and the nonce of a request, which the server accepts once.
type ReplayPair struct {
	Timestamp string
	Nonce     string
}

// ResendPath is the path that queues the callback of a payment again.
func ResendPath(paymentID string) string {
	return "/api/v1/payments/" + url.PathEscape(paymentID) + "/webhook/resend"
}

func sha512Hex(parts ...string) string {
	hash := sha512.New()
	for _, part := range parts {
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func sha256Hex(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func hmac512(secret string, text ...string) string {
	mac := hmac.New(sha512.New, []byte(secret))
	for _, part := range text {
		mac.Write([]byte(part))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// equal compares in constant time.
func equal(expected, received string) bool {
	return hmac.Equal([]byte(expected), []byte(received))
}

// SignV1 returns the headers that sign a v1 request: a hash of its exact bytes.
func SignV1(applicationID int64, secret string, body []byte) map[string]string {
	return map[string]string{
		"X-Data-Application-Id": strconv.FormatInt(applicationID, 10),
		"X-Data-Hash":           sha512Hex(string(body), secret),
	}
}

// SignV2 returns the headers that sign a v2 request.
func SignV2(applicationID int64, secret string, body []byte, pair ReplayPair) map[string]string {
	id := strconv.FormatInt(applicationID, 10)
	lines := []string{"service-multihub-request-v2", id, "POST", v2Path, pair.Timestamp, pair.Nonce, sha256Hex(body)}
	return map[string]string{
		"X-Data-Application-Id": id,
		"X-Data-Timestamp":      pair.Timestamp,
		"X-Data-Nonce":          pair.Nonce,
		"X-Data-Signature":      hmac512(secret, strings.Join(lines, "\n")),
	}
}

// SignResend returns the headers that sign a request to the resend path, with a pair or without one.
func SignResend(applicationID int64, secret, path string, body []byte, pair *ReplayPair) map[string]string {
	if pair == nil {
		return SignV1(applicationID, secret, body)
	}
	lines := []string{"service-merchant-webhook-resend-v1", "POST", path, pair.Timestamp, pair.Nonce, "", ""}
	return map[string]string{
		"X-Data-Application-Id": strconv.FormatInt(applicationID, 10),
		"X-Data-Timestamp":      pair.Timestamp,
		"X-Data-Nonce":          pair.Nonce,
		"X-Data-Hash":           sha512Hex(strings.Join(lines, "\n"), string(body), secret),
	}
}

// VerifyV1 says whether the header X-Data-Hash of a v1 or resend response is right.
func VerifyV1(secret string, body []byte, signature string) bool {
	return equal(sha512Hex(string(body), secret), signature)
}

// V2Response is what the signature of a v2 response covers.
type V2Response struct {
	RequestNonce string
	RequestID    string
	HTTPStatus   int
	Body         []byte
}

// VerifyV2 says whether the header X-Data-Signature of a v2 response is right.
func VerifyV2(applicationID int64, secret string, response V2Response, signature string) bool {
	lines := []string{
		"service-multihub-response-v2",
		strconv.FormatInt(applicationID, 10),
		response.RequestNonce,
		response.RequestID,
		strconv.Itoa(response.HTTPStatus),
		sha256Hex(response.Body),
	}
	return equal(hmac512(secret, strings.Join(lines, "\n")), signature)
}

// WebhookSecret derives the secret of the callbacks to a payment's webhook_url from the API secret that created the payment.
func WebhookSecret(apiSecret string) string {
	mac := hmac.New(sha256.New, []byte(apiSecret))
	mac.Write([]byte("service:merchant-webhook-signing:v1"))
	return hex.EncodeToString(mac.Sum(nil))
}
