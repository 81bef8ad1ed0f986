package multihub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// File is a file to upload.
type File struct {
	// Purpose is "ticket" or "ticket_comment".
	Purpose  string
	Name     string
	MimeType string
	Content  []byte
	// OperationID is the idempotency key; empty means a new one. With the same one and the same file, an interrupted upload
	// goes on.
	OperationID string
	// Scan is how long to wait until the file is scanned; zero means one minute.
	Scan time.Duration
}

// UploadFile uploads a file and waits until it is scanned. It returns the status, "scanning" when the scan takes longer.
func (c *Client) UploadFile(ctx context.Context, file File) (*AttachmentStatusResult, error) {
	orDefault(&file.Scan, time.Minute)
	if file.OperationID == "" {
		file.OperationID = newKey()
	}
	prepare := AttachmentPrepareRequest{OperationID: file.OperationID}
	prepare.Params.Purpose, prepare.Params.Name, prepare.Params.MimeType = file.Purpose, file.Name, file.MimeType
	prepare.Params.Size, prepare.Params.Sha256 = int64(len(file.Content)), sha256Hex(file.Content)
	prepared, err := c.AttachmentPrepare(ctx, prepare)
	if err != nil {
		return nil, err
	}
	id := prepared.Attachment.Identifiers.HID
	if status := prepared.Attachment.Status; status == "awaiting_upload" || status == "uploaded" {
		_, err := repeatedly(ctx, c.settings, time.Now(), func() (struct{}, error) {
			return struct{}{}, c.put(ctx, prepared.Upload.URL, file)
		})
		if err != nil {
			var transport *TransportError
			if errors.As(err, &transport) {
				transport.OperationID = file.OperationID
			}
			return nil, err
		}
		finalize := AttachmentFinalizeRequest{OperationID: file.OperationID}
		finalize.Params.Attachment.HID = id
		if _, err := c.AttachmentFinalize(ctx, finalize); err != nil {
			return nil, err
		}
	}
	var look AttachmentStatusRequest
	look.Params.Attachment.HID = id
	began := time.Now()
	for poll := 500 * time.Millisecond; ; poll = min(2*poll, scanPollMax) {
		status, err := c.AttachmentStatus(ctx, look)
		if err != nil || time.Since(began) > file.Scan {
			return status, err
		}
		switch status.Status {
		case "ready", "rejected", "expired":
			return status, nil
		}
		if err := pause(ctx, min(poll, file.Scan)); err != nil {
			return nil, err
		}
	}
}

// put sends the bytes. The answer is unsigned, so only the signed answer to the finalize says that they arrived.
func (c *Client) put(ctx context.Context, url string, file File) error {
	headers := map[string]string{"Content-Type": file.MimeType}
	got, err := c.exchange(ctx, http.MethodPut, url, headers, file.Content, uploadAnswerMaxBytes)
	if err != nil {
		return err
	}
	if got.status < 200 || got.status >= 300 {
		message := fmt.Sprintf("HTTP %d: %s", got.status, got.text())
		return &TransportError{Reason: "unsigned", Message: message, HTTPStatus: got.status, Text: got.text()}
	}
	return nil
}

// DownloadFile downloads a ready file. Its bytes have the SHA-256 that the signed answer names.
func (c *Client) DownloadFile(ctx context.Context, id string) ([]byte, error) {
	var look AttachmentGetRequest
	look.Params.Attachment.HID = id
	shown, err := c.AttachmentGet(ctx, look)
	if err != nil {
		return nil, err
	}
	return repeatedly(ctx, c.settings, time.Now(), func() ([]byte, error) {
		got, err := c.exchange(ctx, http.MethodGet, shown.Download.URL, nil, nil, fileMaxBytes)
		if err != nil {
			return nil, err
		}
		if sha256Hex(got.body) != shown.Attachment.Sha256 {
			message := fmt.Sprintf("HTTP %d: other bytes than those of the file", got.status)
			return nil, &TransportError{Reason: "unsigned", Message: message, HTTPStatus: got.status}
		}
		return got.body, nil
	})
}
