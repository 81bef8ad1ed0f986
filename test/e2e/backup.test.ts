import { access, appendFile, cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { ROLES } from '#lib/role/role.ts'
import { explainStartError } from '../../app/run.ts'
import { backUp } from '../../operations/backup/backup.ts'
import { restore } from '../../operations/backup/restore.ts'
import { BACKUP_ORDER } from '../../operations/databases.ts'
import { reseal } from '../../operations/reseal.ts'
import { launch } from '../support/child.ts'
import { runHere, runHereToEnd } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { mongodbForTests } from '../support/servers.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'
import { destroyFiles, expectBackupUnderLoad, keysOf } from './backup.suite.ts'

const LONG_MS = 900_000
const server = await mongodbForTests()

test('a backup has the database of every role', () => {
  expect([...BACKUP_ORDER].sort()).toEqual([...ROLES].sort())
})

// R10
describe('under load', () => {
  let receiver: Receiver
  let system: TestSystem | undefined
  beforeEach(async () => {
    receiver = await startReceiver()
  })
  afterEach(async () => {
    await receiver.stop()
    await system?.end()
    system = undefined
  })

  test(
    'a backup of embedded files has every payment that was accepted before',
    async () => {
      const running = await startOneProcess()
      system = running
      const variables = { MULTIHUB_HOME: running.home }
      const destroy = () => destroyFiles(running)
      await expectBackupUnderLoad({ system: running, receiver, variables, destroy, is_instant: true })
    },
    LONG_MS,
  )

  if ('skip' in server) test.skip(`a backup of MongoDB: ${server.skip}`, () => {})
  else
    test(
      'a backup of MongoDB has every payment that was accepted before',
      async () => {
        const system_name = `backup_${randomHex(4)}`
        const databases = { MULTIHUB_SYSTEM_NAME: system_name, MONGODB_URI: server.uri }
        const client = new MongoClient(server.uri)
        const destroy = async (): Promise<void> => {
          for (const role of ROLES) await client.db(`${system_name}_${role}`).dropDatabase()
        }
        const running = await startOneProcess(databases)
        system = running
        const variables = { MULTIHUB_HOME: running.home, ...databases }
        try {
          await expectBackupUnderLoad({ system: running, receiver, variables, destroy, is_instant: false })
        } finally {
          await running.kill()
          await destroy()
          await client.close()
        }
      },
      LONG_MS,
    )
})

describe('a backup of embedded files', () => {
  let system: TestSystem
  let keys: Readonly<Record<string, string>>
  let variables: Readonly<Record<string, string>>
  let backup: string
  let c_id: string
  beforeAll(async () => {
    system = await startOneProcess()
    keys = await keysOf(system)
    variables = { MULTIHUB_HOME: system.home, ...keys }
    const alpha = merchantClient(system.demo)
    c_id = (await alpha.deposit(100_000)).c_id
    await alpha.finalPayment(c_id)
    backup = join(system.home, 'backup')
    await runHereToEnd(backUp, [backup], variables)
    await system.kill()
  }, LONG_MS)
  afterAll(() => system.end())

  /** Restores a changed copy of the backup, and returns why that is refused. */
  async function refusalOf(change: (copy: string) => Promise<void>, more: Record<string, string> = {}) {
    const copy = join(system.home, `copy-${randomHex(4)}`)
    await cp(backup, copy, { recursive: true })
    await change(copy)
    const elsewhere = { MULTIHUB_HOME: join(system.home, `home-${randomHex(4)}`), ...keys, ...more }
    const output = { printLine: () => {}, printProgress: () => {} }
    const refusal = await restore(['--erasures', 'none', copy], elsewhere, output).catch(explainStartError)
    expect(await readdir(elsewhere.MULTIHUB_HOME).catch(() => [])).toEqual([])
    return refusal?.replaceAll(copy, 'COPY')
  }

  /**
   * Kills a command in its middle, and returns the watched directory. A command that was faster than the kill is run again
   * in another place.
   */
  async function interrupt(
    command: string,
    begin: () => {
      readonly words: readonly string[]
      readonly variables: Readonly<Record<string, string>>
      readonly watched: string
      readonly last: string
    },
  ): Promise<string> {
    for (;;) {
      const { words, variables, watched, last } = begin()
      const { child, kill } = launch('main.ts', [command, ...words], variables)
      await eventually(
        async () => child.exitCode !== null || (await readdir(watched).catch(() => [])).length > 0,
        (has_begun) => has_begun === true,
      )
      await kill()
      const is_complete = await access(last).then(
        () => true,
        () => false,
      )
      if (!is_complete && child.signalCode === 'SIGKILL') return watched
    }
  }

  // O23.6
  test(
    'with --prune deletes the backup of the same day that it replaces, and only after its own success',
    async () => {
      const parent = join(system.home, `pruned-${randomHex(4)}`)
      const output = { printLine: () => {}, printProgress: () => {} }
      await backUp([join(parent, 'first')], variables, output)
      const other_key = { ...variables, MULTIHUB_MASTER_KEYS: `local:${randomHex(32)}` }
      await backUp(['--prune', join(parent, 'failed')], other_key, output).catch(explainStartError)
      expect(await readdir(join(parent, 'first'))).toContain('manifest.json')
      await backUp(['--prune', join(parent, 'second')], variables, output)
      expect((await readdir(parent)).sort()).toEqual(['second'])
    },
    LONG_MS,
  )

  test(
    'is not made with keys that did not sign the ledger',
    async () => {
      const output = { printLine: () => {}, printProgress: () => {} }
      const refusalWith = (id: string, key: string | undefined) =>
        backUp(
          [join(system.home, `other-${randomHex(4)}`)],
          { ...variables, MULTIHUB_MASTER_KEYS: `${id}:${key}` },
          output,
        ).catch(explainStartError)
      const key = keys['MULTIHUB_MASTER_KEYS']?.replace('local:', '')
      const refusal =
        'the given keys signed nothing in the ledger: set the key with the id local, with which its batches are signed'
      expect(await refusalWith('2026a', key)).toBe(refusal)
      expect(await refusalWith('local', '0'.repeat(64))).toBe(refusal)
      // A key that was made active a moment ago has signed nothing yet; the former one is still given.
      const rotated = { MULTIHUB_ACTIVE_KEY: '2026b' }
      const both = `local:${key},2026b:${'1'.repeat(64)}`
      await backUp(
        [join(system.home, 'rotated')],
        { ...variables, ...rotated, MULTIHUB_MASTER_KEYS: both },
        output,
      )
      // The former key alone still verifies what it has signed, but after a reseal nobody needs to keep it for secrets.
      await reseal(['--to', '2026b'], { ...variables, ...rotated, MULTIHUB_MASTER_KEYS: both }, output)
      expect(await refusalWith('local', key)).toContain('set the key with the id 2026b too')
      await reseal(
        ['--to', 'local'],
        { ...variables, MULTIHUB_ACTIVE_KEY: 'local', MULTIHUB_MASTER_KEYS: both },
        output,
      )
    },
    LONG_MS,
  )

  /** Replaces a part of the manifest. */
  const editManifest = (from: string, to: string) => async (copy: string) => {
    const path = join(copy, 'manifest.json')
    await writeFile(path, (await readFile(path, 'utf8')).replace(from, to))
  }

  test(
    'is refused when it is partial, damaged, newer, of another product or of another system',
    async () => {
      expect(await refusalOf((copy) => rm(join(copy, 'manifest.json')))).toBe(
        'cannot start: COPY has no manifest.json: the backup was not completed; use another one',
      )
      expect(await refusalOf((copy) => rm(join(copy, 'payments.payments.documents')))).toMatch(
        /^cannot start: no such file or directory: COPY.payments.payments.documents$/,
      )
      expect(await refusalOf((copy) => appendFile(join(copy, 'balances.journal.documents'), 'x'))).toBe(
        'cannot start: COPY/balances.journal.documents is damaged: use another backup',
      )
      const flipLastByte = async (copy: string): Promise<void> => {
        const path = join(copy, 'balances.journal.documents')
        const bytes = await readFile(path)
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
        await writeFile(path, bytes)
      }
      expect(await refusalOf(flipLastByte)).toBe(
        'cannot start: COPY/balances.journal.documents is damaged: use another backup',
      )
      // O9: whoever changes a file and its checksum cannot sign the manifest.
      expect(await refusalOf(editManifest('"frames": 0', '"frames": 1'))).toBe(
        'cannot start: COPY/manifest.json was not signed by this system (local): set the keys of the time of the backup, or use another one',
      )
      expect(await refusalOf(async () => {}, { MULTIHUB_MASTER_KEYS: `other:${'0'.repeat(64)}` })).toContain(
        'was not signed by this system (local)',
      )
      expect(await refusalOf(editManifest('"signature"', '"other"'))).toBe(
        'cannot start: COPY/manifest.json is damaged: use another backup',
      )
      expect(await refusalOf(editManifest('"format": 1', '"format": 2'))).toBe(
        'cannot start: COPY was made by the newer release 0.1.0: restore it with that release',
      )
      expect(await refusalOf(editManifest('"product": "multihub"', '"product": "other"'))).toBe(
        'cannot start: COPY is not a backup of Multihub: name another directory',
      )
      // O11: a restore must not bring back whoever was erased since.
      const output = { printLine: () => {}, printProgress: () => {} }
      for (const words of [
        [backup],
        ['--erasures', backup],
        ['--erasures', 'none', backup, backup],
        ['--other', backup],
      ])
        expect(await restore(words, variables, output).catch(explainStartError)).toContain(
          'and the list of erasures since, or none',
        )
      const absent = join(system.home, 'no-list')
      expect(await restore(['--erasures', absent, backup], variables, output).catch(explainStartError)).toBe(
        `the list of erasures ${absent} cannot be read (ENOENT)`,
      )
      expect(await refusalOf(async () => {}, { MULTIHUB_SYSTEM_NAME: 'other' })).toBe(
        'the backup is of the system multihub: set MULTIHUB_SYSTEM_NAME to it, or name another backup',
      )
    },
    LONG_MS,
  )

  test('can be read by its owner only', async () => {
    const modes = await Promise.all(
      (await readdir(backup)).map(async (name) => (await stat(join(backup, name))).mode & 0o077),
    )
    expect([...new Set(modes)]).toEqual([0])
  })

  test(
    'is refused by a directory that is not empty',
    async () => {
      const { code, log } = await runHere(restore, ['--erasures', 'none', backup], variables)
      expect(code).toBe(1)
      expect(log).toContain(
        `${system.home}/data is not empty: stop all processes and move it away, or set another MULTIHUB_HOME`,
      )
    },
    LONG_MS,
  )

  test(
    'is not made of nothing, nor over another one',
    async () => {
      const nothing = { ...keys, MULTIHUB_HOME: join(system.home, 'nothing') }
      const missing = await runHere(backUp, [join(system.home, 'none')], nothing)
      expect(missing.code).toBe(1)
      expect(missing.log).toContain('does not exist: set MULTIHUB_HOME to the directory of the system')
      const repeated = await runHere(backUp, [backup], variables)
      expect(repeated.code).toBe(1)
      expect(repeated.log).toContain('is not empty: name a new directory')
    },
    LONG_MS,
  )

  test(
    'that was killed is refused, and the next one works',
    async () => {
      const killed = await interrupt('backup', () => {
        const directory = join(system.home, `killed-${randomHex(4)}`)
        return { words: [directory], variables, watched: directory, last: join(directory, 'manifest.json') }
      })
      const elsewhere = { ...keys, MULTIHUB_HOME: join(system.home, 'after-killed') }
      const { code, log } = await runHere(restore, ['--erasures', 'none', killed], elsewhere)
      expect({ code, log }).toMatchObject({ code: 1, log: expect.stringContaining('was not completed') })
      await runHereToEnd(backUp, [join(system.home, 'second')], variables)
    },
    LONG_MS,
  )

  test(
    'whose restore was killed leaves a system without data, and can be restored after that',
    async () => {
      const unfinished = await interrupt('restore', () => {
        const home = join(system.home, `restored-${randomHex(4)}`)
        const watched = join(home, 'data.restoring')
        return {
          words: ['--erasures', 'none', backup],
          variables: { ...keys, MULTIHUB_HOME: home },
          watched,
          last: join(home, 'data'),
        }
      })
      const home = dirname(unfinished)
      const elsewhere = { ...keys, MULTIHUB_HOME: home }
      expect(await readdir(home)).toEqual(['data.restoring'])
      const { code, log } = await runHere(restore, ['--erasures', 'none', backup], elsewhere)
      expect(code).toBe(1)
      expect(log).toContain('data.restoring is left of a restore that was not finished: delete it')
      await rm(join(home, 'data.restoring'), { recursive: true })
      await runHereToEnd(restore, ['--erasures', 'none', backup], elsewhere)
      expect(await readdir(home)).toEqual(['data'])
    },
    LONG_MS,
  )
})
