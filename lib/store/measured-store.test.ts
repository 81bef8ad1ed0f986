import { expect, test } from '@jest/globals'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { openTestStore } from '../../test/support/store.ts'
import { Duplicate } from './errors.ts'
import { withStoreMetrics } from './measured-store.ts'

const SPEC = { name: 'things', partition: ['id'], key: ['id'] }

test('calls are measured by collection and operation, failed ones too', async () => {
  await using opened = await openTestStore()
  const things = await withStoreMetrics(opened.store, 'role').collection<{ id: string }>(SPEC)
  const { version } = await things.insert({ id: 'one' })
  await expect(things.insert({ id: 'one' })).rejects.toThrow(Duplicate)
  await things.get({ id: 'one' })
  await things.find('key', { equals: ['one'] }, { limit: 1 })
  await things.replace({ id: 'one' }, version)
  await things.delete({ id: 'one' }, version + 1)
  const text = await metricsText()
  const counts = ['insert', 'get', 'find', 'replace', 'delete'].map((operation) => {
    const labels = `role="role",collection="things",operation="${operation}"`
    return Number(new RegExp(`multihub_store_seconds_count\\{${labels}\\} (\\d+)`).exec(text)?.[1])
  })
  expect(counts).toEqual([2, 1, 1, 1, 1])
})

test('a write that follows another one may name the promise that it got', async () => {
  await using opened = await openTestStore()
  const things = await withStoreMetrics(opened.store, 'role').collection<{ id: string }>(SPEC)
  const first = things.insert({ id: 'one' })
  const second = things.insert({ id: 'two' }, { after: first })
  await Promise.all([first, second])
  await expect(things.insert({ id: 'three' }, { after: things.insert({ id: 'two' }) })).rejects.toThrow()
  expect(await things.get({ id: 'three' })).toBeUndefined()
})
