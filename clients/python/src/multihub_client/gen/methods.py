# Made by npm run generate. Do not edit.

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, cast

from . import types as t


class MethodCalls:
    """Each method of the interface as a function."""

    def call(self, method: str, request: Mapping[str, Any]) -> Any:
        """Calls a method by its name."""
        raise NotImplementedError

    def each(self, method: str, request: Mapping[str, Any]) -> Iterator[Any]:
        """Every item of a list, page by page."""
        raise NotImplementedError

    def payment_in(self, request: t.PaymentInRequest) -> t.PaymentInResult:
        """`payment.in`: creates a deposit: a customer pays you. It is sent once: `create_payment` survives a lost answer."""
        return cast("t.PaymentInResult", self.call("payment.in", request))

    def payment_out(self, request: t.PaymentOutRequest) -> t.PaymentOutResult:
        """`payment.out`: creates a withdrawal: you pay a recipient. It is sent once: `create_payment` survives a lost answer."""
        return cast("t.PaymentOutResult", self.call("payment.out", request))

    def payment_status(self, request: t.PaymentStatusRequest) -> t.PaymentStatusResult:
        """`payment.status`: shows a payment and its status."""
        return cast("t.PaymentStatusResult", self.call("payment.status", request))

    def payment_notification(self, request: t.PaymentNotificationRequest) -> t.PaymentNotificationResult:
        """`payment.notification`: sends the callback of a payment’s current status again."""
        return cast("t.PaymentNotificationResult", self.call("payment.notification", request))

    def balance_get(self, request: Optional[t.BalanceGetRequest] = None) -> t.BalanceGetResult:
        """`balance.get`: shows your balance in each currency."""
        return cast("t.BalanceGetResult", self.call("balance.get", request or {}))

    def gateway_ping(self, request: Optional[t.GatewayPingRequest] = None) -> t.GatewayPingResult:
        """`gateway.ping`: checks your signature."""
        return cast("t.GatewayPingResult", self.call("gateway.ping", request or {}))

    def ticket_create(self, request: t.TicketCreateRequest) -> t.TicketCreateResult:
        """`ticket.create`: opens a ticket."""
        return cast("t.TicketCreateResult", self.call("ticket.create", request))

    def ticket_get(self, request: t.TicketGetRequest) -> t.TicketGetResult:
        """`ticket.get`: shows a ticket."""
        return cast("t.TicketGetResult", self.call("ticket.get", request))

    def ticket_list(self, request: Optional[t.TicketListRequest] = None) -> t.TicketListResult:
        """`ticket.list`: lists your tickets, newest first."""
        return cast("t.TicketListResult", self.call("ticket.list", request or {}))

    def ticket_list_each(self, request: Optional[t.TicketListRequest] = None) -> Iterator[t.Ticket]:
        """Every item of `ticket.list`, page by page."""
        return cast("Iterator[t.Ticket]", self.each("ticket.list", request or {}))

    def ticket_summary(self, request: Optional[t.TicketSummaryRequest] = None) -> t.TicketSummaryResult:
        """`ticket.summary`: counts your tickets by status."""
        return cast("t.TicketSummaryResult", self.call("ticket.summary", request or {}))

    def ticket_description_update(self, request: t.TicketDescriptionUpdateRequest) -> t.TicketDescriptionUpdateResult:
        """`ticket.description.update`: replaces the description of a ticket."""
        return cast("t.TicketDescriptionUpdateResult", self.call("ticket.description.update", request))

    def ticket_reopen(self, request: t.TicketReopenRequest) -> t.TicketReopenResult:
        """`ticket.reopen`: opens a resolved or closed ticket again."""
        return cast("t.TicketReopenResult", self.call("ticket.reopen", request))

    def ticket_comment_create(self, request: t.TicketCommentCreateRequest) -> t.TicketCommentCreateResult:
        """`ticket.comment.create`: adds a comment to a ticket."""
        return cast("t.TicketCommentCreateResult", self.call("ticket.comment.create", request))

    def ticket_comments_list(self, request: t.TicketCommentsListRequest) -> t.TicketCommentsListResult:
        """`ticket.comments.list`: lists the comments of a ticket, oldest first."""
        return cast("t.TicketCommentsListResult", self.call("ticket.comments.list", request))

    def ticket_comments_list_each(self, request: t.TicketCommentsListRequest) -> Iterator[t.TicketComment]:
        """Every item of `ticket.comments.list`, page by page."""
        return cast("Iterator[t.TicketComment]", self.each("ticket.comments.list", request))

    def ticket_comment_update(self, request: t.TicketCommentUpdateRequest) -> t.TicketCommentUpdateResult:
        """`ticket.comment.update`: replaces the text of your comment."""
        return cast("t.TicketCommentUpdateResult", self.call("ticket.comment.update", request))

    def refund_request(self, request: t.RefundRequestRequest) -> t.RefundRequestResult:
        """`refund.request`: requests a refund."""
        return cast("t.RefundRequestResult", self.call("refund.request", request))

    def refund_get(self, request: t.RefundGetRequest) -> t.RefundGetResult:
        """`refund.get`: shows a refund."""
        return cast("t.RefundGetResult", self.call("refund.get", request))

    def refund_list(self, request: Optional[t.RefundListRequest] = None) -> t.RefundListResult:
        """`refund.list`: lists your refunds, newest first."""
        return cast("t.RefundListResult", self.call("refund.list", request or {}))

    def refund_list_each(self, request: Optional[t.RefundListRequest] = None) -> Iterator[t.Refund]:
        """Every item of `refund.list`, page by page."""
        return cast("Iterator[t.Refund]", self.each("refund.list", request or {}))

    def refund_summary(self, request: Optional[t.RefundSummaryRequest] = None) -> t.RefundSummaryResult:
        """`refund.summary`: counts your refunds by status."""
        return cast("t.RefundSummaryResult", self.call("refund.summary", request or {}))

    def refund_comment_create(self, request: t.RefundCommentCreateRequest) -> t.RefundCommentCreateResult:
        """`refund.comment.create`: comments on a refund."""
        return cast("t.RefundCommentCreateResult", self.call("refund.comment.create", request))

    def refund_comments_list(self, request: t.RefundCommentsListRequest) -> t.RefundCommentsListResult:
        """`refund.comments.list`: lists the comments on a refund, oldest first."""
        return cast("t.RefundCommentsListResult", self.call("refund.comments.list", request))

    def refund_comments_list_each(self, request: t.RefundCommentsListRequest) -> Iterator[t.RefundComment]:
        """Every item of `refund.comments.list`, page by page."""
        return cast("Iterator[t.RefundComment]", self.each("refund.comments.list", request))

    def chargeback_get(self, request: t.ChargebackGetRequest) -> t.ChargebackGetResult:
        """`chargeback.get`: shows a chargeback."""
        return cast("t.ChargebackGetResult", self.call("chargeback.get", request))

    def chargeback_list(self, request: Optional[t.ChargebackListRequest] = None) -> t.ChargebackListResult:
        """`chargeback.list`: lists your chargebacks, newest first."""
        return cast("t.ChargebackListResult", self.call("chargeback.list", request or {}))

    def chargeback_list_each(self, request: Optional[t.ChargebackListRequest] = None) -> Iterator[t.Chargeback]:
        """Every item of `chargeback.list`, page by page."""
        return cast("Iterator[t.Chargeback]", self.each("chargeback.list", request or {}))

    def chargeback_summary(self, request: Optional[t.ChargebackSummaryRequest] = None) -> t.ChargebackSummaryResult:
        """`chargeback.summary`: counts your chargebacks by status."""
        return cast("t.ChargebackSummaryResult", self.call("chargeback.summary", request or {}))

    def chargeback_attachments_list(self, request: t.ChargebackAttachmentsListRequest) -> t.ChargebackAttachmentsListResult:
        """`chargeback.attachments.list`: lists the evidence of a chargeback."""
        return cast("t.ChargebackAttachmentsListResult", self.call("chargeback.attachments.list", request))

    def chargeback_attachments_list_each(self, request: t.ChargebackAttachmentsListRequest) -> Iterator[t.TicketAttachment]:
        """Every item of `chargeback.attachments.list`, page by page."""
        return cast("Iterator[t.TicketAttachment]", self.each("chargeback.attachments.list", request))

    def attachment_prepare(self, request: t.AttachmentPrepareRequest) -> t.AttachmentPrepareResult:
        """`attachment.prepare`: prepares the upload of a file."""
        return cast("t.AttachmentPrepareResult", self.call("attachment.prepare", request))

    def attachment_finalize(self, request: t.AttachmentFinalizeRequest) -> t.AttachmentFinalizeResult:
        """`attachment.finalize`: ends the upload of a file and has it checked."""
        return cast("t.AttachmentFinalizeResult", self.call("attachment.finalize", request))

    def attachment_status(self, request: t.AttachmentStatusRequest) -> t.AttachmentStatusResult:
        """`attachment.status`: shows the status of a file."""
        return cast("t.AttachmentStatusResult", self.call("attachment.status", request))

    def attachment_get(self, request: t.AttachmentGetRequest) -> t.AttachmentGetResult:
        """`attachment.get`: shows a file and where to download it."""
        return cast("t.AttachmentGetResult", self.call("attachment.get", request))
