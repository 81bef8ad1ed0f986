import { type MethodName, RESEND_BUCKET } from '#lib/contract/vocabulary.ts'

const CEILING = 300_000
const READ = 120
const WRITE = 30
const SUMMARY = 30
const ATTACHMENT = 20
const RARE = 10

/** The types require an entry for every method except `gateway.ping`, which is free. */
const DEFAULTS: Readonly<Record<Exclude<MethodName, 'gateway.ping'> | typeof RESEND_BUCKET, number>> = {
  'payment.in': CEILING,
  'payment.out': CEILING,
  'payment.status': CEILING,
  'payment.notification': RARE,
  [RESEND_BUCKET]: RARE,
  'balance.get': 60_000,
  'ticket.create': WRITE,
  'ticket.get': READ,
  'ticket.list': READ,
  'ticket.summary': SUMMARY,
  'ticket.description.update': WRITE,
  'ticket.reopen': WRITE,
  'ticket.comment.create': WRITE,
  'ticket.comments.list': READ,
  'ticket.comment.update': WRITE,
  'refund.request': RARE,
  'refund.get': READ,
  'refund.list': READ,
  'refund.summary': SUMMARY,
  'refund.comment.create': WRITE,
  'refund.comments.list': READ,
  'chargeback.get': READ,
  'chargeback.list': READ,
  'chargeback.summary': SUMMARY,
  'chargeback.attachments.list': READ,
  'attachment.prepare': ATTACHMENT,
  'attachment.finalize': ATTACHMENT,
  'attachment.status': ATTACHMENT,
  'attachment.get': ATTACHMENT,
}

/** The default quota of each bucket in calls per minute; the operator may replace it per credential (E10). */
export const DEFAULT_QUOTAS: ReadonlyMap<string, number> = new Map(Object.entries(DEFAULTS))
