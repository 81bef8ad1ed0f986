import { expect, test } from '@jest/globals'
import { sleep } from '#lib/base/time.ts'
import { installManualClock } from '../test/support/manual-clock.ts'
import { createLifecycle } from './lifecycle.ts'

test('parts stop one by one, the last one first', async () => {
  const lifecycle = createLifecycle()
  const order: string[] = []
  for (const name of ['store', 'bus', 'http']) {
    lifecycle.onStop(name, async () => {
      order.push(`${name} stops`)
      await Promise.resolve()
      order.push(`${name} stopped`)
    })
  }
  await lifecycle.stop(1000)
  expect(order.map((step) => step.split(' ')[0])).toEqual(['http', 'http', 'bus', 'bus', 'store', 'store'])
})

test('a part that hangs or fails leaves time for the parts after it', async () => {
  using manual = installManualClock()
  const lifecycle = createLifecycle()
  const stopped: string[] = []
  lifecycle.onStop('store', async () => {
    await sleep(20)
    stopped.push('store')
  })
  lifecycle.onStop('hangs', () => new Promise(() => {}))
  lifecycle.onStop('fails', () => Promise.reject(new Error('no')))
  lifecycle.onStop('throws', () => {
    throw new Error('no')
  })
  const ended = lifecycle.stop(100)
  await manual.advance(100)
  await ended
  expect(stopped).toEqual(['store'])
})

test('a part that is registered while the others stop is stopped too', async () => {
  const lifecycle = createLifecycle()
  const stopped: string[] = []
  lifecycle.onStop('first', () => lifecycle.onStop('late', () => void stopped.push('late')))
  await lifecycle.stop(1000)
  expect(stopped).toEqual(['late'])
})

// R5
test('a drain turns readiness off at once and postpones the stop by the drain time', async () => {
  using manual = installManualClock()
  const lifecycle = createLifecycle()
  const { readiness, draining, stopping } = lifecycle
  lifecycle.setDrainTime(50)
  let is_drained = false
  const drained = lifecycle.drain().then(() => {
    is_drained = true
  })
  expect([draining.aborted, stopping.aborted]).toEqual([true, false])
  expect(readiness.state()).toMatchObject({ ready: false, unready_parts: ['stopping'] })
  await manual.advance(49)
  expect(is_drained).toBe(false)
  await manual.advance(1)
  await drained
  expect(stopping.aborted).toBe(false)
  lifecycle.announceStop()
  expect(stopping.aborted).toBe(true)
})

test('readiness names the parts that are not ready, and ends when the stop is announced', async () => {
  const { readiness, stopping, announceStop } = createLifecycle()
  expect(readiness.state()).toMatchObject({ ready: true, unready_parts: [] })
  readiness.set('bus', false)
  readiness.set('store', false)
  expect(readiness.state()).toMatchObject({ ready: false, unready_parts: ['bus', 'store'] })
  const ready = readiness.whenReady()
  readiness.set('store', true)
  readiness.set('bus', true)
  await ready
  announceStop()
  expect(stopping.aborted).toBe(true)
  expect(readiness.state()).toMatchObject({ ready: false, unready_parts: ['stopping'] })
})
