package multihub

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"time"
)

const (
	fileMaxBytes         = 10 << 20
	uploadAnswerMaxBytes = 64 << 10
	scanPollMax          = 4 * time.Second
)

var secretForm = regexp.MustCompile("^[0-9a-f]{64}$")

// Client signs requests, verifies the signature of each answer before it uses it, and repeats what is harmless to repeat. Its
// methods return a *RefusalError for a signed refusal and a *TransportError without a signed answer. Goroutines can share it.
type Client struct {
	settings Settings
	http     *http.Client
}

// NewClient makes a client of one credential.
func NewClient(settings Settings) (*Client, error) {
	if !secretForm.MatchString(settings.Secret) {
		return nil, errors.New("the secret is not 64 lower-case hexadecimal characters")
	}
	if settings.Version != "v1" && settings.Version != "v2" {
		return nil, errors.New("the version is not v1 or v2")
	}
	settings.BaseURL = strings.TrimRight(settings.BaseURL, "/")
	orDefault(&settings.Timeout, 40*time.Second)
	orDefault(&settings.TriesMax, 5)
	orDefault(&settings.Wait, 250*time.Millisecond)
	orDefault(&settings.WaitMax, time.Minute)
	orDefault(&settings.Deadline, 3*time.Minute)
	if settings.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		// The signature covers the bytes as they were sent.
		transport.DisableCompression = true
		settings.Transport = transport
	}
	// A redirect would send a signed request to an address that nobody configured.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{settings, &http.Client{Transport: settings.Transport, CheckRedirect: stay}}, nil
}

func orDefault[T comparable](value *T, normal T) {
	var zero T
	if *value == zero {
		*value = normal
	}
}

// Call calls a method by its name. The request is any value that encoding/json writes as an object.
func (c *Client) Call(ctx context.Context, method string, request any) (json.RawMessage, error) {
	body, err := encode(method, request)
	if err != nil {
		return nil, err
	}
	send := func() (json.RawMessage, error) {
		return c.sendSigned(ctx, body, target{isWithdrawal: method == "payment.out"})
	}
	if methodKey(method) == "payment" {
		return send()
	}
	result, err := repeatedly(ctx, c.settings, time.Now(), send)
	return result, withOperation(err, body)
}

func call[R any](ctx context.Context, c *Client, method string, request any) (*R, error) {
	raw, err := c.Call(ctx, method, request)
	if err != nil {
		return nil, err
	}
	return decode[R](raw)
}

func decode[R any](raw json.RawMessage) (*R, error) {
	var result R
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, &TransportError{Reason: "malformed", Message: "the result has another form", Text: string(raw), Cause: err}
	}
	return &result, nil
}

func each[T any](ctx context.Context, c *Client, method string, request any) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		fields, err := fieldsOf(request)
		if err != nil {
			yield(nil, err)
			return
		}
		params, err := fieldsOf(fields["params"])
		if err != nil {
			yield(nil, err)
			return
		}
		for cursor := ""; ; {
			if cursor != "" {
				params["cursor"], _ = json.Marshal(cursor)
			}
			fields["params"], _ = json.Marshal(params)
			page, err := call[struct {
				Items      []T     `json:"items"`
				NextCursor *string `json:"next_cursor"`
			}](ctx, c, method, fields)
			if err == nil && page.NextCursor != nil && *page.NextCursor == cursor {
				err = errors.New("the list repeats a page")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for index := range page.Items {
				if !yield(&page.Items[index], nil) {
					return
				}
			}
			if page.NextCursor == nil {
				return
			}
			cursor = *page.NextCursor
		}
	}
}

// fieldsOf returns the fields of a request, each as JSON.
func fieldsOf(request any) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if raw, isRaw := request.(json.RawMessage); isRaw && raw == nil {
		return fields, nil
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(text, &fields)
}

// encode adds the name of the method and what the client fills in. The fields are sorted, so the same request has the same bytes.
func encode(method string, request any) ([]byte, error) {
	fields, err := fieldsOf(request)
	if err != nil {
		return nil, err
	}
	if methodKey(method) == "" {
		return nil, fmt.Errorf("there is no method %s", method)
	}
	fields["method"], _ = json.Marshal(method)
	if fields["params"] == nil {
		fields["params"] = json.RawMessage("{}")
	}
	if methodKey(method) == "operation_id" && fields["operation_id"] == nil {
		fields["operation_id"], _ = json.Marshal(newKey())
	}
	return json.Marshal(fields)
}

// withOperation notes the operation_id of a request on its error, because the client may have generated it.
func withOperation(err error, body []byte) error {
	var sent struct {
		OperationID string `json:"operation_id"`
	}
	_ = json.Unmarshal(body, &sent)
	var refusal *RefusalError
	var transport *TransportError
	if errors.As(err, &refusal) {
		refusal.OperationID = sent.OperationID
	} else if errors.As(err, &transport) {
		transport.OperationID = sent.OperationID
	}
	return err
}

func newKey() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

// ResendWebhook queues the callback of a payment with a final status again. An empty operationID means a new one.
func (c *Client) ResendWebhook(ctx context.Context, paymentID, operationID string) (*WebhookResendResult, error) {
	if operationID == "" {
		operationID = newKey()
	}
	body, err := json.Marshal(map[string]string{"payment_id": paymentID, "operation_id": operationID})
	if err != nil {
		return nil, err
	}
	path := ResendPath(paymentID)
	raw, err := repeatedly(ctx, c.settings, time.Now(), func() (json.RawMessage, error) {
		return c.sendSigned(ctx, body, target{path: path})
	})
	if err != nil {
		return nil, withOperation(err, body)
	}
	return decode[WebhookResendResult](raw)
}
