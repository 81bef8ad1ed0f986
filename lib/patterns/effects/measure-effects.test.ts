import { expect, test } from '@jest/globals'
import { metricsText } from '#lib/platform/telemetry/metrics.ts'
import { withDueTimes } from './effect.ts'
import { defineKind, itemWith, openItemsForEachTest } from './items.fixture.ts'
import { measureEffects } from './measure-effects.ts'

const open = openItemsForEachTest()

async function readMetric(series: string): Promise<number> {
  const line = (await metricsText()).split('\n').find((text) => text.startsWith(`${series} `))
  return Number(line?.slice(series.length))
}

const ageOf = (lane: string): Promise<number> =>
  readMetric(`multihub_effects_oldest_due_seconds{documents="items",lane="${lane}"}`)

test('the age of the oldest due effect of each lane is measured, and what is stuck', async () => {
  const fixture = open()
  await fixture.store(3, defineKind('pay', 'money'), 90_000)
  const stuck = itemWith('stuck', defineKind('ask', 'external'), 600_000)
  const effects = stuck.effects.map((effect) => ({ ...effect, stuck: true }))
  await fixture.items.insert(withDueTimes({ ...stuck, effects }, new Date()))
  await measureEffects('items', fixture.items)
  expect(await ageOf('money')).toBeGreaterThanOrEqual(90)
  expect(await ageOf('external')).toBe(0)
  expect(await readMetric('multihub_stuck_effect_documents{documents="items"}')).toBe(1)
})

test('without anything that waits, all ages are 0', async () => {
  const fixture = open()
  await measureEffects('items', fixture.items)
  expect(await ageOf('money')).toBe(0)
  expect(await readMetric('multihub_stuck_effect_documents{documents="items"}')).toBe(0)
})
