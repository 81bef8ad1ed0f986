package multihub

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	answerMaxBytes = 16 << 20
	textMax        = 2000
	// credential is the reason of an unsigned refusal of the credential.
	credential = "credential"
	// notSent is the reason when no connection was made.
	notSent = "not_sent"
)

// Settings is what a client knows. A zero value of the last six means the default.
type Settings struct {
	BaseURL       string
	ApplicationID int64
	Secret        string
	// Version is "v1" or "v2": a credential works with one of them.
	Version string
	// Timeout is the time for one answer: 40 seconds, because creating a payment can take 35.
	Timeout time.Duration
	// TriesMax is how often a request is sent at most: 5.
	TriesMax int
	// Wait is the first wait, 250 ms; each further one is twice as long.
	Wait time.Duration
	// WaitMax is the longest wait, one minute. An answer that asks for more is passed on to the caller.
	WaitMax time.Duration
	// Deadline is the time after which no try begins: three minutes.
	Deadline time.Duration
	// Transport carries the requests.
	Transport http.RoundTripper
}

// String leaves the secret out.
func (s Settings) String() string {
	return fmt.Sprintf("%s application %d at %s", s.Version, s.ApplicationID, s.BaseURL)
}

// GoString leaves the secret out.
func (s Settings) GoString() string { return s.String() }

// String leaves the secret out.
func (c *Client) String() string { return c.settings.String() }

// GoString leaves the secret out.
func (c *Client) GoString() string { return c.settings.String() }

// target says where a signed request goes. Without a path it is the path of the version.
type target struct {
	path         string
	isWithdrawal bool
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) text() string {
	return strings.ToValidUTF8(string(a.body[:min(len(a.body), textMax)]), "\uFFFD")
}

// sendSigned sends one signed request and returns the result of the answer. The signature of the answer is verified before
// anything in it is used.
func (c *Client) sendSigned(ctx context.Context, body []byte, to target) (json.RawMessage, error) {
	s := c.settings
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	pair := ReplayPair{strconv.FormatInt(time.Now().Unix(), 10), hex.EncodeToString(nonce)}
	isV2 := s.Version == "v2"
	var headers map[string]string
	path := to.path
	switch {
	case to.path != "":
		headers = SignResend(s.ApplicationID, s.Secret, path, body, &pair)
	case isV2:
		path, headers = v2Path, SignV2(s.ApplicationID, s.Secret, body, pair)
	default:
		path, headers = v1Path, SignV1(s.ApplicationID, s.Secret, body)
	}
	if to.isWithdrawal && !isV2 {
		// The v1 hash does not cover the pair, but a withdrawal that is sent twice on the way is refused by its nonce.
		headers["X-Data-Timestamp"], headers["X-Data-Nonce"] = pair.Timestamp, pair.Nonce
	}
	headers["Content-Type"] = "application/json"
	got, err := c.exchange(ctx, http.MethodPost, s.BaseURL+path, headers, body, answerMaxBytes)
	if err != nil {
		return nil, err
	}
	var isSigned bool
	if isV2 && to.path == "" {
		covered := V2Response{pair.Nonce, got.header.Get("X-Request-ID"), got.status, got.body}
		isSigned = VerifyV2(s.ApplicationID, s.Secret, covered, got.header.Get("X-Data-Signature"))
	} else {
		isSigned = VerifyV1(s.Secret, got.body, got.header.Get("X-Data-Hash"))
	}
	if !isSigned {
		return nil, unsigned(got)
	}
	return resultOf(got)
}

func unsigned(got answer) error {
	var claim struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	reason, hint := "unsigned", ""
	// The refusals that the server does not sign, because it does not know whose secret to sign them with.
	if json.Unmarshal(got.body, &claim) == nil && claim.Error.Code >= 3000 && claim.Error.Code <= 3003 {
		reason, hint = credential, "; check the secret and the application id first"
	}
	message := fmt.Sprintf("HTTP %d: the answer is not signed with this secret%s: %s", got.status, hint, got.text())
	return &TransportError{Reason: reason, Message: message, HTTPStatus: got.status, Text: got.text()}
}

func resultOf(got answer) (json.RawMessage, error) {
	var envelope struct {
		Success *bool           `json:"success"`
		Result  json.RawMessage `json:"result"`
		Error   *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
			Context json.RawMessage `json:"context"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	err := json.Unmarshal(got.body, &envelope)
	if err != nil || envelope.Success == nil || (!*envelope.Success && envelope.Error == nil) {
		message := fmt.Sprintf("HTTP %d: the answer is not an envelope", got.status)
		return nil, &TransportError{Reason: "malformed", Message: message, HTTPStatus: got.status, Text: got.text(), Cause: err}
	}
	if *envelope.Success {
		return envelope.Result, nil
	}
	refusal := envelope.Error
	return nil, &RefusalError{
		Code:       refusal.Code,
		Message:    refusal.Message,
		Details:    refusal.Details,
		Context:    refusal.Context,
		RequestID:  envelope.RequestID,
		HTTPStatus: got.status,
		Retry:      RetryFor(refusal.Code),
	}
}

// exchange sends a request within the time limit and reads at most maxBytes of the answer. It follows no redirect.
func (c *Client) exchange(
	ctx context.Context, method, url string, headers map[string]string, body []byte, maxBytes int64,
) (answer, error) {
	limited, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	var isSent atomic.Bool
	// Another transport than that of net/http need not call the trace, and then nothing says that the request has not left.
	if _, isTraced := c.http.Transport.(*http.Transport); isTraced || c.http.Transport == nil {
		gotConn := func(httptrace.GotConnInfo) { isSent.Store(true) }
		limited = httptrace.WithClientTrace(limited, &httptrace.ClientTrace{GotConn: gotConn})
	} else {
		isSent.Store(true)
	}
	failure := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !isSent.Load() {
			return &TransportError{Reason: notSent, Message: fmt.Sprintf("no connection: %v", err), Cause: err}
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return &TransportError{Reason: "timeout", Message: fmt.Sprintf("no answer within %v", c.settings.Timeout), Cause: err}
		}
		return &TransportError{Reason: "no_answer", Message: fmt.Sprintf("no answer: %v", err), Cause: err}
	}
	request, err := http.NewRequestWithContext(limited, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, failure(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	if err != nil {
		return answer{}, failure(err)
	}
	if int64(len(content)) > maxBytes {
		return answer{}, &TransportError{Reason: "too_large", Message: fmt.Sprintf("the answer has more than %d bytes", maxBytes)}
	}
	return answer{response.StatusCode, response.Header, content}, nil
}
