package multihub

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// isUnanswered says whether an error leaves open if the server has acted on the request.
func isUnanswered(err error) bool {
	var transport *TransportError
	if errors.As(err, &transport) {
		return true
	}
	// Something on the way sent the request twice, and the answer is about the second one: its nonce was used by the first.
	var refusal *RefusalError
	return errors.As(err, &refusal) && refusal.Code == nonceUsed
}

// isNotSent says whether the request has not left, because no connection was made.
func isNotSent(err error) bool {
	var transport *TransportError
	return errors.As(err, &transport) && transport.Reason == notSent
}

// isCredentialRefused says whether an unsigned answer refuses the credential. A server that does so once does so again.
func isCredentialRefused(err error) bool {
	var transport *TransportError
	return errors.As(err, &transport) && transport.Reason == credential
}

// waitAfter returns how long to wait before the request is sent again; false if it must not be, or no try or no time is left.
func (s Settings) waitAfter(err error, tries int, began time.Time) (time.Duration, bool) {
	canRepeat := isUnanswered(err)
	var wanted time.Duration
	var refusal *RefusalError
	if errors.As(err, &refusal) {
		canRepeat = canRepeat || refusal.Retry == "same_request" || refusal.Retry == "check_status"
		wanted = refusal.RetryAfter()
	}
	if !canRepeat || tries >= s.TriesMax || wanted > s.WaitMax {
		return 0, false
	}
	backoff := min(s.Wait<<min(tries-1, 30), s.WaitMax)
	// Clients that failed together must not come back together.
	wait := max(wanted, time.Duration(float64(backoff)*(0.5+rand.Float64()/2)))
	return wait, time.Since(began)+wait <= s.Deadline
}

// repeatedly repeats a request that is harmless to repeat until it has an answer that counts. It returns the error not_sent only
// if no try was sent; otherwise the error of a try that was.
func repeatedly[T any](ctx context.Context, s Settings, began time.Time, send func() (T, error)) (T, error) {
	var sent error
	for tries := 1; ; tries++ {
		result, err := send()
		if err == nil {
			return result, nil
		}
		wasNotSent := isNotSent(err)
		// A lost answer leaves more open than a refusal, so it is kept.
		if !wasNotSent && (isUnanswered(err) || !isUnanswered(sent)) {
			sent = err
		}
		wait, again := s.waitAfter(err, tries, began)
		if !again || isCredentialRefused(err) {
			if wasNotSent && sent != nil {
				return result, sent
			}
			return result, err
		}
		if err := pause(ctx, wait); err != nil {
			return result, err
		}
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
