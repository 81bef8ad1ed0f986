import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { expect, test } from '@jest/globals'
import { OperationKind, OperationOutcome } from '#gen/multihub/backoffice/v1/operation_pb.ts'
import { GetOverviewResponseSchema } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { GetTimelineResponseSchema } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PaymentSchema, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { printOverview } from '../commands/overview.ts'
import { printTimeline } from '../commands/timeline.ts'
import { noun } from '../nouns/payments.ts'
import type { Output } from '../terminal.ts'
import { printTable } from './print.ts'

/** The lines that are printed on a terminal of this width. */
function linesAt(columns: number, print: (output: Output) => void): readonly string[] {
  let text = ''
  print({ isTTY: true, columns, write: (more: string) => (text += more) })
  return text.trimEnd().split('\n')
}

/** The table of two payments, one with a reference that is long and turns the direction of text, on a terminal of this width. */
function tableAt(columns: number): readonly string[] {
  const payment = (cId: string, minor: bigint) =>
    create(PaymentSchema, {
      paymentId: '01a2244b-9123-70da-9b6f-0c7791042333',
      cId,
      amount: { minor, currency: 'INR' },
      status: PaymentStatus.SUCCESS,
      merchantId: '1001',
      createTime: timestampFromDate(new Date('2026-11-28T08:12:07.574Z')),
    })
  const rows = [payment('order-17', 12_300n), payment(`long-${'x'.repeat(30)}\u202e`, 123_456_789n)]
  const list = noun.verbs.find(({ name }) => name === 'list')
  return linesAt(columns, (output) =>
    printTable(output, PaymentSchema, rows, list?.columns ?? [], { is_minor: false }),
  )
}

test('a list of payments on 80 columns', () => {
  expect(tableAt(80)).toEqual([
    'PAYMENT                                         AMOUNT  STATUS   C ID',
    '01a2244b-9123-70da-9b6f-0c7791042333        123.00 INR  success  order-17',
    '01a2244b-9123-70da-9b6f-0c7791042333  1,234,567.89 INR  success  long-xxxxxxxxx…',
    '(too narrow for CREATED (UTC), MERCHANT; --json has everything)',
  ])
})

test('a list of payments on 200 columns', () => {
  expect(tableAt(200)).toEqual([
    'PAYMENT                                         AMOUNT  STATUS   C ID                                  CREATED (UTC)        MERCHANT',
    '01a2244b-9123-70da-9b6f-0c7791042333        123.00 INR  success  order-17                              2026-11-28 08:12:07  1001',
    '01a2244b-9123-70da-9b6f-0c7791042333  1,234,567.89 INR  success  long-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u{fffd}  2026-11-28 08:12:07  1001',
  ])
})

/** The timeline of a deposit, whose entry in the ledger has a long text, on a terminal of this width. */
function timelineAt(columns: number): readonly string[] {
  const at = (ms: number) => timestampFromDate(new Date(Date.UTC(2026, 10, 28, 8, 12, 7, ms)))
  const timeline = create(GetTimelineResponseSchema, {
    payment: {
      cId: 'order-17',
      direction: Direction.IN,
      status: PaymentStatus.SUCCESS,
      amount: { minor: 12_300n, currency: 'INR' },
      merchantId: '1001',
      serviceId: '501',
    },
    rows: [
      { time: at(574), kind: 'status', title: 'Payment created: deposit of 123.00 INR by upi' },
      {
        time: at(586),
        kind: 'ledger_entry',
        title:
          'Ledger: 123.00 INR from clearing to available (deposit). Available after it 123.00 INR, held 0.00 INR',
      },
    ],
    pending: [
      { title: 'Callback payment.completed is sent again', time: at(60_000), waitsFor: 'receiver' },
      { title: 'Refund of 23.00 INR', waitsFor: 'operator' },
    ],
  })
  return linesAt(columns, (output) => printTimeline(output, timeline, false))
}

test('a timeline on 80 columns', () => {
  expect(timelineAt(80)).toEqual([
    'Deposit 123.00 INR  success  order-17  merchant 1001  route 501',
    '2026-11-28 (UTC)',
    '08:12:07.574  payment  created: deposit of 123.00 INR by upi',
    '      +12 ms  ledger   123.00 INR from clearing to available (deposit).',
    '                       Available after it 123.00 INR, held 0.00 INR',
    'next  Callback payment.completed is sent again (2026-11-28 08:13:07 UTC)',
    '        waits for receiver',
    '      Refund of 23.00 INR  waits for operator',
  ])
})

test('a timeline on 200 columns', () => {
  expect(timelineAt(200)).toEqual([
    'Deposit 123.00 INR  success  order-17  merchant 1001  route 501',
    '2026-11-28 (UTC)',
    '08:12:07.574  payment  created: deposit of 123.00 INR by upi',
    '      +12 ms  ledger   123.00 INR from clearing to available (deposit). Available after it 123.00 INR, held 0.00 INR',
    'next  Callback payment.completed is sent again (2026-11-28 08:13:07 UTC)  waits for receiver',
    '      Refund of 23.00 INR  waits for operator',
  ])
})

/** The overview of a system in which a refund and stuck effects wait, on a terminal of this width. */
function overviewAt(columns: number): readonly string[] {
  const at = (hour: number) => timestampFromDate(new Date(Date.UTC(2026, 10, 28, hour)))
  const nothing = { count: 0 }
  const overview = create(GetOverviewResponseSchema, {
    computedTime: at(12),
    pendingRefunds: { count: 3, oldestTime: at(8) },
    chargebacksByDeadline: { count: 1, oldestTime: at(18) },
    unresolvedTickets: nothing,
    openAnomalies: nothing,
    pendingApprovals: nothing,
    stuckEffects: { count: 1_000, oldestTime: at(11) },
    deadDeliveries: nothing,
    heldDeliveries: nothing,
    unconfiguredPayments: nothing,
    openBreakers: nothing,
    paymentsLastHour: [{ status: PaymentStatus.CREATED, count: 1n }],
    ledger: { consistent: true, verifiedTime: at(11) },
    operations: [
      { kind: OperationKind.BACKUP, lastOutcome: OperationOutcome.UNFINISHED },
      { kind: OperationKind.VERIFY, successTime: at(10), lastOutcome: OperationOutcome.SUCCEEDED },
    ],
    unavailable: ['notifier'],
  })
  return linesAt(columns, (output) => printOverview(output, overview))
}

test('an overview on 80 columns has each command on a line of its own, to copy', () => {
  expect(overviewAt(80)).toEqual([
    '              WAITS FOR A PERSON                  SINCE',
    '           3  refunds to approve                  4 h',
    '    ./multihub refunds list --status pending --oldest-first',
    '           1  chargebacks with a deadline         in 6 h',
    '    ./multihub chargebacks list --by-deadline',
    '           0  tickets without an end',
    '           0  anomalies to decide',
    '           0  calls for a second person',
    '              WAITS FOR A MACHINE',
    '1000 or more  stuck effects                       1 h',
    '    ./multihub stuck list',
    '    ./multihub stuck list-support --documents tickets',
    '    ./multihub stuck list-support --documents refunds',
    '    ./multihub stuck list-support --documents chargebacks',
    '           0  dead callbacks',
    '           0  callbacks that wait for a receiver',
    '           0  payments at unconfigured accounts',
    '           0  open circuit breakers',
    'last hour  1 payment created, 0 ended, none has ended',
    'last day   0 payments created, 0 ended, none has ended',
    'ledger     consistent, verified up to 2026-11-28 11:00:00 UTC',
    'backup     NEVER SUCCEEDED, the newest run has not ended:',
    '    ./multihub operations list --kind backup',
    'verify     succeeded 2 h ago: ./multihub operations list --kind verify',
    'notifier did not answer: its numbers are missing',
  ])
})

test('an overview on 200 columns', () => {
  expect(overviewAt(200)).toEqual([
    '              WAITS FOR A PERSON                  SINCE   LIST',
    '           3  refunds to approve                  4 h     ./multihub refunds list --status pending --oldest-first',
    '           1  chargebacks with a deadline         in 6 h  ./multihub chargebacks list --by-deadline',
    '           0  tickets without an end',
    '           0  anomalies to decide',
    '           0  calls for a second person',
    '              WAITS FOR A MACHINE',
    '1000 or more  stuck effects                       1 h     ./multihub stuck list',
    '                                                          ./multihub stuck list-support --documents tickets',
    '                                                          ./multihub stuck list-support --documents refunds',
    '                                                          ./multihub stuck list-support --documents chargebacks',
    '           0  dead callbacks',
    '           0  callbacks that wait for a receiver',
    '           0  payments at unconfigured accounts',
    '           0  open circuit breakers',
    'last hour  1 payment created, 0 ended, none has ended',
    'last day   0 payments created, 0 ended, none has ended',
    'ledger     consistent, verified up to 2026-11-28 11:00:00 UTC',
    'backup     NEVER SUCCEEDED, the newest run has not ended: ./multihub operations list --kind backup',
    'verify     succeeded 2 h ago: ./multihub operations list --kind verify',
    'notifier did not answer: its numbers are missing',
  ])
})
