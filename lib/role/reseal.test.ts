import { expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { update } from '#lib/patterns/update.ts'
import type { CollectionSpec, Stored } from '#lib/store/store.ts'
import { openTestStore } from '../../test/support/store.ts'
import { resealDocuments } from './operations.ts'

interface Item {
  readonly id: string
  readonly sealed: string
  readonly note?: string
}

const ITEMS: CollectionSpec = { name: 'items', partition: ['id'], key: ['id'] }
const ring = (id: string) => testKeys(id).credential

test('only what is under an older key is written, over a change that another writer made meanwhile', async () => {
  await using test_store = await openTestStore()
  const items = await test_store.store.collection<Item>(ITEMS)
  const stored: Stored<Item>[] = []
  for (const [id, keys] of [
    ['a', ring('old')],
    ['b', ring('newer')],
    ['c', ring('unknown')],
  ] as const)
    stored.push(await items.insert({ id, sealed: keys.seal(new Secret('x'), id) }))
  async function* readDocuments<D extends object>(): AsyncGenerator<D> {
    yield* stored as unknown as D[]
  }
  const reseal = () =>
    resealDocuments<Item>(
      { readDocuments, keys: testKeys('newer', 'old') },
      {
        spec: ITEMS,
        change(document, again) {
          const sealed = again('credential', document.sealed, document.id)
          return sealed === document.sealed ? document : { ...document, sealed }
        },
        update: ({ id }, decide) => update(items, { id }, decide),
      },
    )
  await items.replace({ ...(stored[0] as Item), note: 'changed' }, stored[0]?.version ?? 0)
  expect(await reseal()).toEqual({
    collection: 'items',
    read: 3,
    changed: 1,
    by_key: { newer: 2, unknown: 1 },
    left: 1,
    failures: ['items c: the key unknown is not configured'],
  })
  const first = await items.get({ id: 'a' })
  expect(first?.note).toBe('changed')
  expect(
    ring('newer')
      .unseal(first?.sealed ?? '', 'a')
      .reveal(),
  ).toBe('x')
  expect((await items.get({ id: 'b' }))?.version).toBe(stored[1]?.version)
})
