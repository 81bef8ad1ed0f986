// Runner drives the client for the tests in test/clients: one act per line of the input, one answer per line of the output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	multihub "example.com/multihub/client"
)

type act struct {
	Act, Method, Scheme, Secret, Body, Timestamp, Nonce, Path, Signature string
	Request                                                              json.RawMessage
	Resume                                                               bool
	ApplicationID                                                        string `json:"application_id"`
	RequestNonce                                                         string `json:"request_nonce"`
	RequestID                                                            string `json:"request_id"`
	HTTPStatus                                                           int    `json:"http_status"`
	PaymentID                                                            string `json:"payment_id"`
	OperationID                                                          string `json:"operation_id"`
	APISecret                                                            string `json:"api_secret"`
	HID                                                                  string `json:"h_id"`
	NowMs                                                                int64  `json:"now_ms"`
	StopMs                                                               int64  `json:"stop_ms"`
	ScanMs                                                               int64  `json:"scan_ms"`
	Callback                                                             multihub.Callback
	Headers                                                              map[string]string
	Secrets                                                              []string
	File                                                                 struct{ Purpose, Name, Mime_type, Text string }
	Settings                                                             struct {
		Base_url, Version, Secret                                                string
		Application_id, Timeout_ms, Tries_max, Wait_ms, Wait_max_ms, Deadline_ms int64
	}
}

var (
	client   *multihub.Client
	lock     sync.Mutex
	received = []string{}
	ctx      = context.Background()
)

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 8<<20)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var a act
		err := json.Unmarshal(input.Bytes(), &a)
		var result any
		if err == nil {
			result, err = do(a)
		}
		if err != nil {
			output.Encode(map[string]any{"error": errorOf(err)})
		} else {
			output.Encode(map[string]any{"result": result})
		}
	}
}

func do(a act) (any, error) {
	switch a.Act {
	case "settings":
		return use(a)
	case "create":
		return create(a)
	case "call":
		return client.Call(ctx, a.Method, a.Request)
	case "resend":
		return client.ResendWebhook(ctx, a.PaymentID, a.OperationID)
	case "each":
		var request multihub.TicketListRequest
		if err := json.Unmarshal(a.Request, &request); err != nil {
			return nil, err
		}
		return collect(client.TicketListEach(ctx, request))
	case "balance_text":
		shown, err := client.BalanceGet(ctx, multihub.BalanceGetRequest{})
		if err != nil {
			return nil, err
		}
		return strconv.FormatInt(shown.Balance.Amounts[0].Value, 10), nil
	case "upload":
		return client.UploadFile(ctx, multihub.File{
			Purpose: a.File.Purpose, Name: a.File.Name, MimeType: a.File.Mime_type,
			Content: []byte(a.File.Text), OperationID: a.OperationID, Scan: time.Duration(a.ScanMs) * time.Millisecond,
		})
	case "download":
		content, err := client.DownloadFile(ctx, a.HID)
		return string(content), err
	case "sign":
		return sign(a), nil
	case "check":
		if a.Scheme == "v1" {
			return multihub.VerifyV1(a.Secret, []byte(a.Body), a.Signature), nil
		}
		covered := multihub.V2Response{RequestNonce: a.RequestNonce, RequestID: a.RequestID, HTTPStatus: a.HTTPStatus, Body: []byte(a.Body)}
		return multihub.VerifyV2(idOf(a), a.Secret, covered, a.Signature), nil
	case "webhook_secret":
		return multihub.WebhookSecret(a.APISecret), nil
	case "verify":
		return verify(a)
	case "key":
		return a.Callback.Key(), nil
	case "serve":
		return serve(a)
	case "received":
		lock.Lock()
		defer lock.Unlock()
		return append([]string{}, received...), nil
	}
	return nil, fmt.Errorf("unknown act %s", a.Act)
}

func idOf(a act) int64 {
	id, _ := strconv.ParseInt(a.ApplicationID, 10, 64)
	return id
}

func use(a act) (shown string, err error) {
	s := a.Settings
	ms := func(value int64) time.Duration { return time.Duration(value) * time.Millisecond }
	settings := multihub.Settings{
		BaseURL: s.Base_url, ApplicationID: s.Application_id, Secret: s.Secret, Version: s.Version,
		Timeout: ms(s.Timeout_ms), TriesMax: int(s.Tries_max), Wait: ms(s.Wait_ms), WaitMax: ms(s.Wait_max_ms), Deadline: ms(s.Deadline_ms),
	}
	client, err = multihub.NewClient(settings)
	return fmt.Sprintf("%v %+v %#v %v %+v %#v", settings, settings, settings, client, client, client), err
}

func create(a act) (any, error) {
	var request multihub.NewPayment
	if a.Method == "payment.in" {
		var in multihub.PaymentInRequest
		if err := json.Unmarshal(a.Request, &in); err != nil {
			return nil, err
		}
		request = in
	} else {
		var out multihub.PaymentOutRequest
		if err := json.Unmarshal(a.Request, &out); err != nil {
			return nil, err
		}
		request = out
	}
	ctx := ctx
	if a.StopMs != 0 {
		stopped, cancel := context.WithTimeout(ctx, time.Duration(a.StopMs)*time.Millisecond)
		defer cancel()
		ctx = stopped
	}
	if a.Resume {
		return client.ResumePayment(ctx, request)
	}
	return client.CreatePayment(ctx, request)
}

func collect[T any](items iter.Seq2[*T, error]) (any, error) {
	all := []*T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

func sign(a act) map[string]string {
	body := []byte(a.Body)
	pair := multihub.ReplayPair{Timestamp: a.Timestamp, Nonce: a.Nonce}
	switch {
	case a.Scheme == "v1":
		return multihub.SignV1(idOf(a), a.Secret, body)
	case a.Scheme == "v2":
		return multihub.SignV2(idOf(a), a.Secret, body, pair)
	case a.Timestamp == "":
		return multihub.SignResend(idOf(a), a.Secret, a.Path, body, nil)
	}
	return multihub.SignResend(idOf(a), a.Secret, a.Path, body, &pair)
}

func verify(a act) (any, error) {
	header := http.Header{}
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	now := time.Now()
	if a.NowMs != 0 {
		now = time.UnixMilli(a.NowMs)
	}
	callback, err := multihub.VerifyCallback(header, []byte(a.Body), a.Secrets, now)
	if err != nil {
		return nil, err
	}
	if callback.ID == "" {
		return nil, nil
	}
	return callback.ID, nil
}

func serve(a act) (url any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%v", problem)
		}
	}()
	handler := multihub.CallbackHandler(a.Secrets, func(_ context.Context, callback *multihub.Callback) error {
		if strings.HasPrefix(callback.ID, "fail") {
			return errors.New("the store is away")
		}
		lock.Lock()
		defer lock.Unlock()
		received = append(received, callback.ID)
		return nil
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go http.Serve(listener, handler)
	return fmt.Sprintf("http://%s/callbacks", listener.Addr()), nil
}

func errorOf(err error) map[string]any {
	shown := map[string]any{"kind": "other", "message": err.Error()}
	var refusal *multihub.RefusalError
	var unknown *multihub.OutcomeUnknownError
	var transport *multihub.TransportError
	var callback *multihub.CallbackError
	// A refusal first: an unknown outcome must not match it.
	switch {
	case errors.As(err, &refusal):
		shown["kind"], shown["code"], shown["retry"] = "refusal", refusal.Code, refusal.Retry
		shown["operation_id"] = refusal.OperationID
	case errors.As(err, &transport):
		shown["kind"], shown["reason"], shown["text"] = "transport", transport.Reason, transport.Text
		shown["operation_id"] = transport.OperationID
	case errors.As(err, &unknown):
		shown["kind"] = "unknown"
		if errors.As(unknown.Cause, &transport) {
			shown["text"] = transport.Text
		}
	case errors.As(err, &callback):
		shown["kind"], shown["reason"] = "callback", callback.Reason
	}
	return shown
}
