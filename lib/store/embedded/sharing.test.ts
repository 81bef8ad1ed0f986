import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { machineClock, useClock } from '#lib/base/time.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { type LmdbEnvironment, openEnvironment } from './environment.ts'
import type { PlannedWrite } from './writer.ts'

const OPENER = join(import.meta.dirname, 'opener.fixture.ts')
const OPENED = 1_000
/** In memory commits are so frequent that opens meet them. */
const MEMORY_FOLDER = '/dev/shm'
/** Where LMDB keeps the number of the last transaction in its lock file. */
const NUMBER_AT = 8

describe('an environment that another process opens during writes', () => {
  let directory: string
  let environment: LmdbEnvironment
  beforeEach(async () => {
    directory = await mkdtemp(join(existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir(), 'store-sharing-'))
    environment = await openEnvironment(directory, HANG_LIMIT_MS)
  })
  afterEach(async () => {
    await environment.release()
    await rm(directory, { recursive: true, force: true })
  })

  const putting = (key: string): PlannedWrite<void> => ({
    result: undefined,
    apply: () => void environment.table.put(key, Buffer.from(key)),
  })
  const keys = (): string[] =>
    environment.read(() => [...environment.table.getKeys({ start: 'a', end: 'z' })])

  test('keeps every write that was acknowledged', async () => {
    const child = spawn(process.execPath, [...process.execArgv, OPENER, directory], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    try {
      let [opened, count] = [0, 0]
      child.on('message', () => {
        opened += 1
      })
      const found: string[] = []
      for (; opened < OPENED && child.exitCode === null; count += 1)
        await environment.write(() => {
          found.push(environment.table.get('count')?.toString() ?? '0')
          return {
            result: undefined,
            apply: () => void environment.table.put('count', Buffer.from(String(count + 1))),
          }
        })
      expect(opened).toBeGreaterThanOrEqual(OPENED)
      expect(found).toEqual(Array.from({ length: count }, (_, index) => String(index)))
    } finally {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
  })

  test('tells whether it is alone', async () => {
    expect(environment.isAlone()).toBe(true)
    const second = await openEnvironment(directory, HANG_LIMIT_MS)
    expect(second.isAlone()).toBe(false)
    await second.release()
    await environment.release()
    const child = spawn(process.execPath, [...process.execArgv, OPENER, directory, 'stays'], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    await once(child, 'message')
    environment = await openEnvironment(directory, HANG_LIMIT_MS)
    expect(environment.isAlone()).toBe(false)
    await environment.release()
    child.kill('SIGKILL')
    await once(child, 'exit')
    environment = await openEnvironment(directory, HANG_LIMIT_MS)
    expect(environment.isAlone()).toBe(true)
  })

  test('uses the pages again that a killed process has read', async () => {
    const child = spawn(process.execPath, [...process.execArgv, OPENER, directory, 'reads'], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    await once(child, 'message')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const sizeAfterWrites = async (): Promise<number> => {
      for (let number = 0; number < 100; number += 1) await environment.write(() => putting('a'))
      return (await stat(join(directory, 'data.mdb'))).size
    }
    const size = await sizeAfterWrites()
    expect(await sizeAfterWrites()).toBeGreaterThan(size)
    const monotonic_ms = (): number => machineClock.monotonic_ms() + 10_000
    using _later = { [Symbol.dispose]: useClock({ ...machineClock, monotonic_ms }) }
    const size_then = await sizeAfterWrites()
    expect(await sizeAfterWrites()).toBe(size_then)
  })

  test('keeps the last write when its number was set back', async () => {
    await environment.write(() => putting('a'))
    await environment.write(() => putting('b'))
    // As by an open that has read the number before the write of b. A file that this process closes takes LMDB's locks along.
    const lock = await open(join(directory, 'lock.mdb'), 'r+')
    const number = Buffer.alloc(8)
    await lock.read(number, 0, number.length, NUMBER_AT)
    number.writeBigUInt64LE(number.readBigUInt64LE() - 1n)
    await lock.write(number, 0, number.length, NUMBER_AT)

    await environment.write(() => putting('c'))
    expect(keys()).toEqual(['a', 'b', 'c'])
    await lock.close()
  })
})
