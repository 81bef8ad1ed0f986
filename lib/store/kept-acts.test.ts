import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { endAct, withoutDeadline, withRequest } from '#lib/base/context.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { update } from '#lib/patterns/update.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import { Conflict } from './errors.ts'
import { ACT_INDEX, keepActs } from './kept-acts.ts'
import type { Collection } from './store.ts'

interface Item {
  readonly item_id: string
  readonly status: string
  readonly amount?: bigint
  readonly limits?: { readonly daily: number }
  readonly email?: string
  readonly currencies?: readonly string[]
  readonly refusals?: readonly { readonly id: string; readonly code: number }[]
}

let opened: TestStore
let items: Collection<Item>
let others: Collection<Item>
let findAct: ReturnType<typeof keepActs>['findAct']
beforeAll(async () => {
  opened = await openTestStore()
  const acts = keepActs(opened.store, ['refusals'])
  findAct = acts.findAct
  const spec = { name: 'items', partition: ['item_id'], key: ['item_id'] }
  items = await acts.store.collection<Item>({ ...spec, indexes: ACT_INDEX })
  others = await acts.store.collection<Item>({ ...spec, name: 'others' })
})
afterAll(async () => opened[Symbol.asyncDispose]())

const inAct = <T>(audit_id: string, work: () => T): T =>
  withRequest({ act: { audit_id, is_over: false } }, work)

async function kept(audit_id: string) {
  const act = await findAct(audit_id)
  return act && { before: JSON.parse(act.before), after: JSON.parse(act.after) }
}

// O4
test('an act is found with what its writes changed, and secrets and personal data are hidden', async () => {
  const [created, changed, item_id] = [uuidv7(), uuidv7(), uuidv7()]
  const item = { item_id, status: 'open', amount: 5n, limits: { daily: 1 }, email: 'ann@shop.example' }
  await inAct(created, () => items.insert(item))
  const name = `items ${item_id}`
  const shown = { item_id, status: 'open', amount: '5', 'limits.daily': 1, email: '[hidden]' }
  expect(await kept(created)).toEqual({ before: {}, after: { [name]: shown } })

  const next = { status: 'closed', limits: { daily: 2 }, email: 'bob@shop.example', currencies: ['INR'] }
  await inAct(changed, () => update(items, { item_id }, (current) => ({ ...current, ...next })))
  expect(await kept(changed)).toEqual({
    before: { [name]: { status: 'open', 'limits.daily': 1, email: '[hidden]' } },
    after: {
      [name]: { status: 'closed', 'limits.daily': 2, email: '[hidden]', currencies: ['INR'] },
    },
  })
  expect(await kept(created)).toBeDefined()
  expect(await kept(uuidv7())).toBeUndefined()
})

test('several writes of an act are one change, without what others wrote in between', async () => {
  const [audit_id, item_id] = [uuidv7(), uuidv7()]
  await items.insert({ item_id, status: 'a', amount: 1n })
  const set = (fields: Partial<Item>) => update(items, { item_id }, (current) => ({ ...current, ...fields }))
  await inAct(audit_id, () => set({ status: 'b' }))
  await set({ amount: 2n })
  await inAct(audit_id, () => set({ status: 'c' }))
  const name = `items ${item_id}`
  expect(await kept(audit_id)).toEqual({
    before: { [name]: { status: 'a' } },
    after: { [name]: { status: 'c' } },
  })
})

test('a document keeps its last 8 acts, also when a writer does not know of them', async () => {
  const item_id = uuidv7()
  await items.insert({ item_id, status: '0' })
  const ids = Array.from({ length: 10 }, () => uuidv7())
  for (const [status, id] of ids.entries())
    await inAct(id, () => update(items, { item_id }, () => ({ item_id, status: `${status}` })))
  const found = await Promise.all(ids.map(findAct))
  expect(found.map((act) => act !== undefined)).toEqual(ids.map((_, index) => index >= 2))
})

test('nothing is kept outside of an act, in its background work, and by a collection that does not take part', async () => {
  const [audit_id, item_id] = [uuidv7(), uuidv7()]
  const item = { item_id, status: 'open' }
  expect(await items.insert(item)).toEqual({ ...item, version: expect.any(Number) })
  await inAct(audit_id, async () => {
    await others.insert(item)
    const close = () => update(items, { item_id }, (current) => ({ ...current, status: 'closed' }))
    await withoutDeadline(close)
    endAct()
    await close()
  })
  expect(await findAct(audit_id)).toBeUndefined()
})

// O4: a lost act whose refusal was kept would be completed as done.
test('a write that only remembers a refusal is not kept as an act', async () => {
  const [refused, accepted, item_id] = [uuidv7(), uuidv7(), uuidv7()]
  await items.insert({ item_id, status: 'open' })
  const set = (fields: Partial<Item>) => update(items, { item_id }, (current) => ({ ...current, ...fields }))
  await inAct(refused, () => set({ refusals: [{ id: 'r1', code: 11004 }] }))
  expect(await findAct(refused)).toBeUndefined()
  await inAct(accepted, () => set({ status: 'closed', refusals: [] }))
  expect(await findAct(accepted)).toBeDefined()
  expect(await items.get({ item_id })).toMatchObject({ status: 'closed', refusals: [] })
})

test('a write over another version is refused as without an act', async () => {
  const item_id = uuidv7()
  const { version } = await items.insert({ item_id, status: 'a' })
  await items.replace({ item_id, status: 'b' }, version)
  await expect(inAct(uuidv7(), () => items.replace({ item_id, status: 'c' }, version))).rejects.toThrow(
    Conflict,
  )
})

test('a long change is cut at 2 KiB and says how much is missing', async () => {
  const [audit_id, item_id] = [uuidv7(), uuidv7()]
  const fields = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`count_${n}`, n]))
  await inAct(audit_id, () => items.insert({ item_id, status: 'open', ...fields }))
  const act = await findAct(audit_id)
  expect(act?.after.length).toBeLessThan(2_200)
  expect(Object.values(JSON.parse(act?.after ?? '{}'))).toEqual([
    expect.objectContaining({ status: 'open', omitted_fields: expect.any(Number) }),
  ])
})
