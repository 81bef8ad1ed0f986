package multihub

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// CallbackMaxBytes is the size of the largest callback.
	CallbackMaxBytes = 256 << 10
	callbackMaxAge   = 5 * time.Minute
)

var timestampForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)

// VerifyCallback verifies a callback over the exact bytes that arrived, and returns what it says. The secrets are those of the
// endpoint or of the webhook_url; two while one is rotated. Nothing is parsed before its signature is verified, in constant
// time. It returns a *CallbackError for everything that is not such a callback.
func VerifyCallback(header http.Header, body []byte, secrets []string, now time.Time) (*Callback, error) {
	if err := checkSecrets(secrets); err != nil {
		return nil, err
	}
	if len(body) > CallbackMaxBytes {
		return nil, &CallbackError{"too_large", "the body is larger than any callback"}
	}
	var values [4]string
	for index, name := range [4]string{"Timestamp", "Nonce", "Id", "Signature-V3"} {
		values[index] = header.Get("X-Webhook-" + name)
		if values[index] == "" {
			return nil, &CallbackError{"missing_header", "x-webhook-" + strings.ToLower(name) + " is missing"}
		}
	}
	isAuthentic := false
	for _, secret := range secrets {
		expected := hmac512(secret, values[0], ".", values[1], ".", values[2], ".", string(body))
		isAuthentic = equal(expected, values[3]) || isAuthentic
	}
	if !isAuthentic {
		return nil, &CallbackError{"signature", "the signature is wrong"}
	}
	sent, err := time.Parse(time.RFC3339Nano, values[0])
	if err != nil || !timestampForm.MatchString(values[0]) || now.Sub(sent).Abs() > callbackMaxAge {
		return nil, &CallbackError{"timestamp", "the callback is not of the last five minutes"}
	}
	var callback Callback
	if err := json.Unmarshal(body, &callback); err != nil {
		return nil, &CallbackError{"malformed", "the body is not a callback"}
	}
	return &callback, nil
}

func checkSecrets(secrets []string) error {
	if len(secrets) == 0 || slices.Contains(secrets, "") {
		return errors.New("a secret of the callbacks is missing")
	}
	return nil
}

// Key is what a receiver stores to handle a callback once. Refunds of one payment have the same ID, but different keys.
func (c *Callback) Key() string {
	payment := c.Data.Result.Payment
	if payment == nil {
		return c.ID
	}
	key := c.ID + "|" + payment.Status.Status
	for _, one := range payment.Operations {
		key += "|" + one.ID + "=" + one.Status.Status
	}
	return key
}

// CallbackHandler receives callbacks and hands the verified ones over. When handle returns an error, it is logged, the answer is
// 500, and Multihub sends the callback again. It panics without secrets.
func CallbackHandler(secrets []string, handle func(context.Context, *Callback) error) http.Handler {
	if err := checkSecrets(secrets); err != nil {
		panic(err)
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		writer.WriteHeader(statusOf(request, secrets, handle))
	})
}

func statusOf(request *http.Request, secrets []string, handle func(context.Context, *Callback) error) int {
	body, err := io.ReadAll(io.LimitReader(request.Body, CallbackMaxBytes+1))
	if err != nil {
		return http.StatusBadRequest
	}
	callback, err := VerifyCallback(request.Header, body, secrets, time.Now())
	var refused *CallbackError
	switch {
	case errors.As(err, &refused) && refused.Reason == "too_large":
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &refused) && refused.Reason == "malformed":
		return http.StatusBadRequest
	case refused != nil:
		return http.StatusUnauthorized
	case err == nil:
		err = handle(request.Context(), callback)
	}
	if err != nil {
		log.Printf("multihub: the callback was not handled: %v", err)
		return http.StatusInternalServerError
	}
	return http.StatusNoContent
}
