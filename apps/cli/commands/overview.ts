import { stripVTControlCharacters } from 'node:util'
import { create } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import {
  OperationKind,
  OperationOutcome,
  type OperationOverview,
} from '#gen/multihub/backoffice/v1/operation_pb.ts'
import {
  GetOverviewRequestSchema,
  type GetOverviewResponse,
  GetOverviewResponseSchema,
  type LedgerOverview,
  OverviewService,
} from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import type { OpenItems } from '#gen/multihub/common/v1/open_items_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { spanText, timeText } from '#lib/contract/shown-values.ts'
import { openConnection } from '../call/connection.ts'
import { inTone } from '../output/colour.ts'
import { OWN_NAME } from '../output/own-name.ts'
import { jsonOf } from '../output/print.ts'
import { layOut, widthOf } from '../output/table.ts'
import { addCommonFlags, type CommonFlags } from '../request/common-flags.ts'
import type { Output } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

/** Numbers above this are exact no more (O18). */
const COUNT_MAX = 1_000

/** What waits for a person or a machine, and the commands that list it. */
const PERSON_ITEMS = [
  ['pendingRefunds', 'refunds to approve', 'refunds list --status pending --oldest-first'],
  ['chargebacksByDeadline', 'chargebacks with a deadline', 'chargebacks list --by-deadline'],
  ['unresolvedTickets', 'tickets without an end', 'tickets list --by-deadline'],
  ['openAnomalies', 'anomalies to decide', 'anomalies list --open-only'],
  ['pendingApprovals', 'calls for a second person', 'approvals list --status pending'],
] as const
const MACHINE_ITEMS = [
  [
    'stuckEffects',
    'stuck effects',
    'stuck list',
    'stuck list-support --documents tickets',
    'stuck list-support --documents refunds',
    'stuck list-support --documents chargebacks',
  ],
  ['deadDeliveries', 'dead callbacks', 'deliveries list --trouble dead'],
  ['heldDeliveries', 'callbacks that wait for a receiver', 'deliveries list --trouble held'],
  ['unconfiguredPayments', 'payments at unconfigured accounts', 'accounts list-unconfigured'],
  ['openBreakers', 'open circuit breakers', 'accounts list', 'destinations list --state open'],
] as const

/** Before a command on a line of its own. */
const INDENT = '    '

/** The width of a terminal; what is no terminal has room for every command. */
const columnsOf = ({ columns = 120 }: Output): number => columns

/** `multihub overview`: what waits for a person or a machine, and how payments go. */
export const declare: DeclareCommand = (command, terminal) => {
  addCommonFlags(command)
  command.action(async (flags: CommonFlags) => {
    const connection = openConnection(flags, terminal)
    const request = create(GetOverviewRequestSchema)
    const answer = await connection.call(OverviewService.method.getOverview, request)
    const { stdout } = terminal
    if (flags.json || flags.jsonl)
      stdout.write(`${jsonOf(GetOverviewResponseSchema, answer, flags.json ? 2 : undefined)}\n`)
    else printOverview(stdout, answer)
  })
}

/** Prints the numbers for people, each with the commands that list what it counts. */
export function printOverview(output: Output, overview: GetOverviewResponse): void {
  const { ledger, operations, unavailable, computedTime, paymentsLastHour, paymentsLastDay } = overview
  const now_ms = computedTime === undefined ? 0 : timestampDate(computedTime).getTime()
  const rowsOf = ([field, what, ...lists]: (typeof PERSON_ITEMS | typeof MACHINE_ITEMS)[number]) => {
    const items: OpenItems | undefined = overview[field]
    if (items === undefined) return []
    const commands = items.count === 0 ? [] : lists.map((list) => `${OWN_NAME} ${list}`)
    return [{ cells: [countText(items.count), what, ageText(items, now_ms)], commands }]
  }
  printItems(output, [
    ...PERSON_ITEMS.flatMap(rowsOf),
    { cells: ['', 'WAITS FOR A MACHINE', ''], commands: [] },
    ...MACHINE_ITEMS.flatMap(rowsOf),
  ])
  for (const [title, counts] of [
    ['last hour', paymentsLastHour],
    ['last day', paymentsLastDay],
  ] as const)
    output.write(`${successText(title, counts)}\n`)
  if (ledger !== undefined) output.write(`ledger     ${ledgerText(output, ledger)}\n`)
  for (const operation of operations) output.write(`${operationText(output, operation, now_ms)}\n`)
  for (const role of unavailable)
    output.write(`${inTone(output, role, 'bad')} did not answer: its numbers are missing\n`)
}

/** A row of the table of what waits, and the commands that list it. */
interface ItemRow {
  readonly cells: readonly string[]
  readonly commands: readonly string[]
}

/** The commands are the last column, or on a narrow terminal lines of their own, so that a person can copy each. */
function printItems(output: Output, items: readonly ItemRow[]): void {
  const right = new Set([0])
  const paint = (shown: string, text: string, n: number): string =>
    inTone(output, shown, n === 0 && text !== '0' ? 'waiting' : 'plain')
  const heads = ['', 'WAITS FOR A PERSON', 'SINCE']
  const rows = items.flatMap(({ cells, commands: [first = '', ...others] }) => [
    [...cells, first],
    ...others.map((command) => ['', '', '', command]),
  ])
  const whole = { heads: [...heads, 'LIST'], rows, right }
  const columns = columnsOf(output)
  const is_wide = layOut(whole, Number.POSITIVE_INFINITY).lines.every((line) => widthOf(line) <= columns)
  if (is_wide) {
    for (const line of layOut({ ...whole, paint }, columns).lines) output.write(`${line}\n`)
    return
  }
  const { lines } = layOut({ heads, rows: items.map(({ cells }) => cells), right, paint }, columns)
  for (const [n, line] of lines.entries()) {
    output.write(`${line}\n`)
    for (const command of items[n - 1]?.commands ?? []) output.write(`${INDENT}${command}\n`)
  }
}

function countText(count: number): string {
  return count >= COUNT_MAX ? `${count} or more` : String(count)
}

/** Since when the oldest waits, or until when: a deadline lies ahead. */
function ageText({ oldestTime }: OpenItems, now_ms: number): string {
  if (oldestTime === undefined) return ''
  const age_ms = now_ms - timestampDate(oldestTime).getTime()
  return age_ms < 0 ? `in ${spanText(-age_ms)}` : spanText(age_ms)
}

/** The share of the payments that ended as a success, of those that ended. */
function successText(title: string, counts: GetOverviewResponse['paymentsLastHour']): string {
  const sum = (...statuses: readonly PaymentStatus[]): bigint =>
    counts.filter(({ status }) => statuses.includes(status)).reduce((total, { count }) => total + count, 0n)
  const good = sum(PaymentStatus.SUCCESS)
  const ended = good + sum(PaymentStatus.ERROR, PaymentStatus.DECLINED, PaymentStatus.CANCELED)
  const share =
    ended === 0n ? 'none has ended' : `success ${((Number(good) / Number(ended)) * 100).toFixed(1)} %`
  const created = sum(PaymentStatus.CREATED)
  return `${title.padEnd(10)} ${created} ${created === 1n ? 'payment' : 'payments'} created, ${ended} ended, ${share}`
}

function ledgerText(output: Output, { consistent, verifiedTime }: LedgerOverview): string {
  if (verifiedTime === undefined) return `not verified yet: ${OWN_NAME} balances verify`
  const state = consistent ? inTone(output, 'consistent', 'good') : inTone(output, 'NOT CONSISTENT', 'bad')
  return `${state}, verified up to ${timeText(verifiedTime)} UTC`
}

/** When a command on the databases succeeded last, and whether its newest run did. */
function operationText(
  output: Output,
  { kind, successTime, lastOutcome }: OperationOverview,
  now_ms: number,
): string {
  const name = kind === OperationKind.BACKUP ? 'backup' : 'verify'
  const age =
    successTime === undefined
      ? inTone(output, 'NEVER SUCCEEDED', 'bad')
      : `succeeded ${spanText(now_ms - timestampDate(successTime).getTime())} ago`
  const newest = NEWEST_RUN[lastOutcome]
  const note = newest === undefined ? '' : `, ${inTone(output, newest, 'waiting')}`
  const text = `${name.padEnd(10)} ${age}${note}:`
  const command = `${OWN_NAME} operations list --kind ${name}`
  const is_wide = stripVTControlCharacters(text).length + 1 + command.length <= columnsOf(output)
  return `${text}${is_wide ? ' ' : `\n${INDENT}`}${command}`
}

/** What is added when the newest run did not succeed. */
const NEWEST_RUN: Readonly<Partial<Record<OperationOutcome, string>>> = {
  [OperationOutcome.FAILED]: 'the newest run failed',
  [OperationOutcome.UNFINISHED]: 'the newest run has not ended',
}
