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
	nonceUsed = 3000
	duplicate = 6009
)

// CreatedPaymentResult is the payment as the create or the look-up showed it. Only the answer to a create shows Receiver.Bank.
type CreatedPaymentResult = PaymentInResult

type newPayment struct {
	method, destination, cID, currency string
	value, serviceID                   int64
	// accountID is the account of the recipient of a withdrawal.
	accountID string
}

// NewPayment is a PaymentInRequest or a PaymentOutRequest.
type NewPayment interface{ newPayment() newPayment }

func (r PaymentInRequest) newPayment() newPayment {
	p := r.Params.Payment
	return newPayment{"payment.in", "in", p.Identifiers.CID, p.Amount.Currency, p.Amount.Value, r.ServiceID, ""}
}

func (r PaymentOutRequest) newPayment() newPayment {
	p := r.Params.Payment
	return newPayment{"payment.out", "out", p.Identifiers.CID, p.Amount.Currency, p.Amount.Value, r.ServiceID, p.Receiver.Bank.Account.ID}
}

// CreatePayment creates a deposit or a withdrawal at most once, also when answers are lost. Keep the request until it returns;
// after a crash or an OutcomeUnknownError call ResumePayment with it.
func (c *Client) CreatePayment(ctx context.Context, request NewPayment) (*CreatedPaymentResult, error) {
	return c.createPayment(ctx, request, false)
}

// ResumePayment is CreatePayment for a request that may have been sent before, by a process that ended since.
func (c *Client) ResumePayment(ctx context.Context, request NewPayment) (*CreatedPaymentResult, error) {
	return c.createPayment(ctx, request, true)
}

// createPayment sends the same bytes until a signed answer says what became of the payment. After an answer that was lost it
// looks the payment up; if it does not exist yet, the look-up may have overtaken the create, so the same bytes are sent again.
// Only a signed refusal, or that no create has left, says that there is no payment; everything else ends in OutcomeUnknownError.
func (c *Client) createPayment(ctx context.Context, request NewPayment, mayExist bool) (*CreatedPaymentResult, error) {
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
	isSent := mayExist
	for tries := 1; ; tries++ {
		result, err := c.attempt(ctx, wanted.cID, body, target{isWithdrawal: wanted.destination == "out"})
		if err == nil {
			return result, nil
		}
		if ctx.Err() != nil {
			return nil, &OutcomeUnknownError{wanted.cID, err}
		}
		// After a try that was sent, another that was not proves nothing: the refusal of the first can be an older answer.
		isSent = isSent || !isNotSent(err)
		isUndecided := isUnanswered(err) && isSent || retryOf(err) == "check_status"
		mayExist = mayExist || isUndecided
		wait, again := c.settings.waitAfter(err, tries, began)
		if again {
			if stop := pause(ctx, wait); stop != nil {
				return nil, &OutcomeUnknownError{wanted.cID, stop}
			}
		}
		// On v1 the refusal can be the answer to an earlier request.
		mayBeStale := c.settings.Version == "v1" && !again && codeOf(err) != duplicate && isSent
		if mayExist || mayBeStale || codeOf(err) == duplicate {
			found, problem := repeatedly(ctx, c.settings, began, func() (*CreatedPaymentResult, error) {
				return c.attempt(ctx, wanted.cID, status, target{})
			})
			switch {
			case problem == nil:
				created, timeErr := time.Parse(time.RFC3339, found.Payment.Timestamps.Created)
				isRecent := timeErr == nil && created.After(began.Add(-recent))
				if wanted.isSame(found.Payment) && (mayExist || mayBeStale || isRecent) {
					return found, nil
				}
				if codeOf(err) != 0 {
					return nil, err
				}
			case isCredentialRefused(err) && isCredentialRefused(problem):
				return nil, &OutcomeUnknownError{wanted.cID, problem}
			case !again && codeOf(problem) != notFound && (mayExist || !isRefusedAlike(err, problem)):
				return nil, &OutcomeUnknownError{wanted.cID, problem}
			}
		}
		isLate := time.Since(began) > c.settings.Deadline
		if again && !isLate {
			continue
		}
		if isUndecided || mayExist && again {
			return nil, &OutcomeUnknownError{wanted.cID, err}
		}
		return nil, err
	}
}

// isRefusedAlike says whether the look-up was refused for the reason of the create: one that concerns any request, such as the
// credential (3xxx) or a field (9000).
func isRefusedAlike(err, problem error) bool {
	code := codeOf(err)
	return code == codeOf(problem) && (code/1000 == 3 || code == 9000)
}

// attempt sends one request. An answer about another payment is none: a v1 signature does not say to which request it belongs.
func (c *Client) attempt(ctx context.Context, cID string, body []byte, to target) (*CreatedPaymentResult, error) {
	raw, err := c.sendSigned(ctx, body, to)
	if err != nil {
		return nil, err
	}
	var result CreatedPaymentResult
	if json.Unmarshal(raw, &result) != nil || result.Payment.Identifiers.CID != cID {
		message := fmt.Sprintf("the answer is not about the payment %s", cID)
		return nil, &TransportError{Reason: "other_request", Message: message}
	}
	return &result, nil
}

// isSame says whether a payment is the wanted one, by all that its answer shows.
func (n newPayment) isSame(found CreatedPayment) bool {
	if found.ServiceID != 0 && found.ServiceID != n.serviceID {
		return false
	}
	receiver := found.Receiver
	isShown := n.accountID != "" && receiver != nil && receiver.BankAccount != nil && receiver.BankAccount.ID != ""
	if isShown && receiver.BankAccount.ID != n.accountID {
		return false
	}
	return found.Amount.Value == n.value && found.Amount.Currency == n.currency && found.Destination == n.destination
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
