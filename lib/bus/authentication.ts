import { describedSetting } from '#lib/base/config/config.ts'
import { choiceSetting } from '#lib/base/config/settings.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter, gauge } from '#lib/telemetry/metrics.ts'
import type { Message } from './bus.ts'

/** The header with the subject to which the receipt of an event is sent. */
export const RECEIPT_SUBJECT_HEADER = 'multihub-receipt-to'
const TIME_HEADER = 'multihub-time'
const SIGNATURE_HEADER = 'multihub-signature'

/** A message that is older, or by as much ahead, is dropped: whoever recorded it must not send it again later. */
export const MESSAGE_AGE_MAX_MS = 300_000

/** Whether messages must be signed. `accept` also takes unsigned ones, which processes of an earlier release send. */
export const BUS_AUTH_SETTING = describedSetting(
  'Whether events and receipts on the bus must be signed. `accept` also takes unsigned ones, during one update only: it is counted, and an alert after an hour.',
  choiceSetting('MULTIHUB_BUS_AUTH', ['require', 'accept'], 'require'),
)

/** Whether messages must be signed; see `BUS_AUTH_SETTING`. */
export type BusAuth = 'require' | 'accept'

const unauthentic = counter(
  'multihub_bus_unauthentic_total',
  'Events and receipts from the bus that were dropped: unsigned, with a wrong signature (forged), or older than 5 minutes; and `accepted` ones, which `MULTIHUB_BUS_AUTH=accept` takes although they are unsigned.',
  ['message', 'reason'],
)

const accepts_unsigned = gauge(
  'multihub_bus_accepts_unsigned',
  'Whether `MULTIHUB_BUS_AUTH=accept` lets this process take unsigned events or receipts (0 or 1).',
)

type Headers = Message['headers']

/** What a signature covers: whoever may only publish can change none of it, nor use it for another subject (O10). */
function signedBytes(subject: string, data: Uint8Array, headers: Headers): Uint8Array {
  const head = [subject, headers[RECEIPT_SUBJECT_HEADER] ?? '', headers[TIME_HEADER] ?? '']
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), data])
}

/** The headers of a message with its time and signature. */
export function signedHeaders(signer: Signer, subject: string, data: Uint8Array, headers: Headers): Headers {
  const timed = { ...headers, [TIME_HEADER]: `${now().getTime()}` }
  return { ...timed, [SIGNATURE_HEADER]: signer.sign(signedBytes(subject, data, timed)) }
}

/** Why a message is not authentic; `undefined` when it is. */
function findReason(
  { subject, data, headers }: Message,
  signer: Signer,
  auth: BusAuth,
): (typeof REASONS)[number] | undefined {
  const signature = headers[SIGNATURE_HEADER]
  if (signature === undefined) return auth === 'accept' ? 'accepted' : 'unsigned'
  if (!signer.verify(signedBytes(subject, data, headers), signature)) return 'forged'
  const age_ms = now().getTime() - Number(headers[TIME_HEADER])
  return Math.abs(age_ms) <= MESSAGE_AGE_MAX_MS ? undefined : 'old'
}

const REASONS = ['unsigned', 'forged', 'old', 'accepted'] as const

const ACCEPTS_UNSIGNED =
  'unsigned messages of the bus are accepted; remove MULTIHUB_BUS_AUTH=accept when no process of the earlier release runs'

/** What a role that reads messages of the bus says of its settings in `/readyz`: whether it takes forged ones for authentic. */
export function busLimitations(auth: BusAuth): readonly string[] {
  return auth === 'accept' ? [ACCEPTS_UNSIGNED] : []
}

/**
 * Makes the check of received messages of one kind: whether one is authentic, signed with the key that belongs to its subject,
 * or accepted without a signature. What is not authentic is counted in both cases, and what is dropped is logged.
 */
export function createMessageCheck(kind: 'event' | 'receipt', auth: BusAuth) {
  // An alert sees the first refusal only if the series was 0 before.
  for (const reason of REASONS) unauthentic.increment({ message: kind, reason }, 0)
  accepts_unsigned.set({}, auth === 'accept' ? 1 : 0)
  if (auth === 'accept') log.warn({ kind }, ACCEPTS_UNSIGNED)
  return (message: Message, signer: Signer): boolean => {
    const reason = findReason(message, signer, auth)
    if (reason === undefined) return true
    unauthentic.increment({ message: kind, reason })
    if (reason === 'accepted') return true
    // The log has ten such lines per minute at most, so whoever forges messages does not fill it.
    log.error({ subject: message.subject, reason }, 'a message of the bus is not authentic; it is dropped')
    return false
  }
}
