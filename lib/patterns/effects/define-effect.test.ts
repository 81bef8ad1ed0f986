import { expect, test } from '@jest/globals'
import { createBudget } from './budget.ts'
import { defineEffect, isBytes, isInstant, isText } from './define-effect.ts'
import type { EffectDocument } from './effect.ts'
import { createEffectCapacity } from './leases.ts'

const AT = new Date('2026-11-21T10:00:00.000Z')
const DUE_AT = new Date('2026-11-21T10:05:00.000Z')

interface Order extends EffectDocument {
  readonly order_id: string
}

const order: Order = { order_id: 'order-1', effects: [] }
const printLabelEffect = defineEffect({
  kind: 'print_label',
  lane: 'independent',
  data: { address: isText, label: isBytes, printed_at: isInstant },
  id: ({ order_id }: Order, { address }) => `${order_id}:print:${address}`,
})
const label = Buffer.from('label')

test('creates an effect with its kind, lane, id, data and times', () => {
  const effect = printLabelEffect.newEffect(
    order,
    { address: 'here', label, printed_at: AT },
    { at: AT, due_at: DUE_AT, after: 'another' },
  )
  expect(effect).toEqual({
    id: 'order-1:print:here',
    kind: 'print_label',
    lane: 'independent',
    after: 'another',
    data: { address: 'here', label, printed_at: AT },
    due_at: DUE_AT,
    tries: 0,
  })
  expect(
    printLabelEffect.newEffect(order, { address: 'here', label, printed_at: AT }, { at: AT }),
  ).toMatchObject({
    due_at: AT,
  })
})

test('recognizes the effects of its kind', () => {
  const effect = printLabelEffect.newEffect(order, { address: 'here', label, printed_at: AT }, { at: AT })
  expect(printLabelEffect.matches(effect)).toBe(true)
  expect(printLabelEffect.matches({ ...effect, kind: 'another' })).toBe(false)
})

test('runs the handler with the decoded data and throws for data of another type', async () => {
  const addresses: string[] = []
  const bound = printLabelEffect.bind<Order>({
    lease_ms: 1,
    tries_max: 1,
    async run({ data: { address, label: bytes } }) {
      addresses.push(`${address} ${bytes.length}`)
      return (current) => current
    },
  })
  const effect = printLabelEffect.newEffect(order, { address: 'here', label, printed_at: AT }, { at: AT })
  const stored = { ...order, version: 1 }
  await bound.run(effect, stored)
  expect(addresses).toEqual(['here 5'])
  const run = async (data: object) => bound.run({ ...effect, data: { ...effect.data, ...data } }, stored)
  await expect(run({ address: 1 })).rejects.toThrow('print_label has an invalid field address')
  await expect(run({ label: 'text' })).rejects.toThrow('print_label has an invalid field label')
  await expect(run({ printed_at: 0 })).rejects.toThrow('print_label has an invalid field printed_at')
})

test('refuses an external effect without a budget', () => {
  const callEffect = defineEffect({ kind: 'call', lane: 'external', data: {}, id: () => 'call' })
  const handler = { lease_ms: 1, tries_max: 1, run: async () => (current: Order) => current }
  expect(() => callEffect.bind<Order>(handler)).toThrow('the external effect call has no budget')
})

test('the lease and the budget of a kind can depend on the data of the effect', () => {
  const callEffect = defineEffect({
    kind: 'call',
    lane: 'external',
    data: { party: isText },
    id: (_order: Order, { party }) => party,
  })
  const budgets = new Map([
    ['a', createBudget(1)],
    ['b', createBudget(0)],
  ])
  const bound = callEffect.bind<Order>({
    lease_ms: (_order, { data }) => (data['party'] === 'a' ? 7 : 8),
    budget: ({ data }) => budgets.get(String(data['party'])) ?? createBudget(0),
    tries_max: 1,
    run: async () => (current) => current,
  })
  const capacity = createEffectCapacity(new Map([[bound.kind, bound]]), () => true)
  const [a, b] = ['a', 'b'].map((party) => callEffect.newEffect(order, { party }, { at: AT }))
  if (!a || !b) throw new Error('unreachable')
  expect(capacity.hasRoom('external')).toBe(true)
  expect([capacity.canRun(order, a), capacity.canRun(order, b)]).toEqual([true, false])
  expect([capacity.reserve(order, a)?.lease_ms, capacity.reserve(order, b)]).toEqual([7, undefined])
  expect(capacity.canRun(order, a)).toBe(false)
})
