<?php

declare(strict_types=1);

namespace Multihub\Client\Gen;

// Made by npm run generate. Do not edit.

/**
 * Each method of the interface as a function.
 *
 * @phpstan-type PaymentInRequest array{service_id: int, params: array{payment: array{identifiers: array{c_id: string}, amount: array{value: int, currency: string}, description?: string, payer: array{email?: string, phone?: string, person?: array{first_name?: string, last_name?: string}, customer_account?: array{id?: string}}, client?: array{language?: string, country?: string}, redirect?: array{on_success?: string, on_fail?: string}, webhook_url?: string}}}
 * @phpstan-type Amount array{value: int, currency: string}
 * @phpstan-type Operation array{id: string, operation_type: 'deposit'|'withdrawal'|'refund', amount: Amount, timestamps: array{created: string}, status: array{status: 'created'|'processing'|'success'|'error'|'canceled'|'declined'|'refunded'|'partially_refunded', final: bool, success: bool|null, error: int|null}}
 * @phpstan-type Payment array{identifiers: array{c_id: string, h_id: string, p_id?: string, utr?: string}, amount: Amount, description?: string, payer?: array{email?: string, phone?: string, person?: array{first_name?: string, last_name?: string}, customer_account?: array{id?: string}}, receiver?: array{bank_account?: array{id?: string, name?: string}, phone?: string, document?: array{type?: string, number?: string}, qr_payload?: string}, redirect?: array{to?: string|list<string>, on_success?: string, on_fail?: string}, status: array{status: 'created'|'processing'|'success'|'error'|'canceled'|'declined'|'refunded'|'partially_refunded', final: bool, success: bool|null, error: int|null, history: list<array{status: 'created'|'processing'|'success'|'error'|'canceled'|'declined'|'refunded'|'partially_refunded', final: bool, success: bool|null, created: string, reason?: string, amount: Amount}>}, timestamps: array{created: string, updated: string, finished?: string}, destination: 'in'|'out', operations: list<Operation>, service_id?: int}
 * @phpstan-type CreatedPayment array{identifiers: array{c_id: string, h_id: string, p_id?: string, utr?: string}, amount: Amount, description?: string, payer?: array{email?: string, phone?: string, person?: array{first_name?: string, last_name?: string}, customer_account?: array{id?: string}}, receiver?: array{bank_account?: array{id?: string, name?: string}, phone?: string, document?: array{type?: string, number?: string}, qr_payload?: string, bank?: array{name?: string, code?: string}}, redirect?: array{to?: string|list<string>, on_success?: string, on_fail?: string}, status: array{status: 'created'|'processing'|'success'|'error'|'canceled'|'declined'|'refunded'|'partially_refunded', final: bool, success: bool|null, error: int|null, history: list<array{status: 'created'|'processing'|'success'|'error'|'canceled'|'declined'|'refunded'|'partially_refunded', final: bool, success: bool|null, created: string, reason?: string, amount: Amount}>}, timestamps: array{created: string, updated: string, finished?: string}, destination: 'in'|'out', operations: list<Operation>, service_id?: int}
 * @phpstan-type PaymentInResult array{payment: CreatedPayment, operation: Operation}
 * @phpstan-type PaymentOutRequest array{service_id: int, params: array{payment: array{identifiers: array{c_id: string}, amount: array{value: int, currency: string}, description?: string, receiver: array{bank: array{account: array{id: string}, ifsc?: string, code?: string}, email?: string, phone?: string, person?: array{first_name?: string, last_name?: string}}, client?: array{language?: string, country?: string}, webhook_url?: string}}}
 * @phpstan-type PaymentOutResult array{payment: CreatedPayment, operation: Operation}
 * @phpstan-type PaymentStatusRequest array{service_id?: int, params: array{payment: array{identifiers: array{c_id?: string, h_id?: string}}}}
 * @phpstan-type PaymentStatusResult array{payment: Payment, operation: Operation}
 * @phpstan-type PaymentNotificationRequest array{service_id?: int, operation_id?: string, params: array{payment: array{identifiers: array{c_id?: string, h_id?: string}}}}
 * @phpstan-type PaymentNotificationResult array{payment: Payment, operation: Operation}
 * @phpstan-type BalanceGetRequest array{service_id?: int, params?: array{}}
 * @phpstan-type BalanceGetResult array{balance: array{id: int, amounts: list<array{value: int, value_freezing: int, value_blocking: int, currency: string, enabled: true}>, enabled: true}}
 * @phpstan-type GatewayPingRequest array{params?: array{}}
 * @phpstan-type GatewayPingResult array{message: 'pong'}
 * @phpstan-type TicketCreateRequest array{params: array{identifiers: array{c_id: string}, title: string, description: string, category: 'payment_issue'|'integration'|'limits'|'account'|'bug'|'question'|'dispute'|'refund_request'|'other', priority?: 'low'|'medium'|'high', payment?: array{c_id: string}, attachment_ids?: list<string>}}
 * @phpstan-type Ticket array{identifiers: array{c_id: string, h_id: string}, category: 'payment_issue'|'integration'|'limits'|'account'|'bug'|'question'|'dispute'|'refund_request'|'other', status: 'open'|'in_progress'|'waiting_customer'|'on_hold'|'resolved'|'closed'|'canceled', priority: 'low'|'medium'|'high'|'urgent', title: string, description: string, payment?: array{h_id: string}, reference: null, sla_deadline: string, attachments: list<TicketAttachment>, created_at: string, updated_at: string, last_activity_at: string}
 * @phpstan-type TicketAttachment array{identifiers: array{h_id: string}, name: string, mime_type: string, size: int, created_at: string}
 * @phpstan-type TicketCreateResult Ticket
 * @phpstan-type TicketGetRequest array{params: array{identifiers: array{c_id?: string, h_id?: string}}}
 * @phpstan-type TicketGetResult Ticket
 * @phpstan-type TicketListRequest array{params?: array{statuses?: list<'open'|'in_progress'|'waiting_customer'|'on_hold'|'resolved'|'closed'|'canceled'>, categories?: list<'payment_issue'|'integration'|'limits'|'account'|'bug'|'question'|'dispute'|'refund_request'|'other'>, priorities?: list<'low'|'medium'|'high'|'urgent'>, payment?: array{c_id?: string, h_id?: string}, created_from?: string, created_to?: string, limit?: int, cursor?: string}}
 * @phpstan-type TicketListResult array{items: list<Ticket>, next_cursor: string|null}
 * @phpstan-type TicketSummaryRequest array{params?: array{created_from?: string, created_to?: string}}
 * @phpstan-type TicketSummaryResult array{by_status: array{open: int, in_progress: int, waiting_customer: int, on_hold: int, resolved: int, closed: int, canceled: int}}
 * @phpstan-type TicketDescriptionUpdateRequest array{operation_id?: string, params: array{identifiers: array{c_id?: string, h_id?: string}, description: string}}
 * @phpstan-type TicketDescriptionUpdateResult Ticket
 * @phpstan-type TicketReopenRequest array{operation_id?: string, params: array{identifiers: array{c_id?: string, h_id?: string}}}
 * @phpstan-type TicketReopenResult Ticket
 * @phpstan-type TicketCommentCreateRequest array{operation_id?: string, params: array{ticket: array{c_id?: string, h_id?: string}, body: string, attachment_ids?: list<string>}}
 * @phpstan-type TicketComment array{identifiers: array{h_id: string}, author: 'merchant'|'support', body: string, attachments: list<TicketAttachment>, created_at: string, updated_at: string}
 * @phpstan-type TicketCommentCreateResult TicketComment
 * @phpstan-type TicketCommentsListRequest array{params: array{ticket: array{c_id?: string, h_id?: string}, limit?: int, cursor?: string}}
 * @phpstan-type TicketCommentsListResult array{items: list<TicketComment>, next_cursor: string|null}
 * @phpstan-type TicketCommentUpdateRequest array{operation_id?: string, params: array{ticket: array{c_id?: string, h_id?: string}, comment_h_id: string, body: string}}
 * @phpstan-type TicketCommentUpdateResult TicketComment
 * @phpstan-type RefundRequestRequest array{params: array{identifiers: array{c_id: string}, payment: array{c_id?: string, h_id?: string}, amount?: string, reason?: string}}
 * @phpstan-type Refund array{identifiers: array{c_id: string, h_id: string}, payment: array{c_id: string, h_id: string}, amount: string, currency: string, status: 'pending'|'approved'|'rejected'|'canceled'|'completed'|'failed', reason?: string, created_at: string, updated_at: string}
 * @phpstan-type RefundRequestResult Refund
 * @phpstan-type RefundGetRequest array{params: array{identifiers: array{c_id?: string, h_id?: string}}}
 * @phpstan-type RefundGetResult Refund
 * @phpstan-type RefundListRequest array{params?: array{statuses?: list<'pending'|'approved'|'rejected'|'canceled'|'completed'|'failed'>, payment?: array{c_id?: string, h_id?: string}, created_from?: string, created_to?: string, limit?: int, cursor?: string}}
 * @phpstan-type RefundListResult array{items: list<Refund>, next_cursor: string|null}
 * @phpstan-type RefundSummaryRequest array{params?: array{created_from?: string, created_to?: string}}
 * @phpstan-type RefundSummaryResult array{by_status: array{pending: int, approved: int, rejected: int, canceled: int, completed: int, failed: int}}
 * @phpstan-type RefundCommentCreateRequest array{operation_id?: string, params: array{refund: array{c_id?: string, h_id?: string}, body: string}}
 * @phpstan-type RefundComment array{identifiers: array{h_id: string}, author: 'merchant'|'support', body: string, created_at: string}
 * @phpstan-type RefundCommentCreateResult RefundComment
 * @phpstan-type RefundCommentsListRequest array{params: array{refund: array{c_id?: string, h_id?: string}, limit?: int, cursor?: string}}
 * @phpstan-type RefundCommentsListResult array{items: list<RefundComment>, next_cursor: string|null}
 * @phpstan-type ChargebackGetRequest array{params: array{identifiers: array{h_id: string}}}
 * @phpstan-type Chargeback array{identifiers: array{h_id: string}, payment: array{c_id: string, h_id: string}, amount: int, currency: string, reason_code: string, status: 'open'|'under_review'|'won'|'lost'|'accepted', deadline_at?: string, history: list<ChargebackHistoryEntry>, created_at: string, updated_at: string}
 * @phpstan-type ChargebackHistoryEntry array{status: 'open'|'under_review'|'won'|'lost'|'accepted', created: string, note?: string}
 * @phpstan-type ChargebackGetResult Chargeback
 * @phpstan-type ChargebackListRequest array{params?: array{statuses?: list<'open'|'under_review'|'won'|'lost'|'accepted'>, payment?: array{c_id?: string, h_id?: string}, created_from?: string, created_to?: string, limit?: int, cursor?: string}}
 * @phpstan-type ChargebackListResult array{items: list<Chargeback>, next_cursor: string|null}
 * @phpstan-type ChargebackSummaryRequest array{params?: array{created_from?: string, created_to?: string}}
 * @phpstan-type ChargebackSummaryResult array{by_status: array{open: int, under_review: int, won: int, lost: int, accepted: int}}
 * @phpstan-type ChargebackAttachmentsListRequest array{params: array{chargeback: array{h_id: string}}}
 * @phpstan-type ChargebackAttachmentsListResult array{items: list<TicketAttachment>, next_cursor: string|null}
 * @phpstan-type AttachmentPrepareRequest array{operation_id?: string, params: array{purpose: 'ticket'|'ticket_comment', name: string, mime_type: 'application/pdf'|'image/png'|'image/jpeg'|'image/webp'|'text/plain'|'text/csv', size: int, sha256: string}}
 * @phpstan-type Attachment array{identifiers: array{h_id: string}, purpose: 'ticket'|'ticket_comment'|'chargeback_evidence', name: string, mime_type: 'application/pdf'|'image/png'|'image/jpeg'|'image/webp'|'text/plain'|'text/csv', size: int, sha256: string, status: 'awaiting_upload'|'uploaded'|'scanning'|'ready'|'rejected'|'expired', reason?: 'sha256_mismatch'|'wrong_type'|'malformed'|'active_content'|'malware', created_at: string, updated_at: string}
 * @phpstan-type AttachmentPrepareResult array{attachment: Attachment, upload: array{method: 'PUT', headers: array<string, string>, url: string, expires_at: string}}
 * @phpstan-type AttachmentFinalizeRequest array{operation_id?: string, params: array{attachment: array{h_id: string}}}
 * @phpstan-type AttachmentFinalizeResult array{attachment: Attachment}
 * @phpstan-type AttachmentStatusRequest array{params: array{attachment: array{h_id: string}}}
 * @phpstan-type AttachmentStatusResult array{h_id: string, status: 'awaiting_upload'|'uploaded'|'scanning'|'ready'|'rejected'|'expired', reason?: 'sha256_mismatch'|'wrong_type'|'malformed'|'active_content'|'malware'}
 * @phpstan-type AttachmentGetRequest array{params: array{attachment: array{h_id: string}}}
 * @phpstan-type AttachmentGetResult array{attachment: Attachment, download: array{url: string, expires_at: string}}
 * @phpstan-type WebhookResendResult array{payment_id: string, operation_id: string, delivery_ids: list<string>, status: 'queued'}
 * @phpstan-type Callback array{id: string, created_at: string, data: array{result: array{payment?: Payment, ticket?: array<string, mixed>, refund?: array<string, mixed>, chargeback?: array<string, mixed>}, success: bool, request_id: string}, merchant_id: string}
 */
trait Methods
{
    /** @param array<string, mixed> $request */
    abstract public function call(string $method, array $request = []): mixed;

    /** @param array<string, mixed> $request */
    abstract public function each(string $method, array $request = []): \Generator;

    /**
     * `payment.in`: creates a deposit: a customer pays you. It is sent once: `createPayment` survives a lost answer.
     *
     * @param PaymentInRequest $request
     * @return PaymentInResult
     */
    public function paymentIn(array $request): array
    {
        return $this->call('payment.in', $request);
    }

    /**
     * `payment.out`: creates a withdrawal: you pay a recipient. It is sent once: `createPayment` survives a lost answer.
     *
     * @param PaymentOutRequest $request
     * @return PaymentOutResult
     */
    public function paymentOut(array $request): array
    {
        return $this->call('payment.out', $request);
    }

    /**
     * `payment.status`: shows a payment and its status.
     *
     * @param PaymentStatusRequest $request
     * @return PaymentStatusResult
     */
    public function paymentStatus(array $request): array
    {
        return $this->call('payment.status', $request);
    }

    /**
     * `payment.notification`: sends the callback of a payment’s current status again.
     *
     * @param PaymentNotificationRequest $request
     * @return PaymentNotificationResult
     */
    public function paymentNotification(array $request): array
    {
        return $this->call('payment.notification', $request);
    }

    /**
     * `balance.get`: shows your balance in each currency.
     *
     * @param BalanceGetRequest $request
     * @return BalanceGetResult
     */
    public function balanceGet(array $request = []): array
    {
        return $this->call('balance.get', $request);
    }

    /**
     * `gateway.ping`: checks your signature.
     *
     * @param GatewayPingRequest $request
     * @return GatewayPingResult
     */
    public function gatewayPing(array $request = []): array
    {
        return $this->call('gateway.ping', $request);
    }

    /**
     * `ticket.create`: opens a ticket.
     *
     * @param TicketCreateRequest $request
     * @return TicketCreateResult
     */
    public function ticketCreate(array $request): array
    {
        return $this->call('ticket.create', $request);
    }

    /**
     * `ticket.get`: shows a ticket.
     *
     * @param TicketGetRequest $request
     * @return TicketGetResult
     */
    public function ticketGet(array $request): array
    {
        return $this->call('ticket.get', $request);
    }

    /**
     * `ticket.list`: lists your tickets, newest first.
     *
     * @param TicketListRequest $request
     * @return TicketListResult
     */
    public function ticketList(array $request = []): array
    {
        return $this->call('ticket.list', $request);
    }

    /**
     * Every item of `ticket.list`, page by page.
     *
     * @param TicketListRequest $request
     * @return \Generator<int, Ticket>
     */
    public function ticketListEach(array $request = []): \Generator
    {
        return $this->each('ticket.list', $request);
    }

    /**
     * `ticket.summary`: counts your tickets by status.
     *
     * @param TicketSummaryRequest $request
     * @return TicketSummaryResult
     */
    public function ticketSummary(array $request = []): array
    {
        return $this->call('ticket.summary', $request);
    }

    /**
     * `ticket.description.update`: replaces the description of a ticket.
     *
     * @param TicketDescriptionUpdateRequest $request
     * @return TicketDescriptionUpdateResult
     */
    public function ticketDescriptionUpdate(array $request): array
    {
        return $this->call('ticket.description.update', $request);
    }

    /**
     * `ticket.reopen`: opens a resolved or closed ticket again.
     *
     * @param TicketReopenRequest $request
     * @return TicketReopenResult
     */
    public function ticketReopen(array $request): array
    {
        return $this->call('ticket.reopen', $request);
    }

    /**
     * `ticket.comment.create`: adds a comment to a ticket.
     *
     * @param TicketCommentCreateRequest $request
     * @return TicketCommentCreateResult
     */
    public function ticketCommentCreate(array $request): array
    {
        return $this->call('ticket.comment.create', $request);
    }

    /**
     * `ticket.comments.list`: lists the comments of a ticket, oldest first.
     *
     * @param TicketCommentsListRequest $request
     * @return TicketCommentsListResult
     */
    public function ticketCommentsList(array $request): array
    {
        return $this->call('ticket.comments.list', $request);
    }

    /**
     * Every item of `ticket.comments.list`, page by page.
     *
     * @param TicketCommentsListRequest $request
     * @return \Generator<int, TicketComment>
     */
    public function ticketCommentsListEach(array $request): \Generator
    {
        return $this->each('ticket.comments.list', $request);
    }

    /**
     * `ticket.comment.update`: replaces the text of your comment.
     *
     * @param TicketCommentUpdateRequest $request
     * @return TicketCommentUpdateResult
     */
    public function ticketCommentUpdate(array $request): array
    {
        return $this->call('ticket.comment.update', $request);
    }

    /**
     * `refund.request`: requests a refund.
     *
     * @param RefundRequestRequest $request
     * @return RefundRequestResult
     */
    public function refundRequest(array $request): array
    {
        return $this->call('refund.request', $request);
    }

    /**
     * `refund.get`: shows a refund.
     *
     * @param RefundGetRequest $request
     * @return RefundGetResult
     */
    public function refundGet(array $request): array
    {
        return $this->call('refund.get', $request);
    }

    /**
     * `refund.list`: lists your refunds, newest first.
     *
     * @param RefundListRequest $request
     * @return RefundListResult
     */
    public function refundList(array $request = []): array
    {
        return $this->call('refund.list', $request);
    }

    /**
     * Every item of `refund.list`, page by page.
     *
     * @param RefundListRequest $request
     * @return \Generator<int, Refund>
     */
    public function refundListEach(array $request = []): \Generator
    {
        return $this->each('refund.list', $request);
    }

    /**
     * `refund.summary`: counts your refunds by status.
     *
     * @param RefundSummaryRequest $request
     * @return RefundSummaryResult
     */
    public function refundSummary(array $request = []): array
    {
        return $this->call('refund.summary', $request);
    }

    /**
     * `refund.comment.create`: comments on a refund.
     *
     * @param RefundCommentCreateRequest $request
     * @return RefundCommentCreateResult
     */
    public function refundCommentCreate(array $request): array
    {
        return $this->call('refund.comment.create', $request);
    }

    /**
     * `refund.comments.list`: lists the comments on a refund, oldest first.
     *
     * @param RefundCommentsListRequest $request
     * @return RefundCommentsListResult
     */
    public function refundCommentsList(array $request): array
    {
        return $this->call('refund.comments.list', $request);
    }

    /**
     * Every item of `refund.comments.list`, page by page.
     *
     * @param RefundCommentsListRequest $request
     * @return \Generator<int, RefundComment>
     */
    public function refundCommentsListEach(array $request): \Generator
    {
        return $this->each('refund.comments.list', $request);
    }

    /**
     * `chargeback.get`: shows a chargeback.
     *
     * @param ChargebackGetRequest $request
     * @return ChargebackGetResult
     */
    public function chargebackGet(array $request): array
    {
        return $this->call('chargeback.get', $request);
    }

    /**
     * `chargeback.list`: lists your chargebacks, newest first.
     *
     * @param ChargebackListRequest $request
     * @return ChargebackListResult
     */
    public function chargebackList(array $request = []): array
    {
        return $this->call('chargeback.list', $request);
    }

    /**
     * Every item of `chargeback.list`, page by page.
     *
     * @param ChargebackListRequest $request
     * @return \Generator<int, Chargeback>
     */
    public function chargebackListEach(array $request = []): \Generator
    {
        return $this->each('chargeback.list', $request);
    }

    /**
     * `chargeback.summary`: counts your chargebacks by status.
     *
     * @param ChargebackSummaryRequest $request
     * @return ChargebackSummaryResult
     */
    public function chargebackSummary(array $request = []): array
    {
        return $this->call('chargeback.summary', $request);
    }

    /**
     * `chargeback.attachments.list`: lists the evidence of a chargeback.
     *
     * @param ChargebackAttachmentsListRequest $request
     * @return ChargebackAttachmentsListResult
     */
    public function chargebackAttachmentsList(array $request): array
    {
        return $this->call('chargeback.attachments.list', $request);
    }

    /**
     * Every item of `chargeback.attachments.list`, page by page.
     *
     * @param ChargebackAttachmentsListRequest $request
     * @return \Generator<int, TicketAttachment>
     */
    public function chargebackAttachmentsListEach(array $request): \Generator
    {
        return $this->each('chargeback.attachments.list', $request);
    }

    /**
     * `attachment.prepare`: prepares the upload of a file.
     *
     * @param AttachmentPrepareRequest $request
     * @return AttachmentPrepareResult
     */
    public function attachmentPrepare(array $request): array
    {
        return $this->call('attachment.prepare', $request);
    }

    /**
     * `attachment.finalize`: ends the upload of a file and has it checked.
     *
     * @param AttachmentFinalizeRequest $request
     * @return AttachmentFinalizeResult
     */
    public function attachmentFinalize(array $request): array
    {
        return $this->call('attachment.finalize', $request);
    }

    /**
     * `attachment.status`: shows the status of a file.
     *
     * @param AttachmentStatusRequest $request
     * @return AttachmentStatusResult
     */
    public function attachmentStatus(array $request): array
    {
        return $this->call('attachment.status', $request);
    }

    /**
     * `attachment.get`: shows a file and where to download it.
     *
     * @param AttachmentGetRequest $request
     * @return AttachmentGetResult
     */
    public function attachmentGet(array $request): array
    {
        return $this->call('attachment.get', $request);
    }
}
