import { expect, test } from '@jest/globals'
import { DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { evidenceOf } from './evidence.ts'
import { type ChangeableFacts, callbackOf, recordOfPayment, soundFacts } from './facts.fixture.ts'
import { judge, type Verdict } from './verdict.ts'

function judgeChanged(change: (facts: ChangeableFacts) => void): Verdict {
  const facts = soundFacts()
  change(facts)
  return judge(evidenceOf(facts), [])
}

test('finds nothing wrong with sound facts', () => {
  const verdict = { accepted: 1, lost: 0, doubled: 0, out_of_order: 0, problems: [] }
  expect(judgeChanged(() => {})).toEqual(verdict)
})

test('passes on what was observed during the run', () => {
  expect(judge(evidenceOf(soundFacts()), ['a response was not signed']).problems).toEqual([
    'a response was not signed',
  ])
})

/** The first element of a list that the fixture fills. */
function first<T>(items: readonly T[]): T {
  const [item] = items
  if (item === undefined) throw new TypeError('the fixture has nothing here')
  return item
}

const CHANGES: readonly (readonly [
  name: string,
  change: (facts: ChangeableFacts) => void,
  problem: string,
  counts?: Partial<Verdict>,
])[] = [
  ['a lost payment', (facts) => (facts.payments = []), '7 c1 was accepted and does not exist', { lost: 1 }],
  [
    'a payment of a refused request',
    ({ payments }) => (first(payments).cId = 'c2'),
    '7 c2 was refused with 6001 and exists',
    { lost: 1 },
  ],
  [
    'a payment that no merchant asked for',
    ({ payments }) => payments.push({ ...first(payments), cId: 'c3', hId: 'h3' }),
    '7 c3 was never asked for',
  ],
  ['another h_id', ({ payments }) => (first(payments).hId = 'h9'), '7 c1 was shown as h1'],
  [
    'two creates that succeeded',
    ({ history }) => (recordOfPayment(history).created_responses = 2),
    '7 c1 was created 2 times',
    { doubled: 1 },
  ],
  [
    'a payment that is not final',
    ({ payments }) => (first(payments).status = PaymentStatus.PROCESSING),
    '7 c1 is still processing',
  ],
  [
    'a status against the table',
    ({ payments }) => first(payments).history.reverse(),
    '7 c1 had the statuses success, processing, created',
    { out_of_order: 1 },
  ],
  [
    'a status that the payment never had',
    ({ history }) => recordOfPayment(history).statuses.push('error'),
    '7 c1 was shown as error, which it never was',
  ],
  [
    'a read behind an earlier one',
    ({ history }) => history.problems.push('c1: it was success, and a later read showed processing'),
    'a later read showed',
    { out_of_order: 1 },
  ],
  [
    'a stuck effect',
    (facts) => {
      facts.stuck = [
        { paymentId: 'p1', effectId: 'p1:credit', kind: 'post_entry' } as ChangeableFacts['stuck'][number],
      ]
    },
    'still has the effect post_entry p1:credit, stuck: true',
  ],
  ['no credit', ({ entries }) => entries.shift(), 'p1 is success and has 0 credits'],
  [
    'two credits',
    ({ entries }) => entries.push({ ...first(entries), entryId: 'p1:again', sequence: 3n }),
    'p1 is success and has 2 credits',
    { doubled: 1 },
  ],
  [
    'a credit over another amount',
    ({ entries }) => (first(entries).amount = { ...first(entries).amount, minor: 1n } as never),
    'p1 over 12000 INR has the entry transfer',
  ],
  ['a hold that is not recorded', ({ entries }) => entries.pop(), 'hold-1 was answered with recorded 0'],
  [
    'a payment that the sandbox was paid twice',
    ({ operations }) => operations.push({ ...first(operations), idempotency_key: 'p1:2' }),
    'paid p1 2 times',
    { doubled: 1 },
  ],
  [
    'a success that the sandbox does not know',
    (facts) => (facts.operations = []),
    'the provider was never paid',
  ],
  [
    'another amount at the sandbox',
    (facts) => (facts.operations = [{ ...first(facts.operations), amount: 1 }]),
    'p1 is success over 12000 INR, paid were 1 INR',
  ],
  [
    'an event without a delivery',
    ({ deliveries }) => deliveries.pop(),
    'payment.completed p1:success was not stored',
  ],
  [
    'a delivery that has not ended',
    ({ deliveries }) => (first(deliveries).status = DeliveryStatus.PENDING),
    'the delivery d1 of p1:created is still pending',
  ],
  [
    'a delivery that gave up too early',
    ({ deliveries }) => (first(deliveries).status = DeliveryStatus.DEAD),
    'the delivery d1 of p1:created is dead after 1 attempts',
  ],
  [
    'a delivery that no receiver acknowledged',
    ({ callbacks }) => callbacks.splice(0, 1, callbackOf('d1', 'h1:payment.created', 500)),
    'd1 of p1:created is delivered, and no receiver acknowledged it',
  ],
  [
    'a repeated delivery with another body',
    ({ callbacks }) => callbacks.push(callbackOf('d1', 'h1:payment.other')),
    'd1 of p1:created arrived with another body than was stored',
  ],
  [
    'a callback with an unknown delivery id',
    ({ callbacks }) => callbacks.push(callbackOf('d9', 'h1:payment.created')),
    'a callback arrived with the unknown delivery id d9',
  ],
  [
    'a callback without a valid signature',
    ({ callbacks }) =>
      ((first(callbacks).headers as Record<string, string>)['x-data-hash'] = 'f'.repeat(128)),
    'the callback d1 has no valid signature',
  ],
]

test.each(CHANGES)('finds %s', (_name, change, problem, counts = {}) => {
  const verdict = judgeChanged(change)
  expect(verdict.problems.join('\n')).toContain(problem)
  expect(verdict).toMatchObject(counts)
})
