# Made by npm run generate. Do not edit.

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


class PaymentInRequestParamsPaymentIdentifiers(TypedDict):
    # Your own reference, which must be unique: creating a payment with it again is refused with 6009.
    c_id: str


class PaymentInRequestParamsPaymentAmount(TypedDict):
    # In minor units, such as cents. An amount that cannot be paid is refused with 6001.
    value: int
    # The ISO 4217 code of the route. Another currency is refused with 6002.
    currency: str


class PaymentInRequestParamsPaymentPayerPerson(TypedDict, total=False):
    first_name: str
    last_name: str


class PaymentInRequestParamsPaymentPayerCustomerAccount(TypedDict, total=False):
    # Your own identifier of the customer.
    id: str


class PaymentInRequestParamsPaymentPayer(TypedDict, total=False):
    # Recommended, because some providers require it.
    email: str
    phone: str
    person: PaymentInRequestParamsPaymentPayerPerson
    customer_account: PaymentInRequestParamsPaymentPayerCustomerAccount


class PaymentInRequestParamsPaymentClient(TypedDict, total=False):
    # The preferred language of payment pages.
    language: str
    # The country of the customer, for payment pages.
    country: str


class PaymentInRequestParamsPaymentRedirect(TypedDict, total=False):
    # Where to send the customer after a successful payment.
    on_success: str
    # Where to send the customer after a failed payment.
    on_fail: str


class _PaymentInRequestParamsPaymentRequired(TypedDict):
    identifiers: PaymentInRequestParamsPaymentIdentifiers
    amount: PaymentInRequestParamsPaymentAmount
    # The customer who pays. May be an empty object.
    payer: PaymentInRequestParamsPaymentPayer


class PaymentInRequestParamsPayment(_PaymentInRequestParamsPaymentRequired, total=False):
    description: str
    client: PaymentInRequestParamsPaymentClient
    # Returned in the response.
    redirect: PaymentInRequestParamsPaymentRedirect
    # Where to send the callbacks of this payment: a public address, https in production, without user info or fragment.
    webhook_url: str


class PaymentInRequestParams(TypedDict):
    payment: PaymentInRequestParamsPayment


class PaymentInRequest(TypedDict):
    # The number of one of your routes. Any other number is refused with 1004.
    service_id: int
    params: PaymentInRequestParams


class Amount(TypedDict):
    # In minor units, such as cents.
    value: int
    # An ISO 4217 code.
    currency: str


class OperationTimestamps(TypedDict):
    created: str


class OperationStatus(TypedDict):
    # `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true
    status: Literal["created", "processing", "success", "error", "canceled", "declined", "refunded", "partially_refunded"]
    # Whether the payment has ended.
    final: bool
    # Null until the payment has ended.
    success: Optional[bool]
    # Why the payment failed: a code of the error table.
    error: Optional[int]


class Operation(TypedDict):
    id: str
    operation_type: Literal["deposit", "withdrawal", "refund"]
    amount: Amount
    timestamps: OperationTimestamps
    status: OperationStatus


class _PaymentIdentifiersRequired(TypedDict):
    # Your own reference.
    c_id: str
    # Our identifier: a UUID, or digits.
    h_id: str


class PaymentIdentifiers(_PaymentIdentifiersRequired, total=False):
    # The identifier of the provider.
    p_id: str
    # The tracking reference of the bank.
    utr: str


class PaymentPayerPerson(TypedDict, total=False):
    first_name: str
    last_name: str


class PaymentPayerCustomerAccount(TypedDict, total=False):
    id: str


class PaymentPayer(TypedDict, total=False):
    email: str
    phone: str
    person: PaymentPayerPerson
    customer_account: PaymentPayerCustomerAccount


class PaymentReceiverBankAccount(TypedDict, total=False):
    # Account number, IBAN, CBU, CVU or CLABE.
    id: str
    # The holder of the account.
    name: str


class PaymentReceiverDocument(TypedDict, total=False):
    # The kind of the identity document of that person.
    type: str
    number: str


class PaymentReceiver(TypedDict, total=False):
    bank_account: PaymentReceiverBankAccount
    # The phone number of a person who receives the money.
    phone: str
    document: PaymentReceiverDocument
    # The content of a QR code to show to the customer.
    qr_payload: str


class PaymentRedirect(TypedDict, total=False):
    # A page to send the customer to, or a list of links that open payment apps.
    to: Union[str, List[str]]
    on_success: str
    on_fail: str


class _PaymentStatusHistoryItemRequired(TypedDict):
    # `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true
    status: Literal["created", "processing", "success", "error", "canceled", "declined", "refunded", "partially_refunded"]
    # Whether the payment has ended.
    final: bool
    # Null until the payment has ended.
    success: Optional[bool]
    created: str
    amount: Amount


class PaymentStatusHistoryItem(_PaymentStatusHistoryItemRequired, total=False):
    reason: str


class PaymentStatus(TypedDict):
    # `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true
    status: Literal["created", "processing", "success", "error", "canceled", "declined", "refunded", "partially_refunded"]
    # Whether the payment has ended.
    final: bool
    # Null until the payment has ended.
    success: Optional[bool]
    # Why the payment failed: a code of the error table.
    error: Optional[int]
    history: List[PaymentStatusHistoryItem]


class _PaymentTimestampsRequired(TypedDict):
    created: str
    updated: str


class PaymentTimestamps(_PaymentTimestampsRequired, total=False):
    # When the provider confirmed the payment.
    finished: str


class _PaymentRequired(TypedDict):
    identifiers: PaymentIdentifiers
    amount: Amount
    status: PaymentStatus
    timestamps: PaymentTimestamps
    # `in` is a deposit, `out` a withdrawal.
    destination: Literal["in", "out"]
    operations: List[Operation]


class Payment(_PaymentRequired, total=False):
    description: str
    payer: PaymentPayer
    receiver: PaymentReceiver
    redirect: PaymentRedirect
    # The number of the route.
    service_id: int


class _CreatedPaymentIdentifiersRequired(TypedDict):
    # Your own reference.
    c_id: str
    # Our identifier: a UUID, or digits.
    h_id: str


class CreatedPaymentIdentifiers(_CreatedPaymentIdentifiersRequired, total=False):
    # The identifier of the provider.
    p_id: str
    # The tracking reference of the bank.
    utr: str


class CreatedPaymentPayerPerson(TypedDict, total=False):
    first_name: str
    last_name: str


class CreatedPaymentPayerCustomerAccount(TypedDict, total=False):
    id: str


class CreatedPaymentPayer(TypedDict, total=False):
    email: str
    phone: str
    person: CreatedPaymentPayerPerson
    customer_account: CreatedPaymentPayerCustomerAccount


class CreatedPaymentReceiverBankAccount(TypedDict, total=False):
    # Account number, IBAN, CBU, CVU or CLABE.
    id: str
    # The holder of the account.
    name: str


class CreatedPaymentReceiverDocument(TypedDict, total=False):
    # The kind of the identity document of that person.
    type: str
    number: str


class CreatedPaymentReceiverBank(TypedDict, total=False):
    # The bank or network.
    name: str
    code: str


class CreatedPaymentReceiver(TypedDict, total=False):
    bank_account: CreatedPaymentReceiverBankAccount
    # The phone number of a person who receives the money.
    phone: str
    document: CreatedPaymentReceiverDocument
    # The content of a QR code to show to the customer.
    qr_payload: str
    bank: CreatedPaymentReceiverBank


class CreatedPaymentRedirect(TypedDict, total=False):
    # A page to send the customer to, or a list of links that open payment apps.
    to: Union[str, List[str]]
    on_success: str
    on_fail: str


class _CreatedPaymentStatusHistoryItemRequired(TypedDict):
    # `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true
    status: Literal["created", "processing", "success", "error", "canceled", "declined", "refunded", "partially_refunded"]
    # Whether the payment has ended.
    final: bool
    # Null until the payment has ended.
    success: Optional[bool]
    created: str
    amount: Amount


class CreatedPaymentStatusHistoryItem(_CreatedPaymentStatusHistoryItemRequired, total=False):
    reason: str


class CreatedPaymentStatus(TypedDict):
    # `created`: final false, success null; `processing`: final false, success null; `success`: final true, success true; `error`: final true, success false; `canceled`: final true, success false; `declined`: final true, success false; `refunded`: final true, success true; `partially_refunded`: final true, success true
    status: Literal["created", "processing", "success", "error", "canceled", "declined", "refunded", "partially_refunded"]
    # Whether the payment has ended.
    final: bool
    # Null until the payment has ended.
    success: Optional[bool]
    # Why the payment failed: a code of the error table.
    error: Optional[int]
    history: List[CreatedPaymentStatusHistoryItem]


class _CreatedPaymentTimestampsRequired(TypedDict):
    created: str
    updated: str


class CreatedPaymentTimestamps(_CreatedPaymentTimestampsRequired, total=False):
    # When the provider confirmed the payment.
    finished: str


class _CreatedPaymentRequired(TypedDict):
    identifiers: CreatedPaymentIdentifiers
    amount: Amount
    status: CreatedPaymentStatus
    timestamps: CreatedPaymentTimestamps
    # `in` is a deposit, `out` a withdrawal.
    destination: Literal["in", "out"]
    operations: List[Operation]


class CreatedPayment(_CreatedPaymentRequired, total=False):
    description: str
    payer: CreatedPaymentPayer
    receiver: CreatedPaymentReceiver
    redirect: CreatedPaymentRedirect
    # The number of the route.
    service_id: int


class PaymentInResult(TypedDict):
    payment: CreatedPayment
    operation: Operation


class PaymentOutRequestParamsPaymentIdentifiers(TypedDict):
    # Your own reference, which must be unique: creating a payment with it again is refused with 6009.
    c_id: str


class PaymentOutRequestParamsPaymentAmount(TypedDict):
    # In minor units, such as cents. An amount that cannot be paid is refused with 6001.
    value: int
    # The ISO 4217 code of the route. Another currency is refused with 6002.
    currency: str


class PaymentOutRequestParamsPaymentReceiverBankAccount(TypedDict):
    # An account number; the CLABE in Mexico, CBU or CVU in Argentina, IBAN in Turkey. A wrong one is refused with 8600.
    id: str


class _PaymentOutRequestParamsPaymentReceiverBankRequired(TypedDict):
    account: PaymentOutRequestParamsPaymentReceiverBankAccount


class PaymentOutRequestParamsPaymentReceiverBank(_PaymentOutRequestParamsPaymentReceiverBankRequired, total=False):
    # The code of the branch: required in India, elsewhere refused with 9000.
    ifsc: str
    # The code of the bank: optional in Argentina, the BSB (required) in Australia, elsewhere refused with 9000. A wrong one is refused with 8601.
    code: str


class PaymentOutRequestParamsPaymentReceiverPerson(TypedDict, total=False):
    first_name: str
    last_name: str


class _PaymentOutRequestParamsPaymentReceiverRequired(TypedDict):
    bank: PaymentOutRequestParamsPaymentReceiverBank


class PaymentOutRequestParamsPaymentReceiver(_PaymentOutRequestParamsPaymentReceiverRequired, total=False):
    email: str
    phone: str
    person: PaymentOutRequestParamsPaymentReceiverPerson


class PaymentOutRequestParamsPaymentClient(TypedDict, total=False):
    # The preferred language of payment pages.
    language: str
    # The country of the customer, for payment pages.
    country: str


class _PaymentOutRequestParamsPaymentRequired(TypedDict):
    identifiers: PaymentOutRequestParamsPaymentIdentifiers
    amount: PaymentOutRequestParamsPaymentAmount
    # Whom you pay, and the bank account. Its country decides which codes it has.
    receiver: PaymentOutRequestParamsPaymentReceiver


class PaymentOutRequestParamsPayment(_PaymentOutRequestParamsPaymentRequired, total=False):
    description: str
    client: PaymentOutRequestParamsPaymentClient
    # Where to send the callbacks of this payment: a public address, https in production, without user info or fragment.
    webhook_url: str


class PaymentOutRequestParams(TypedDict):
    payment: PaymentOutRequestParamsPayment


class PaymentOutRequest(TypedDict):
    # The number of one of your routes. Any other number is refused with 1004.
    service_id: int
    params: PaymentOutRequestParams


class PaymentOutResult(TypedDict):
    payment: CreatedPayment
    operation: Operation


class PaymentStatusRequestParamsPaymentIdentifiers(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier, from the response to `payment.in`.
    h_id: str


class PaymentStatusRequestParamsPayment(TypedDict):
    identifiers: PaymentStatusRequestParamsPaymentIdentifiers


class PaymentStatusRequestParams(TypedDict):
    payment: PaymentStatusRequestParamsPayment


class _PaymentStatusRequestRequired(TypedDict):
    params: PaymentStatusRequestParams


class PaymentStatusRequest(_PaymentStatusRequestRequired, total=False):
    # Accepted, but has no effect: the route that the payment was created with counts.
    service_id: int


class PaymentStatusResult(TypedDict):
    payment: Payment
    operation: Operation


class PaymentNotificationRequestParamsPaymentIdentifiers(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier, from the response to `payment.in`.
    h_id: str


class PaymentNotificationRequestParamsPayment(TypedDict):
    identifiers: PaymentNotificationRequestParamsPaymentIdentifiers


class PaymentNotificationRequestParams(TypedDict):
    payment: PaymentNotificationRequestParamsPayment


class _PaymentNotificationRequestRequired(TypedDict):
    params: PaymentNotificationRequestParams


class PaymentNotificationRequest(_PaymentNotificationRequestRequired, total=False):
    # Accepted, but has no effect: the route that the payment was created with counts.
    service_id: int
    # An idempotency key; recommended. Reuse it only to repeat exactly the same request; another request with it is refused with 1013, also when only the `service_id` differs. Without a key, equal requests within one minute of our clock (from second 0 to second 59) queue one callback.
    operation_id: str


class PaymentNotificationResult(TypedDict):
    payment: Payment
    operation: Operation


class BalanceGetRequestParams(TypedDict):
    pass


class BalanceGetRequest(TypedDict, total=False):
    # Limits the response to the currency of this route.
    service_id: int
    params: BalanceGetRequestParams


class BalanceGetResultBalanceAmountsItem(TypedDict):
    # The available funds in minor units. It can exceed 2^53: read it as a 64-bit integer.
    value: int
    # The funds held for open withdrawals, in minor units.
    value_freezing: int
    # Kept for compatibility.
    value_blocking: int
    # An ISO 4217 code.
    currency: str
    # Kept for compatibility.
    enabled: Literal[True]


class BalanceGetResultBalance(TypedDict):
    # Your merchant number.
    id: int
    amounts: List[BalanceGetResultBalanceAmountsItem]
    # Kept for compatibility.
    enabled: Literal[True]


class BalanceGetResult(TypedDict):
    balance: BalanceGetResultBalance


class GatewayPingRequestParams(TypedDict):
    pass


class GatewayPingRequest(TypedDict, total=False):
    params: GatewayPingRequestParams


class GatewayPingResult(TypedDict):
    message: Literal["pong"]


class TicketCreateRequestParamsIdentifiers(TypedDict):
    # Your own reference.
    c_id: str


class TicketCreateRequestParamsPayment(TypedDict):
    # Your own reference of the payment.
    c_id: str


class _TicketCreateRequestParamsRequired(TypedDict):
    identifiers: TicketCreateRequestParamsIdentifiers
    title: str
    # The text of the ticket.
    description: str
    category: Literal["payment_issue", "integration", "limits", "account", "bug", "question", "dispute", "refund_request", "other"]


class TicketCreateRequestParams(_TicketCreateRequestParamsRequired, total=False):
    # `medium` without one.
    priority: Literal["low", "medium", "high"]
    payment: TicketCreateRequestParamsPayment
    # The `h_id` of uploaded files that are `ready`.
    attachment_ids: List[str]


class TicketCreateRequest(TypedDict):
    params: TicketCreateRequestParams


class TicketIdentifiers(TypedDict):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class TicketPayment(TypedDict):
    # The `h_id` of the payment.
    h_id: str


class _TicketRequired(TypedDict):
    identifiers: TicketIdentifiers
    category: Literal["payment_issue", "integration", "limits", "account", "bug", "question", "dispute", "refund_request", "other"]
    status: Literal["open", "in_progress", "waiting_customer", "on_hold", "resolved", "closed", "canceled"]
    # Only the operator sets `urgent`.
    priority: Literal["low", "medium", "high", "urgent"]
    title: str
    description: str
    reference: None
    # When the operator should have handled the ticket.
    sla_deadline: str
    attachments: List[TicketAttachment]
    # When the ticket was created.
    created_at: str
    # When its status, priority or description last changed.
    updated_at: str
    # When the ticket last changed or got a comment.
    last_activity_at: str


class Ticket(_TicketRequired, total=False):
    payment: TicketPayment


class TicketAttachmentIdentifiers(TypedDict):
    h_id: str


class TicketAttachment(TypedDict):
    identifiers: TicketAttachmentIdentifiers
    name: str
    mime_type: str
    # In bytes.
    size: int
    created_at: str


class TicketGetRequestParamsIdentifiers(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class TicketGetRequestParams(TypedDict):
    identifiers: TicketGetRequestParamsIdentifiers


class TicketGetRequest(TypedDict):
    params: TicketGetRequestParams


class TicketListRequestParamsPayment(TypedDict, total=False):
    # Your own reference of the payment.
    c_id: str
    # Our identifier of the payment.
    h_id: str


class TicketListRequestParams(TypedDict, total=False):
    statuses: List[Literal["open", "in_progress", "waiting_customer", "on_hold", "resolved", "closed", "canceled"]]
    categories: List[Literal["payment_issue", "integration", "limits", "account", "bug", "question", "dispute", "refund_request", "other"]]
    priorities: List[Literal["low", "medium", "high", "urgent"]]
    payment: TicketListRequestParamsPayment
    # Created at this time or later.
    created_from: str
    # Created before this time.
    created_to: str
    # The size of the page; 25 without one.
    limit: int
    # The `next_cursor` of the page before, unchanged, with the same filters.
    cursor: str


class TicketListRequest(TypedDict, total=False):
    params: TicketListRequestParams


class TicketListResult(TypedDict):
    items: List[Ticket]
    # Null on the last page.
    next_cursor: Optional[str]


class TicketSummaryRequestParams(TypedDict, total=False):
    # Created at this time or later.
    created_from: str
    # Created before this time.
    created_to: str


class TicketSummaryRequest(TypedDict, total=False):
    params: TicketSummaryRequestParams


class TicketSummaryResultByStatus(TypedDict):
    open: int
    in_progress: int
    waiting_customer: int
    on_hold: int
    resolved: int
    closed: int
    canceled: int


class TicketSummaryResult(TypedDict):
    by_status: TicketSummaryResultByStatus


class TicketDescriptionUpdateRequestParamsIdentifiers(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class TicketDescriptionUpdateRequestParams(TypedDict):
    identifiers: TicketDescriptionUpdateRequestParamsIdentifiers
    # The text of the ticket.
    description: str


class _TicketDescriptionUpdateRequestRequired(TypedDict):
    params: TicketDescriptionUpdateRequestParams


class TicketDescriptionUpdateRequest(_TicketDescriptionUpdateRequestRequired, total=False):
    # The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.
    operation_id: str


class TicketReopenRequestParamsIdentifiers(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class TicketReopenRequestParams(TypedDict):
    identifiers: TicketReopenRequestParamsIdentifiers


class _TicketReopenRequestRequired(TypedDict):
    params: TicketReopenRequestParams


class TicketReopenRequest(_TicketReopenRequestRequired, total=False):
    # The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.
    operation_id: str


class TicketCommentCreateRequestParamsTicket(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class _TicketCommentCreateRequestParamsRequired(TypedDict):
    ticket: TicketCommentCreateRequestParamsTicket
    body: str


class TicketCommentCreateRequestParams(_TicketCommentCreateRequestParamsRequired, total=False):
    # The `h_id` of uploaded files that are `ready`.
    attachment_ids: List[str]


class _TicketCommentCreateRequestRequired(TypedDict):
    params: TicketCommentCreateRequestParams


class TicketCommentCreateRequest(_TicketCommentCreateRequestRequired, total=False):
    # The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.
    operation_id: str


class TicketCommentIdentifiers(TypedDict):
    # Our identifier.
    h_id: str


class TicketComment(TypedDict):
    identifiers: TicketCommentIdentifiers
    author: Literal["merchant", "support"]
    body: str
    attachments: List[TicketAttachment]
    created_at: str
    # When its text last changed.
    updated_at: str


class TicketCommentsListRequestParamsTicket(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class _TicketCommentsListRequestParamsRequired(TypedDict):
    ticket: TicketCommentsListRequestParamsTicket


class TicketCommentsListRequestParams(_TicketCommentsListRequestParamsRequired, total=False):
    # The size of the page; 25 without one.
    limit: int
    # The `next_cursor` of the page before, unchanged, with the same filters.
    cursor: str


class TicketCommentsListRequest(TypedDict):
    params: TicketCommentsListRequestParams


class TicketCommentsListResult(TypedDict):
    items: List[TicketComment]
    # Null on the last page.
    next_cursor: Optional[str]


class TicketCommentUpdateRequestParamsTicket(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class TicketCommentUpdateRequestParams(TypedDict):
    ticket: TicketCommentUpdateRequestParamsTicket
    # The `h_id` of the comment.
    comment_h_id: str
    body: str


class _TicketCommentUpdateRequestRequired(TypedDict):
    params: TicketCommentUpdateRequestParams


class TicketCommentUpdateRequest(_TicketCommentUpdateRequestRequired, total=False):
    # The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.
    operation_id: str


class RefundRequestRequestParamsIdentifiers(TypedDict):
    # Your own reference.
    c_id: str


class RefundRequestRequestParamsPayment(TypedDict, total=False):
    # Your own reference of the payment.
    c_id: str
    # Our identifier of the payment.
    h_id: str


class _RefundRequestRequestParamsRequired(TypedDict):
    identifiers: RefundRequestRequestParamsIdentifiers
    payment: RefundRequestRequestParamsPayment


class RefundRequestRequestParams(_RefundRequestRequestParamsRequired, total=False):
    # In minor units, as a text of digits; without it, all that remains of the payment.
    amount: str
    # Why; the operator reads it.
    reason: str


class RefundRequestRequest(TypedDict):
    params: RefundRequestRequestParams


class RefundIdentifiers(TypedDict):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class RefundPayment(TypedDict):
    # Your own reference of the payment.
    c_id: str
    # The `h_id` of the payment.
    h_id: str


class _RefundRequired(TypedDict):
    identifiers: RefundIdentifiers
    payment: RefundPayment
    # In minor units. It is a text, unlike the amounts of payments.
    amount: str
    currency: str
    # `pending` and `approved` are active; all others are final.
    status: Literal["pending", "approved", "rejected", "canceled", "completed", "failed"]
    # When you requested the refund.
    created_at: str
    # When its status last changed.
    updated_at: str


class Refund(_RefundRequired, total=False):
    # Your own reason.
    reason: str


class RefundGetRequestParamsIdentifiers(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class RefundGetRequestParams(TypedDict):
    identifiers: RefundGetRequestParamsIdentifiers


class RefundGetRequest(TypedDict):
    params: RefundGetRequestParams


class RefundListRequestParamsPayment(TypedDict, total=False):
    # Your own reference of the payment.
    c_id: str
    # Our identifier of the payment.
    h_id: str


class RefundListRequestParams(TypedDict, total=False):
    statuses: List[Literal["pending", "approved", "rejected", "canceled", "completed", "failed"]]
    payment: RefundListRequestParamsPayment
    # Created at this time or later.
    created_from: str
    # Created before this time.
    created_to: str
    # The size of the page; 25 without one.
    limit: int
    # The `next_cursor` of the page before, unchanged, with the same filters.
    cursor: str


class RefundListRequest(TypedDict, total=False):
    params: RefundListRequestParams


class RefundListResult(TypedDict):
    items: List[Refund]
    # Null on the last page.
    next_cursor: Optional[str]


class RefundSummaryRequestParams(TypedDict, total=False):
    # Created at this time or later.
    created_from: str
    # Created before this time.
    created_to: str


class RefundSummaryRequest(TypedDict, total=False):
    params: RefundSummaryRequestParams


class RefundSummaryResultByStatus(TypedDict):
    pending: int
    approved: int
    rejected: int
    canceled: int
    completed: int
    failed: int


class RefundSummaryResult(TypedDict):
    by_status: RefundSummaryResultByStatus


class RefundCommentCreateRequestParamsRefund(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class RefundCommentCreateRequestParams(TypedDict):
    refund: RefundCommentCreateRequestParamsRefund
    body: str


class _RefundCommentCreateRequestRequired(TypedDict):
    params: RefundCommentCreateRequestParams


class RefundCommentCreateRequest(_RefundCommentCreateRequestRequired, total=False):
    # The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.
    operation_id: str


class RefundCommentIdentifiers(TypedDict):
    # Our identifier.
    h_id: str


class RefundComment(TypedDict):
    identifiers: RefundCommentIdentifiers
    author: Literal["merchant", "support"]
    body: str
    created_at: str


class RefundCommentsListRequestParamsRefund(TypedDict, total=False):
    # Your own reference.
    c_id: str
    # Our identifier.
    h_id: str


class _RefundCommentsListRequestParamsRequired(TypedDict):
    refund: RefundCommentsListRequestParamsRefund


class RefundCommentsListRequestParams(_RefundCommentsListRequestParamsRequired, total=False):
    # The size of the page; 25 without one.
    limit: int
    # The `next_cursor` of the page before, unchanged, with the same filters.
    cursor: str


class RefundCommentsListRequest(TypedDict):
    params: RefundCommentsListRequestParams


class RefundCommentsListResult(TypedDict):
    items: List[RefundComment]
    # Null on the last page.
    next_cursor: Optional[str]


class ChargebackGetRequestParamsIdentifiers(TypedDict):
    # Our identifier.
    h_id: str


class ChargebackGetRequestParams(TypedDict):
    identifiers: ChargebackGetRequestParamsIdentifiers


class ChargebackGetRequest(TypedDict):
    params: ChargebackGetRequestParams


class ChargebackIdentifiers(TypedDict):
    # Our identifier.
    h_id: str


class ChargebackPayment(TypedDict):
    # Your own reference of the payment.
    c_id: str
    # The `h_id` of the payment.
    h_id: str


class _ChargebackRequired(TypedDict):
    identifiers: ChargebackIdentifiers
    payment: ChargebackPayment
    # In minor units; it was taken from your balance.
    amount: int
    currency: str
    # The code of the card network or the bank.
    reason_code: str
    # A chargeback that you have `won` was credited back.
    status: Literal["open", "under_review", "won", "lost", "accepted"]
    history: List[ChargebackHistoryEntry]
    # When the chargeback was opened.
    created_at: str
    # When its status last changed, or evidence was added.
    updated_at: str


class Chargeback(_ChargebackRequired, total=False):
    # When evidence must have arrived. Yours goes into a ticket of the category `dispute`.
    deadline_at: str


class _ChargebackHistoryEntryRequired(TypedDict):
    status: Literal["open", "under_review", "won", "lost", "accepted"]
    # When the status was entered.
    created: str


class ChargebackHistoryEntry(_ChargebackHistoryEntryRequired, total=False):
    note: str


class ChargebackListRequestParamsPayment(TypedDict, total=False):
    # Your own reference of the payment.
    c_id: str
    # Our identifier of the payment.
    h_id: str


class ChargebackListRequestParams(TypedDict, total=False):
    statuses: List[Literal["open", "under_review", "won", "lost", "accepted"]]
    payment: ChargebackListRequestParamsPayment
    # Created at this time or later.
    created_from: str
    # Created before this time.
    created_to: str
    # The size of the page; 25 without one.
    limit: int
    # The `next_cursor` of the page before, unchanged, with the same filters.
    cursor: str


class ChargebackListRequest(TypedDict, total=False):
    params: ChargebackListRequestParams


class ChargebackListResult(TypedDict):
    items: List[Chargeback]
    # Null on the last page.
    next_cursor: Optional[str]


class ChargebackSummaryRequestParams(TypedDict, total=False):
    # Created at this time or later.
    created_from: str
    # Created before this time.
    created_to: str


class ChargebackSummaryRequest(TypedDict, total=False):
    params: ChargebackSummaryRequestParams


class ChargebackSummaryResultByStatus(TypedDict):
    open: int
    under_review: int
    won: int
    lost: int
    accepted: int


class ChargebackSummaryResult(TypedDict):
    by_status: ChargebackSummaryResultByStatus


class ChargebackAttachmentsListRequestParamsChargeback(TypedDict):
    # Our identifier.
    h_id: str


class ChargebackAttachmentsListRequestParams(TypedDict):
    chargeback: ChargebackAttachmentsListRequestParamsChargeback


class ChargebackAttachmentsListRequest(TypedDict):
    params: ChargebackAttachmentsListRequestParams


class ChargebackAttachmentsListResult(TypedDict):
    items: List[TicketAttachment]
    # Null on the last page.
    next_cursor: Optional[str]


class AttachmentPrepareRequestParams(TypedDict):
    purpose: Literal["ticket", "ticket_comment"]
    # At most 255 bytes of UTF-8, without separators of paths, control characters and characters that change the direction of text.
    name: str
    mime_type: Literal["application/pdf", "image/png", "image/jpeg", "image/webp", "text/plain", "text/csv"]
    # In bytes, exactly.
    size: int
    # The SHA-256 of the bytes in lower-case hexadecimal.
    sha256: str


class _AttachmentPrepareRequestRequired(TypedDict):
    params: AttachmentPrepareRequestParams


class AttachmentPrepareRequest(_AttachmentPrepareRequestRequired, total=False):
    # The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.
    operation_id: str


class AttachmentIdentifiers(TypedDict):
    # Our identifier.
    h_id: str


class _AttachmentRequired(TypedDict):
    identifiers: AttachmentIdentifiers
    # Files of `chargeback_evidence` come from the operator; all others are yours.
    purpose: Literal["ticket", "ticket_comment", "chargeback_evidence"]
    name: str
    mime_type: Literal["application/pdf", "image/png", "image/jpeg", "image/webp", "text/plain", "text/csv"]
    # In bytes.
    size: int
    sha256: str
    status: Literal["awaiting_upload", "uploaded", "scanning", "ready", "rejected", "expired"]
    created_at: str
    updated_at: str


class Attachment(_AttachmentRequired, total=False):
    # Present only when the file was rejected.
    reason: Literal["sha256_mismatch", "wrong_type", "malformed", "active_content", "malware"]


class AttachmentPrepareResultUpload(TypedDict):
    method: Literal["PUT"]
    headers: Dict[str, str]
    url: str
    expires_at: str


class AttachmentPrepareResult(TypedDict):
    attachment: Attachment
    upload: AttachmentPrepareResultUpload


class AttachmentFinalizeRequestParamsAttachment(TypedDict):
    # Our identifier.
    h_id: str


class AttachmentFinalizeRequestParams(TypedDict):
    attachment: AttachmentFinalizeRequestParamsAttachment


class _AttachmentFinalizeRequestRequired(TypedDict):
    params: AttachmentFinalizeRequestParams


class AttachmentFinalizeRequest(_AttachmentFinalizeRequestRequired, total=False):
    # The idempotency key, permanently. Reuse it only to repeat exactly the same request; another request with it is refused with 1013.
    operation_id: str


class AttachmentFinalizeResult(TypedDict):
    attachment: Attachment


class AttachmentStatusRequestParamsAttachment(TypedDict):
    # Our identifier.
    h_id: str


class AttachmentStatusRequestParams(TypedDict):
    attachment: AttachmentStatusRequestParamsAttachment


class AttachmentStatusRequest(TypedDict):
    params: AttachmentStatusRequestParams


class _AttachmentStatusResultRequired(TypedDict):
    h_id: str
    status: Literal["awaiting_upload", "uploaded", "scanning", "ready", "rejected", "expired"]


class AttachmentStatusResult(_AttachmentStatusResultRequired, total=False):
    # Present only when the file was rejected.
    reason: Literal["sha256_mismatch", "wrong_type", "malformed", "active_content", "malware"]


class AttachmentGetRequestParamsAttachment(TypedDict):
    # Our identifier.
    h_id: str


class AttachmentGetRequestParams(TypedDict):
    attachment: AttachmentGetRequestParamsAttachment


class AttachmentGetRequest(TypedDict):
    params: AttachmentGetRequestParams


class AttachmentGetResultDownload(TypedDict):
    url: str
    expires_at: str


class AttachmentGetResult(TypedDict):
    attachment: Attachment
    download: AttachmentGetResultDownload


class WebhookResendResult(TypedDict):
    payment_id: str
    operation_id: str
    delivery_ids: List[str]
    status: Literal["queued"]


class CallbackDataResult(TypedDict, total=False):
    payment: Payment
    ticket: Dict[str, Any]
    refund: Dict[str, Any]
    chargeback: Dict[str, Any]


class CallbackData(TypedDict):
    result: CallbackDataResult
    success: bool
    request_id: str


class Callback(TypedDict):
    # The id of the resource and the event, joined by a colon.
    id: str
    created_at: str
    data: CallbackData
    merchant_id: str

TicketCreateResult = Ticket
TicketGetResult = Ticket
TicketDescriptionUpdateResult = Ticket
TicketReopenResult = Ticket
TicketCommentCreateResult = TicketComment
TicketCommentUpdateResult = TicketComment
RefundRequestResult = Refund
RefundGetResult = Refund
RefundCommentCreateResult = RefundComment
ChargebackGetResult = Chargeback
