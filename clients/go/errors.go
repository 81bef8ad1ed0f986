package multihub

import (
	"encoding/json"
	"fmt"
	"time"
)

// RefusalError is a signed answer that says no. Retry says what a program can do about it, by RetryFor.
type RefusalError struct {
	Code       int
	Message    string
	Details    json.RawMessage
	Context    json.RawMessage
	RequestID  string
	HTTPStatus int
	Retry      string
	// OperationID is the key of the request, given or generated; empty where the method has none.
	OperationID string
}

func (e *RefusalError) Error() string {
	var details struct {
		Description string `json:"description"`
	}
	if json.Unmarshal(e.Details, &details) == nil && details.Description != "" {
		return fmt.Sprintf("%d: %s (%s)", e.Code, e.Message, details.Description)
	}
	return fmt.Sprintf("%d: %s", e.Code, e.Message)
}

// RetryAfter is how long the answer asks to wait.
func (e *RefusalError) RetryAfter() time.Duration {
	var details struct {
		Seconds int64 `json:"retry_after_seconds"`
	}
	if json.Unmarshal(e.Details, &details) != nil {
		return 0
	}
	return time.Duration(details.Seconds) * time.Second
}

// TransportError says that no signed answer arrived, so whether the server has acted is not known, except that it has not when
// Reason is not_sent: no connection was made. Other reasons are no_answer, timeout, credential, unsigned, too_large, malformed or other_request; Text is what arrived instead, which proves nothing.
// credential is an unsigned refusal of the signature or the application id: when it stays, one of the two is wrong.
type TransportError struct {
	Reason     string
	Message    string
	HTTPStatus int
	Text       string
	Cause      error
	// OperationID is the key of the request, given or generated; empty where the method has none.
	OperationID string
}

func (e *TransportError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Cause }

// OutcomeUnknownError says that no signed answer says whether the payment was created. It may exist. Call ResumePayment later
// with the same request; never create it under another c_id. Cause is what the last request came to. errors.As does not look
// into it: an unknown outcome is not the refusal that its look-up met.
type OutcomeUnknownError struct {
	CID   string
	Cause error
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("the payment %s may exist; resume it under the same c_id: %v", e.CID, e.Cause)
}

// CallbackError is a request that is not a callback of Multihub, or not one of the last five minutes. Reason is too_large,
// missing_header, signature, timestamp or malformed.
type CallbackError struct {
	Reason  string
	Message string
}

func (e *CallbackError) Error() string { return e.Message }
