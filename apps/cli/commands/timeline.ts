import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import {
  GetTimelineRequestSchema,
  type GetTimelineResponse,
  GetTimelineResponseSchema,
  TimelineService,
  type TimelineStep,
} from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { type Payment, PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import { amountText, durationText, valueText } from '#lib/contract/shown-values.ts'
import { toneOf } from '#lib/contract/tones.ts'
import { openConnection } from '../call/connection.ts'
import { byAnyId } from '../call/find-payment.ts'
import { inTone, stateText } from '../output/colour.ts'
import { codesIn, explainCodes } from '../output/explain-codes.ts'
import { jsonOf } from '../output/print.ts'
import { columnsOf, wrap } from '../output/timeline-columns.ts'
import { addCommonFlags, type CommonFlags } from '../request/common-flags.ts'
import type { Output } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

/** Rows within this time of a row with its whole time show how much later they are. */
const NEAR_MS = 60_000

const TIME_WIDTH = '00:00:00.000'.length
const GAP = '  '

/** `multihub timeline ID`: everything that happened to a payment, and what comes next. */
export const declare: DeclareCommand = (command, terminal) => {
  command
    .argument(
      '<ID>',
      'any id: of a payment (also c_id, p_id, UTR), refund, chargeback, ticket, callback or request',
    )
    .option('--reveal', 'show personal data; it is audited')
  addCommonFlags(command)
  command.option('--reason <text>', 'why; it goes into the audit trail')
  command.action(async (id: string, flags: CommonFlags & { readonly reveal?: boolean }) => {
    const connection = openConnection(flags, terminal)
    const answer = await byAnyId(connection, id, 'timeline', (paymentId) =>
      connection.call(
        TimelineService.method.getTimeline,
        create(GetTimelineRequestSchema, { paymentId, reveal: flags.reveal === true }),
      ),
    )
    const { stdout } = terminal
    if (flags.json || flags.jsonl)
      stdout.write(`${jsonOf(GetTimelineResponseSchema, answer, flags.json ? 2 : undefined)}\n`)
    else {
      printTimeline(stdout, answer, flags.minor === true)
      if (flags.explain) explainCodes(stdout, codesOf(answer))
    }
  })
}

/** The codes of the error table in the rows: in their data they are text. */
function codesOf({ payment, rows }: GetTimelineResponse): ReadonlySet<number> {
  const in_rows = rows.flatMap(({ data }) =>
    Object.entries(data ?? {}).flatMap(([name, text]) =>
      /^(?:error|refused)_code$/.test(name) ? [Number(text)] : [],
    ),
  )
  return new Set([...(payment === undefined ? [] : codesIn(PaymentSchema, payment)), ...in_rows])
}

/** A narrower terminal gets this much for the text of a row, and wraps it itself. */
const TEXT_MIN = 20

/** Prints a timeline for people: the time, what a row is about, and what happened to it. Times are in UTC. */
export function printTimeline(output: Output, timeline: GetTimelineResponse, is_minor: boolean): void {
  const { payment, rows, unavailable, incompleteKinds } = timeline
  if (payment !== undefined) output.write(`${titleOf(output, payment, is_minor)}\n`)
  const columns = rows.map(({ kind, title }) => columnsOf(kind, cleanText(title)))
  const what_width = Math.max(0, ...columns.map(([what]) => what.length))
  const begin = TIME_WIDTH + what_width + 2 * GAP.length
  const text_width = roomAfter(output, begin)
  let day = ''
  let anchor_ms = Number.NEGATIVE_INFINITY
  for (const [n, { time, kind, data }] of rows.entries()) {
    const at = time === undefined ? undefined : timestampDate(time)
    if (at === undefined) continue
    const iso = at.toISOString()
    if (iso.slice(0, 10) !== day) {
      day = iso.slice(0, 10)
      anchor_ms = Number.NEGATIVE_INFINITY
      output.write(`${day} (UTC)\n`)
    }
    const later_ms = at.getTime() - anchor_ms
    const is_near = later_ms < NEAR_MS
    if (!is_near) anchor_ms = at.getTime()
    const label = is_near ? `+${durationText(later_ms)}` : iso.slice(11, 23)
    const [what = '', text = ''] = columns[n] ?? []
    const tone = kind === 'status' ? toneOf(String(data?.['status'])) : 'plain'
    const [first = '', ...more] = wrap(text, text_width)
    output.write(
      `${label.padStart(TIME_WIDTH)}${GAP}${inTone(output, what.padEnd(what_width), tone)}${GAP}${first}\n`,
    )
    for (const line of more) output.write(`${' '.repeat(begin)}${line}\n`)
  }
  printSteps(output, timeline)
  for (const role of unavailable)
    output.write(`${cleanText(role)} did not answer: its rows and next steps are missing\n`)
  if (incompleteKinds.length > 0)
    output.write(`there are more rows of: ${cleanText(incompleteKinds.join(', '))}\n`)
}

/** What comes next: one step per line, or several lines on a narrow terminal. */
function printSteps(output: Output, { pending, unavailable }: GetTimelineResponse): void {
  // A role that did not answer may know of a step.
  const none = unavailable.length === 0 ? 'nothing' : `not known: ${unavailable.join(', ')} did not answer`
  const steps = pending.length === 0 ? [none] : pending.map(stepText)
  const begin = ' '.repeat('next'.length + GAP.length)
  for (const [n, step] of steps.entries()) {
    const [first = '', ...more] = wrap(cleanText(step), roomAfter(output, begin.length + GAP.length))
    output.write(`${n === 0 ? `next${GAP}` : begin}${first}\n`)
    for (const line of more) output.write(`${begin}${GAP}${line}\n`)
  }
}

/** The columns that are left for text after others; without a terminal the text is not wrapped. */
function roomAfter({ isTTY, columns = 80 }: Output, used: number): number {
  return isTTY === true ? Math.max(columns - used, TEXT_MIN) : Number.POSITIVE_INFINITY
}

function titleOf(output: Output, payment: Payment, is_minor: boolean): string {
  const field = (name: string): string => {
    const desc = PaymentSchema.fields.find((one) => one.name === name)
    return desc === undefined ? '' : valueText(desc, Reflect.get(payment, desc.localName), { is_minor })
  }
  const kind = field('direction') === 'out' ? 'Payout' : 'Deposit'
  const { amount, cId } = payment
  const sum = amount === undefined ? '' : amountText(amount.minor, amount.currency, { is_minor })
  const parts = [
    `${kind} ${sum}`,
    stateText(output, field('status')),
    cleanText(cId),
    `merchant ${field('merchant_id')}`,
    `route ${field('service_id')}`,
  ]
  return parts.filter((part) => part !== '').join('  ')
}

function stepText({ title, time, waitsFor }: TimelineStep): string {
  return `${cleanText(title)}${time === undefined ? '' : ` (${untilText(time)})`}  waits for ${waitsFor}`
}

function untilText(time: Timestamp): string {
  return timestampDate(time)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')
}
