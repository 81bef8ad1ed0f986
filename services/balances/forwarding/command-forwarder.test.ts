import { expect, test } from '@jest/globals'
import type { Command } from '../domain/command.ts'
import { credit } from '../ledger.fixture.ts'
import { WAITING_COMMANDS_MAX } from '../limits.ts'
import { createCommandForwarder, type ForwardedResult } from './command-forwarder.ts'

test('commands that wait for a call fail with the call before them instead of trying the same process again', async () => {
  const calls: { readonly ids: readonly string[]; readonly fail: (error: Error) => void }[] = []
  const forwarder = createCommandForwarder((_address, _shard, commands: readonly Command[]) => {
    const { promise, reject } = Promise.withResolvers<ForwardedResult[]>()
    calls.push({ ids: commands.map(({ id }) => id), fail: reject })
    return promise
  })
  const failures: string[] = []
  const submit = (id: string): Promise<unknown> =>
    forwarder.submit('127.0.0.1:1', 0, credit(id, 1n)).catch(() => failures.push(id))
  const sent: Promise<unknown>[] = []
  // One call after the other begins, up to the limit of calls in progress.
  for (const id of ['a', 'b', 'c', 'd']) {
    sent.push(submit(id))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const waiting = ['e', 'f'].map(submit)
  await new Promise((resolve) => setImmediate(resolve))
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c'], ['d']])

  calls[0]?.fail(new Error('the process is gone'))
  await Promise.all([sent[0], ...waiting])
  expect(failures.sort()).toEqual(['a', 'e', 'f'])
  expect(calls).toHaveLength(4)
  for (const { fail } of calls) fail(new Error('the process is gone'))
  await Promise.all(sent)
})

test('a process that does not answer gets a bounded number of waiting commands, and delays no other process', async () => {
  const { promise: answer, reject: fail } = Promise.withResolvers<ForwardedResult[]>()
  const forwarder = createCommandForwarder((address) =>
    address === 'silent:1' ? answer : Promise.resolve([]),
  )
  const failures: unknown[] = []
  const submit = (address: string): Promise<unknown> =>
    forwarder.submit(address, 0, credit('a', 1n)).catch((error: Error) => failures.push(error.message))
  // The first commands take all calls; then the queue is filled.
  const sent: Promise<unknown>[] = []
  for (let call = 0; call < 4; call += 1) {
    sent.push(submit('silent:1'))
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (let waiting = 0; waiting < WAITING_COMMANDS_MAX; waiting += 1) sent.push(submit('silent:1'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(failures).toEqual([])
  await submit('silent:1')
  expect(failures).toEqual(['too many commands wait to be forwarded; try again later'])
  await submit('other:2')
  expect(failures.at(-1)).toBe('the process that owns the shard could not decide the command')
  fail(new Error('the process is gone'))
  await Promise.all(sent)
  expect(failures).toHaveLength(2 + sent.length)
})
