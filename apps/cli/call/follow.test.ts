import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { CommandError } from '../terminal.ts'
import { followStream } from './follow.ts'

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

const unreachable = new CommandError(3, 'no back office answers')
const refused = new CommandError(1, 'refused unauthenticated')

/** Follows streams that each send some cursors, and end or break then. */
function follow(streams: readonly (readonly [cursors: readonly string[], error?: Error])[], first?: string) {
  const opened_after: string[] = []
  const got: string[] = []
  let told = ''
  async function* open(cursor: string) {
    const [cursors = [], error] = streams[opened_after.length] ?? [[], refused]
    opened_after.push(cursor)
    for (const one of cursors) yield { cursor: one }
    if (error !== undefined) throw error
  }
  const end = (async () => {
    try {
      const stderr = { write: (text: string) => (told += text) }
      for await (const { cursor } of followStream(open, { stderr }, first)) got.push(cursor)
      return undefined
    } catch (error) {
      return error
    }
  })()
  return { end, opened_after, got, told: () => told }
}

// O20
test('a stream that ends or breaks goes on after its last cursor, and says so once', async () => {
  const { end, opened_after, got, told } = follow([
    [['a', 'b']],
    [['c', ''], unreachable],
    [[], unreachable],
    [['d']],
  ])
  await clock.advance(60_000)
  expect(await end).toBe(refused)
  expect(opened_after).toEqual(['', 'b', 'c', 'c', 'd'])
  expect(got).toEqual(['a', 'b', 'c', '', 'd'])
  expect(told()).toBe('no back office answers; trying again\nconnected again\n')
})

test.each([
  ['a server that never answered', [[[], unreachable]], unreachable],
  ['a refusal', [[['a'], refused]], refused],
] as const)('%s ends it', async (_name, streams, error) => {
  const { end, opened_after } = follow(streams, 'earlier')
  await clock.advance(60_000)
  expect([await end, opened_after]).toEqual([error, ['earlier']])
})
