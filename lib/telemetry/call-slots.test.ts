import { expect, test } from '@jest/globals'
import { inCallSlot, waitOutside } from './call-slots.ts'
import { metricsText } from './metrics.ts'

async function slotsInUse(): Promise<number> {
  return Number(/^multihub_call_slots_in_use\{calls="rpc"\} (\d+)$/m.exec(await metricsText())?.[1] ?? '0')
}

/** A wait that the test ends. */
const pause = () => Promise.withResolvers<void>()

test('a call uses a slot while the process works on it, and none while it waits for another process', async () => {
  const [provider, own] = [pause(), pause()]
  const call = inCallSlot('rpc', async () => {
    await waitOutside(() => provider.promise)
    await own.promise
  })
  const working = inCallSlot('rpc', () => own.promise)
  expect(await slotsInUse()).toBe(1)
  provider.resolve()
  await provider.promise
  await Promise.resolve()
  expect(await slotsInUse()).toBe(2)
  own.resolve()
  await Promise.all([call, working])
  expect(await slotsInUse()).toBe(0)
})

test('a call that waits for two processes at once uses its slot again when both have answered', async () => {
  const [first, second, own] = [pause(), pause(), pause()]
  const call = inCallSlot('rpc', async () => {
    await Promise.all([waitOutside(() => first.promise), waitOutside(() => second.promise)])
    await own.promise
  })
  first.resolve()
  await first.promise
  expect(await slotsInUse()).toBe(0)
  second.reject(new Error('no answer'))
  await expect(call).rejects.toThrow('no answer')
  expect(await slotsInUse()).toBe(0)
})

test('work that a call has left behind uses no slot, whether it waits or not', async () => {
  const [before, after] = [pause(), pause()]
  let left: Promise<unknown> = Promise.resolve()
  await inCallSlot('rpc', async () => {
    left = waitOutside(() => before.promise).then(() => waitOutside(() => after.promise))
  })
  expect(await slotsInUse()).toBe(0)
  before.resolve()
  await before.promise
  expect(await slotsInUse()).toBe(0)
  after.resolve()
  await left
  expect(await slotsInUse()).toBe(0)
})

test('a wait outside of a call changes nothing', async () => {
  expect(await waitOutside(async () => 'done')).toBe('done')
  expect(await slotsInUse()).toBe(0)
})
