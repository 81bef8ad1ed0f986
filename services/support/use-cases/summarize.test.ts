import { expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Fields } from '#lib/store/store.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { type CountedResource, countStatusEffect } from '../domain/counted-resource.ts'
import { summarize } from './summarize.ts'

interface Resource extends CountedResource {
  readonly resource_id: string
  readonly status: string
  readonly version: number
}

const OWNER = { merchant_id: '7001', environment: 'test' } as const
const at = new Date('2026-11-22T12:00:00.000Z')

/** A resource whose creation waits to be counted. */
function waiting(number: number): Resource {
  const resource_id = `r-${number}`
  const change = { resource_id, transition_number: 1 }
  const count = countStatusEffect.newEffect(change, { from: '', to: 'open', created_at: at }, { at })
  return { ...OWNER, resource_id, status: 'open', version: 1, uncounted_since: at, effects: [count] }
}

// S11
test('waits for every change that is pending, however many there are', async () => {
  const pending = Array.from({ length: 2_500 }, (_, number) => waiting(number))
  const awaited: string[] = []
  const collection = {
    async find(index: string, _range: object, page: { limit: number; after?: Fields }): Promise<Resource[]> {
      if (index !== 'by_uncounted') return []
      const { limit, after } = page
      const begin = pending.findIndex(({ resource_id }) => resource_id === after?.['resource_id']) + 1
      return pending.slice(begin, begin + limit)
    },
    async get(key: Fields): Promise<Resource | undefined> {
      awaited.push(String(key['resource_id']))
      const counted = pending.find(({ resource_id }) => resource_id === key['resource_id'])
      return counted && { ...counted, effects: [] }
    },
  }
  const counts = { find: async () => [] }
  const keyOf = ({ resource_id }: Resource): Fields => ({ resource_id })
  await summarize(
    { collection, counts, keyOf, statuses: ['open'] },
    { ...OWNER, created_from: at, created_to: at },
  )
  expect(awaited).toEqual(pending.map(({ resource_id }) => resource_id))
})

// S11
test('is refused as unavailable, instead of being wrong, when a change is not counted in time', async () => {
  const clock = createAdjustableClock()
  clock.setRate(50)
  const restoreClock = useClock(clock)
  const collection = {
    find: async (index: string) => (index === 'by_uncounted' ? [waiting(1)] : []),
    get: async () => waiting(1),
  }
  const summary = summarize(
    { collection, counts: { find: async () => [] }, keyOf: () => ({}), statuses: ['open'] },
    { ...OWNER, created_from: at, created_to: at },
  )
  await expect(summary).rejects.toThrow(Unavailable)
  restoreClock()
})
