import { createHash, randomUUID } from 'node:crypto'
import { AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ChargebackStatus } from '#gen/multihub/support/v1/chargeback_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { eventually } from '../support/eventually.ts'
import { announcementOf, transfer } from './attachments.fixture.ts'
import type { SupportClient, SupportSystem } from './support.fixture.ts'

/** The identifiers of a payment and of what it has at support. */
export interface SupportOfPayment {
  readonly payment_c_id: string
  readonly payment_id: string
  readonly ticket_c_id: string
  readonly ticket_id: string
  readonly refund_c_id: string
  readonly refund_id: string
  readonly chargeback_id: string
  /** The file of the ticket, and the evidence of the chargeback. */
  readonly file_ids: readonly string[]
}

async function waitUntilReady(system: SupportSystem, attachmentId: string, merchantId: string) {
  await eventually(
    () =>
      system
        .operator(AttachmentService)
        .getAttachment({ merchantId, environment: Environment.TEST, attachmentId }),
    (found) => found?.attachment?.status === AttachmentStatus.READY,
  )
}

/** Uploads a file of the merchant for a ticket, with a word in its name and content. Returns its id. */
export async function ticketFile(system: SupportSystem, shop: SupportClient, word: string): Promise<string> {
  const content = Buffer.from(`the passport of ${word}\n`)
  const announced = announcementOf(content, { purpose: 'ticket', name: `${word}.txt` })
  const { body } = await shop.call('attachment.prepare', announced, randomUUID())
  const { h_id } = body.result.attachment.identifiers
  const { url, headers } = body.result.upload
  await transfer(url, { method: 'PUT', headers, content })
  await shop.call('attachment.finalize', { attachment: { h_id } }, randomUUID())
  await waitUntilReady(system, h_id, shop.merchant_id)
  return h_id
}

/** Uploads a file of the operator for a chargeback. */
async function evidenceFile(system: SupportSystem, shop: SupportClient, word: string): Promise<string> {
  const attachments = system.operator(AttachmentService)
  const scope = { merchantId: shop.merchant_id, environment: Environment.TEST }
  const content = Buffer.from(`a letter of ${word}\n`)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const file = { name: `${word}.txt`, mimeType: 'text/plain', sizeBytes: BigInt(content.length), sha256 }
  const prepared = await attachments.prepareEvidence({ ...scope, file, operationId: randomUUID() })
  const attachmentId = prepared.attachment?.attachmentId ?? ''
  const url = `${system.roles.urls['base_url']}${prepared.upload?.path}`
  await transfer(url, { method: 'PUT', headers: { 'content-type': 'text/plain' }, content })
  await attachments.finalizeEvidence({ ...scope, attachmentId, operationId: randomUUID() })
  await waitUntilReady(system, attachmentId, shop.merchant_id)
  return attachmentId
}

/**
 * Creates a paid deposit with a ticket, a refund and a chargeback, all of which have ended, with comments and files. A word is in each
 * text and name.
 */
export async function createSupportOfPayment(
  system: SupportSystem,
  shop: SupportClient,
  word: string,
): Promise<SupportOfPayment> {
  const [tickets, refunds] = [system.operator(TicketService), system.operator(RefundService)]
  const chargebacks = system.operator(ChargebackService)
  const { c_id, h_id: payment_id } = await shop.deposit()
  await eventually(
    () => shop.call('payment.status', { payment: { identifiers: { c_id } } }),
    (seen) => seen?.body.result.payment.status.final === true,
  )
  const [ticket_c_id, refund_c_id] = [randomUUID(), randomUUID()]
  const file = await ticketFile(system, shop, word)
  const ticket = await shop.call('ticket.create', {
    identifiers: { c_id: ticket_c_id },
    title: `${word} did not pay`,
    description: `Ask ${word}`,
    category: 'other',
    payment: { c_id },
    attachment_ids: [file],
  })
  const ticket_id: string = ticket.body.result.identifiers.h_id
  await tickets.answerTicket({ ticketId: ticket_id, body: `Dear ${word}`, operationId: randomUUID() })
  await tickets.moveTicket({ ticketId: ticket_id, status: TicketStatus.CLOSED })

  const requested = await shop.call('refund.request', {
    identifiers: { c_id: refund_c_id },
    payment: { c_id },
    amount: '100',
    reason: `${word} wants it back`,
  })
  const refund_id: string = requested.body.result.identifiers.h_id
  const refund = { h_id: refund_id }
  await shop.call('refund.comment.create', { refund, body: `${word} called` }, randomUUID())
  await refunds.answerRefund({ refundId: refund_id, body: `Who is ${word}?`, operationId: randomUUID() })
  await refunds.rejectRefund({ refundId: refund_id, reason: `${word} is not the payer` })

  const demanded = {
    paymentId: payment_id,
    amount: { minor: 5n, currency: '' },
    reasonCode: '10.4',
    operationId: randomUUID(),
  }
  // After a step of the clock a process may need a moment.
  const opened = await eventually(
    () => chargebacks.openChargeback(demanded).catch(() => undefined),
    (answer) => answer !== undefined,
  )
  const chargeback_id = opened?.chargeback?.chargebackId ?? ''
  const evidence = await evidenceFile(system, shop, word)
  await chargebacks.addEvidence({ chargebackId: chargeback_id, attachmentId: evidence })
  const status = ChargebackStatus.LOST
  await chargebacks.moveChargeback({ chargebackId: chargeback_id, status, note: `${word} has won` })
  return {
    payment_c_id: c_id,
    payment_id,
    ticket_c_id,
    ticket_id,
    refund_c_id,
    refund_id,
    chargeback_id,
    file_ids: [file, evidence],
  }
}
