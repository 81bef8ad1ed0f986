package multihub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// A duplicate that was created this long ago, by either clock, can be this very request, sent twice on the way.
	recent    = 5 * time.Minute
	notFound  = 6010
	duplicate = 6009
)

type newPayment struct {
	method, destination, cID, currency string
	value                              int64
}

// NewPayment is a PaymentInRequest or a PaymentOutRequest.
type NewPayment interface{ newPayment() newPayment }

func (r PaymentInRequest) newPayment() newPayment {
	p := r.Params.Payment
	return newPayment{"payment.in", "in", p.Identifiers.CID, p.Amount.Currency, p.Amount.Value}
}

func (r PaymentOutRequest) newPayment() newPayment {
	p := r.Params.Payment
	return newPayment{"payment.out", "out", p.Identifiers.CID, p.Amount.Currency, p.Amount.Value}
}

// CreatePayment creates a deposit or a withdrawal at most once, also when answers are lost. Keep the request until it returns;
// after a crash or an OutcomeUnknownError call ResumePayment with it.
func (c *Client) CreatePayment(ctx context.Context, request NewPayment) (*PaymentStatusResult, error) {
	return c.createPayment(ctx, request, false)
}

// ResumePayment is CreatePayment for a request that may have been sent before, by a process that ended since.
func (c *Client) ResumePayment(ctx context.Context, request NewPayment) (*PaymentStatusResult, error) {
	return c.createPayment(ctx, request, true)
}

// createPayment sends the same bytes until a signed answer says what became of the payment. After an answer that was lost it
// looks the payment up; if it does not exist yet, the look-up may have overtaken the create, so the same bytes are sent again.
// Only a signed refusal says that there is no payment; everything else ends in OutcomeUnknownError.
func (c *Client) createPayment(ctx context.Context, request NewPayment, mayExist bool) (*PaymentStatusResult, error) {
	wanted := request.newPayment()
	body, err := encode(wanted.method, request)
	if err != nil {
		return nil, err
	}
	var look PaymentStatusRequest
	look.Params.Payment.Identifiers.CID = wanted.cID
	status, err := encode("payment.status", look)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for tries := 1; ; tries++ {
		result, err := c.attempt(ctx, wanted.cID, body)
		if err == nil || ctx.Err() != nil {
			return result, unknownIf(ctx.Err(), wanted.cID, err)
		}
		isUndecided := c.settings.isUnanswered(err) || retryOf(err) == "check_status"
		mayExist = mayExist || isUndecided
		wait, again := c.settings.waitAfter(err, tries, began)
		if again {
			if stop := pause(ctx, wait); stop != nil {
				return nil, unknownIf(stop, wanted.cID, stop)
			}
		}
		if mayExist || codeOf(err) == duplicate {
			found, problem := repeatedly(ctx, c.settings, began, func() (*PaymentStatusResult, error) {
				return c.attempt(ctx, wanted.cID, status)
			})
			switch {
			case problem == nil:
				created, timeErr := time.Parse(time.RFC3339, found.Payment.Timestamps.Created)
				isRecent := timeErr == nil && !created.Before(began.Add(-recent))
				if wanted.isSame(found.Payment) && (mayExist || isRecent) {
					return found, nil
				}
				if codeOf(err) != 0 {
					return nil, err
				}
			case codeOf(problem) != notFound && !again:
				return nil, &OutcomeUnknownError{wanted.cID, problem}
			}
		}
		if !again {
			return nil, unknownIf(map[bool]error{true: err}[isUndecided], wanted.cID, err)
		}
	}
}

// attempt sends one request. An answer about another payment is none: a v1 signature does not say to which request it belongs.
func (c *Client) attempt(ctx context.Context, cID string, body []byte) (*PaymentStatusResult, error) {
	raw, err := c.sendSigned(ctx, body, "")
	if err != nil {
		return nil, err
	}
	var result PaymentStatusResult
	if json.Unmarshal(raw, &result) != nil || result.Payment.Identifiers.CID != cID {
		message := fmt.Sprintf("the answer is not about the payment %s", cID)
		return nil, &TransportError{Reason: "other_request", Message: message}
	}
	return &result, nil
}

func (n newPayment) isSame(found Payment) bool {
	return found.Amount.Value == n.value && found.Amount.Currency == n.currency && found.Destination == n.destination
}

// unknownIf wraps an error if the outcome of the create is open.
func unknownIf(open error, cID string, err error) error {
	if open == nil || err == nil {
		return err
	}
	return &OutcomeUnknownError{cID, err}
}

func codeOf(err error) int {
	var refusal *RefusalError
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return 0
}

func retryOf(err error) string {
	var refusal *RefusalError
	if errors.As(err, &refusal) {
		return refusal.Retry
	}
	return ""
}
