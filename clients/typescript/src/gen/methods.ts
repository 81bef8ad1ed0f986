// Made by npm run generate. Do not edit.

import type { AttachmentFinalizeRequest, AttachmentFinalizeResult, AttachmentGetRequest, AttachmentGetResult, AttachmentPrepareRequest, AttachmentPrepareResult, AttachmentStatusRequest, AttachmentStatusResult, BalanceGetRequest, BalanceGetResult, Chargeback, ChargebackAttachmentsListRequest, ChargebackAttachmentsListResult, ChargebackGetRequest, ChargebackGetResult, ChargebackListRequest, ChargebackListResult, ChargebackSummaryRequest, ChargebackSummaryResult, GatewayPingRequest, GatewayPingResult, PaymentInRequest, PaymentInResult, PaymentNotificationRequest, PaymentNotificationResult, PaymentOutRequest, PaymentOutResult, PaymentStatusRequest, PaymentStatusResult, Refund, RefundComment, RefundCommentCreateRequest, RefundCommentCreateResult, RefundCommentsListRequest, RefundCommentsListResult, RefundGetRequest, RefundGetResult, RefundListRequest, RefundListResult, RefundRequestRequest, RefundRequestResult, RefundSummaryRequest, RefundSummaryResult, Ticket, TicketAttachment, TicketComment, TicketCommentCreateRequest, TicketCommentCreateResult, TicketCommentUpdateRequest, TicketCommentUpdateResult, TicketCommentsListRequest, TicketCommentsListResult, TicketCreateRequest, TicketCreateResult, TicketDescriptionUpdateRequest, TicketDescriptionUpdateResult, TicketGetRequest, TicketGetResult, TicketListRequest, TicketListResult, TicketReopenRequest, TicketReopenResult, TicketSummaryRequest, TicketSummaryResult } from './types.ts'

/** What a single call can set. */
export interface CallOptions {
  /** Ends the call and its retries. */
  signal?: AbortSignal | undefined
}

/** The request and the result of each method. */
export interface Methods {
  'payment.in': { request: PaymentInRequest; result: PaymentInResult }
  'payment.out': { request: PaymentOutRequest; result: PaymentOutResult }
  'payment.status': { request: PaymentStatusRequest; result: PaymentStatusResult }
  'payment.notification': { request: PaymentNotificationRequest; result: PaymentNotificationResult }
  'balance.get': { request: BalanceGetRequest; result: BalanceGetResult }
  'gateway.ping': { request: GatewayPingRequest; result: GatewayPingResult }
  'ticket.create': { request: TicketCreateRequest; result: TicketCreateResult }
  'ticket.get': { request: TicketGetRequest; result: TicketGetResult }
  'ticket.list': { request: TicketListRequest; result: TicketListResult }
  'ticket.summary': { request: TicketSummaryRequest; result: TicketSummaryResult }
  'ticket.description.update': { request: TicketDescriptionUpdateRequest; result: TicketDescriptionUpdateResult }
  'ticket.reopen': { request: TicketReopenRequest; result: TicketReopenResult }
  'ticket.comment.create': { request: TicketCommentCreateRequest; result: TicketCommentCreateResult }
  'ticket.comments.list': { request: TicketCommentsListRequest; result: TicketCommentsListResult }
  'ticket.comment.update': { request: TicketCommentUpdateRequest; result: TicketCommentUpdateResult }
  'refund.request': { request: RefundRequestRequest; result: RefundRequestResult }
  'refund.get': { request: RefundGetRequest; result: RefundGetResult }
  'refund.list': { request: RefundListRequest; result: RefundListResult }
  'refund.summary': { request: RefundSummaryRequest; result: RefundSummaryResult }
  'refund.comment.create': { request: RefundCommentCreateRequest; result: RefundCommentCreateResult }
  'refund.comments.list': { request: RefundCommentsListRequest; result: RefundCommentsListResult }
  'chargeback.get': { request: ChargebackGetRequest; result: ChargebackGetResult }
  'chargeback.list': { request: ChargebackListRequest; result: ChargebackListResult }
  'chargeback.summary': { request: ChargebackSummaryRequest; result: ChargebackSummaryResult }
  'chargeback.attachments.list': { request: ChargebackAttachmentsListRequest; result: ChargebackAttachmentsListResult }
  'attachment.prepare': { request: AttachmentPrepareRequest; result: AttachmentPrepareResult }
  'attachment.finalize': { request: AttachmentFinalizeRequest; result: AttachmentFinalizeResult }
  'attachment.status': { request: AttachmentStatusRequest; result: AttachmentStatusResult }
  'attachment.get': { request: AttachmentGetRequest; result: AttachmentGetResult }
}

/** The items of each method that lists something. */
export interface ListItems {
  'ticket.list': Ticket
  'ticket.comments.list': TicketComment
  'refund.list': Refund
  'refund.comments.list': RefundComment
  'chargeback.list': Chargeback
  'chargeback.attachments.list': TicketAttachment
}

/** Each method of the interface as a function. */
export abstract class MethodCalls {
  /** Calls a method by its name. */
  abstract call<M extends keyof Methods>(method: M, request: Methods[M]['request'], options?: CallOptions): Promise<Methods[M]['result']>

  /** Every item of a list, page by page. */
  abstract each<M extends keyof ListItems>(method: M, request: Methods[M]['request'], options?: CallOptions): AsyncGenerator<ListItems[M]>

  /** `payment.in`: creates a deposit: a customer pays you. It is sent once: `createPayment` survives a lost answer. */
  paymentIn(request: PaymentInRequest, options?: CallOptions): Promise<PaymentInResult> {
    return this.call('payment.in', request, options)
  }

  /** `payment.out`: creates a withdrawal: you pay a recipient. It is sent once: `createPayment` survives a lost answer. */
  paymentOut(request: PaymentOutRequest, options?: CallOptions): Promise<PaymentOutResult> {
    return this.call('payment.out', request, options)
  }

  /** `payment.status`: shows a payment and its status. */
  paymentStatus(request: PaymentStatusRequest, options?: CallOptions): Promise<PaymentStatusResult> {
    return this.call('payment.status', request, options)
  }

  /** `payment.notification`: sends the callback of a payment’s current status again. */
  paymentNotification(request: PaymentNotificationRequest, options?: CallOptions): Promise<PaymentNotificationResult> {
    return this.call('payment.notification', request, options)
  }

  /** `balance.get`: shows your balance in each currency. */
  balanceGet(request: BalanceGetRequest = {}, options?: CallOptions): Promise<BalanceGetResult> {
    return this.call('balance.get', request, options)
  }

  /** `gateway.ping`: checks your signature. */
  gatewayPing(request: GatewayPingRequest = {}, options?: CallOptions): Promise<GatewayPingResult> {
    return this.call('gateway.ping', request, options)
  }

  /** `ticket.create`: opens a ticket. */
  ticketCreate(request: TicketCreateRequest, options?: CallOptions): Promise<TicketCreateResult> {
    return this.call('ticket.create', request, options)
  }

  /** `ticket.get`: shows a ticket. */
  ticketGet(request: TicketGetRequest, options?: CallOptions): Promise<TicketGetResult> {
    return this.call('ticket.get', request, options)
  }

  /** `ticket.list`: lists your tickets, newest first. */
  ticketList(request: TicketListRequest = {}, options?: CallOptions): Promise<TicketListResult> {
    return this.call('ticket.list', request, options)
  }

  /** Every item of `ticket.list`, page by page. */
  ticketListEach(request: TicketListRequest = {}, options?: CallOptions): AsyncGenerator<Ticket> {
    return this.each('ticket.list', request, options)
  }

  /** `ticket.summary`: counts your tickets by status. */
  ticketSummary(request: TicketSummaryRequest = {}, options?: CallOptions): Promise<TicketSummaryResult> {
    return this.call('ticket.summary', request, options)
  }

  /** `ticket.description.update`: replaces the description of a ticket. */
  ticketDescriptionUpdate(request: TicketDescriptionUpdateRequest, options?: CallOptions): Promise<TicketDescriptionUpdateResult> {
    return this.call('ticket.description.update', request, options)
  }

  /** `ticket.reopen`: opens a resolved or closed ticket again. */
  ticketReopen(request: TicketReopenRequest, options?: CallOptions): Promise<TicketReopenResult> {
    return this.call('ticket.reopen', request, options)
  }

  /** `ticket.comment.create`: adds a comment to a ticket. */
  ticketCommentCreate(request: TicketCommentCreateRequest, options?: CallOptions): Promise<TicketCommentCreateResult> {
    return this.call('ticket.comment.create', request, options)
  }

  /** `ticket.comments.list`: lists the comments of a ticket, oldest first. */
  ticketCommentsList(request: TicketCommentsListRequest, options?: CallOptions): Promise<TicketCommentsListResult> {
    return this.call('ticket.comments.list', request, options)
  }

  /** Every item of `ticket.comments.list`, page by page. */
  ticketCommentsListEach(request: TicketCommentsListRequest, options?: CallOptions): AsyncGenerator<TicketComment> {
    return this.each('ticket.comments.list', request, options)
  }

  /** `ticket.comment.update`: replaces the text of your comment. */
  ticketCommentUpdate(request: TicketCommentUpdateRequest, options?: CallOptions): Promise<TicketCommentUpdateResult> {
    return this.call('ticket.comment.update', request, options)
  }

  /** `refund.request`: requests a refund. */
  refundRequest(request: RefundRequestRequest, options?: CallOptions): Promise<RefundRequestResult> {
    return this.call('refund.request', request, options)
  }

  /** `refund.get`: shows a refund. */
  refundGet(request: RefundGetRequest, options?: CallOptions): Promise<RefundGetResult> {
    return this.call('refund.get', request, options)
  }

  /** `refund.list`: lists your refunds, newest first. */
  refundList(request: RefundListRequest = {}, options?: CallOptions): Promise<RefundListResult> {
    return this.call('refund.list', request, options)
  }

  /** Every item of `refund.list`, page by page. */
  refundListEach(request: RefundListRequest = {}, options?: CallOptions): AsyncGenerator<Refund> {
    return this.each('refund.list', request, options)
  }

  /** `refund.summary`: counts your refunds by status. */
  refundSummary(request: RefundSummaryRequest = {}, options?: CallOptions): Promise<RefundSummaryResult> {
    return this.call('refund.summary', request, options)
  }

  /** `refund.comment.create`: comments on a refund. */
  refundCommentCreate(request: RefundCommentCreateRequest, options?: CallOptions): Promise<RefundCommentCreateResult> {
    return this.call('refund.comment.create', request, options)
  }

  /** `refund.comments.list`: lists the comments on a refund, oldest first. */
  refundCommentsList(request: RefundCommentsListRequest, options?: CallOptions): Promise<RefundCommentsListResult> {
    return this.call('refund.comments.list', request, options)
  }

  /** Every item of `refund.comments.list`, page by page. */
  refundCommentsListEach(request: RefundCommentsListRequest, options?: CallOptions): AsyncGenerator<RefundComment> {
    return this.each('refund.comments.list', request, options)
  }

  /** `chargeback.get`: shows a chargeback. */
  chargebackGet(request: ChargebackGetRequest, options?: CallOptions): Promise<ChargebackGetResult> {
    return this.call('chargeback.get', request, options)
  }

  /** `chargeback.list`: lists your chargebacks, newest first. */
  chargebackList(request: ChargebackListRequest = {}, options?: CallOptions): Promise<ChargebackListResult> {
    return this.call('chargeback.list', request, options)
  }

  /** Every item of `chargeback.list`, page by page. */
  chargebackListEach(request: ChargebackListRequest = {}, options?: CallOptions): AsyncGenerator<Chargeback> {
    return this.each('chargeback.list', request, options)
  }

  /** `chargeback.summary`: counts your chargebacks by status. */
  chargebackSummary(request: ChargebackSummaryRequest = {}, options?: CallOptions): Promise<ChargebackSummaryResult> {
    return this.call('chargeback.summary', request, options)
  }

  /** `chargeback.attachments.list`: lists the evidence of a chargeback. */
  chargebackAttachmentsList(request: ChargebackAttachmentsListRequest, options?: CallOptions): Promise<ChargebackAttachmentsListResult> {
    return this.call('chargeback.attachments.list', request, options)
  }

  /** Every item of `chargeback.attachments.list`, page by page. */
  chargebackAttachmentsListEach(request: ChargebackAttachmentsListRequest, options?: CallOptions): AsyncGenerator<TicketAttachment> {
    return this.each('chargeback.attachments.list', request, options)
  }

  /** `attachment.prepare`: prepares the upload of a file. */
  attachmentPrepare(request: AttachmentPrepareRequest, options?: CallOptions): Promise<AttachmentPrepareResult> {
    return this.call('attachment.prepare', request, options)
  }

  /** `attachment.finalize`: ends the upload of a file and has it checked. */
  attachmentFinalize(request: AttachmentFinalizeRequest, options?: CallOptions): Promise<AttachmentFinalizeResult> {
    return this.call('attachment.finalize', request, options)
  }

  /** `attachment.status`: shows the status of a file. */
  attachmentStatus(request: AttachmentStatusRequest, options?: CallOptions): Promise<AttachmentStatusResult> {
    return this.call('attachment.status', request, options)
  }

  /** `attachment.get`: shows a file and where to download it. */
  attachmentGet(request: AttachmentGetRequest, options?: CallOptions): Promise<AttachmentGetResult> {
    return this.call('attachment.get', request, options)
  }
}
