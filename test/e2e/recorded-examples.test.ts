import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { RECORDED, RECORDED_PATH, type RecordedExamples } from '../../gateway/openapi/recorded.ts'
import { merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { recordExamples } from './recorded-examples.fixture.ts'

let system: SystemHere
let receiver: Receiver
let seen: RecordedExamples

beforeAll(async () => {
  system = await startHere({ MULTIHUB_SCANNER: 'none' })
  receiver = await startReceiver()
  const { demo } = system
  const [alpha, beta] = [merchantClient(demo, 'alpha'), merchantClient(demo, 'beta')]
  seen = await recordExamples({ alpha, beta, operator: operatorOf(demo()), receiver, demo })
  if (process.env['MULTIHUB_RECORD'] === '1')
    await writeFile(RECORDED_PATH, `${JSON.stringify(seen, undefined, 1)}\n`)
})

afterAll(async () => {
  await receiver?.stop()
  await system?.end()
})

/** A value with its types instead of its texts and numbers. Lists have the shape of their first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]))
}

test('the system answers the examples of the reference as they show', () => {
  const recorded = process.env['MULTIHUB_RECORD'] === '1' ? seen : RECORDED
  const requestsOf = ({ exchanges }: RecordedExamples) =>
    Object.values(exchanges).map(({ request }) => shapeOf(request))
  expect(requestsOf(seen)).toEqual(requestsOf(recorded))
  for (const [method, { response }] of Object.entries(recorded.exchanges))
    expect([method, shapeOf(seen.exchanges[method]?.response)]).toEqual([method, shapeOf(response)])
  const codesOf = ({ errors }: RecordedExamples) =>
    errors.map(({ method, http_status, body }) => [method, http_status, body.error.code, shapeOf(body)])
  expect(codesOf(seen)).toEqual(codesOf(recorded))
  expect(shapeOf(seen.deposits)).toEqual(shapeOf(recorded.deposits))
  for (const [event, body] of Object.entries(recorded.callbacks))
    expect([event, shapeOf(seen.callbacks[event])]).toEqual([event, shapeOf(body)])
})
