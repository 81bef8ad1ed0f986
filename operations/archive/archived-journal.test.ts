import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Variables } from '#lib/base/config/config.ts'
import { testKeys, testMasterKey } from '#lib/base/crypto/keys.fixture.ts'
import { type Clock, clock, machineClock, useClock } from '#lib/base/time.ts'
import type { RoleName } from '#lib/role/role.ts'
import { openStore } from '#lib/store/open.ts'
import { databaseOf } from '../../app/roles.ts'
import { checkpointAt } from '../../services/balances/archive.fixture.ts'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { verifyLedger, writeJournal } from '../../services/balances/verification/verification.fixture.ts'
import { backUp } from '../backup/backup.ts'
import { readManifest, writeManifest } from '../backup/manifest.ts'
import { restore } from '../backup/restore.ts'
import { BACKUP_ORDER, loadOperations } from '../databases.ts'
import { verify } from '../verify.ts'
import { archive } from './archive.ts'

const SHARD = shardOf('1000', 'test')

let home: string
let lines: string[]
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-archive-'))
  lines = []
})
afterEach(() => rm(home, { recursive: true, force: true }))

const directory = (): string => join(home, 'archive')

function run(...words: string[]): Promise<void> {
  return runWith({}, ...words)
}

/** Runs the command with other settings. */
function runWith(others: Variables, ...words: string[]): Promise<void> {
  const variables = {
    MULTIHUB_HOME: home,
    MULTIHUB_MASTER_KEYS: testMasterKey('test'),
    MULTIHUB_ARCHIVE: directory(),
    ...others,
  }
  const output = { printLine: (line: string) => void lines.push(line), printProgress: () => {} }
  return archive([...words, directory()], variables, output)
}

function runVerify(keys: Variables = { MULTIHUB_MASTER_KEYS: testMasterKey('test') }): Promise<void> {
  const variables = { MULTIHUB_HOME: home, MULTIHUB_ARCHIVE: directory(), ...keys }
  const output = { printLine: (line: string) => void lines.push(line), printProgress: () => {} }
  return verify([], variables, output)
}

/** The databases of roles, and a ledger of 1,030 batches with a checkpoint and a verification at its end. */
async function createLedger(roles: readonly RoleName[] = ['payments', 'balances']) {
  for (const role of await loadOperations(roles)) {
    const store = await openStore({
      database: databaseOf('multihub', role.name),
      directory: join(home, 'data'),
    })
    await role.openCollections(store)
    await store.close()
  }
  await useLedger(async (store) => {
    await writeJournal(store, 1_030)
    await checkpointAt(store, SHARD)
    await verifyLedger(store)
  })
}

async function useLedger<T>(
  use: (store: Awaited<ReturnType<typeof openLedgerStore>>) => Promise<T>,
): Promise<T> {
  const store = await openStore({
    database: databaseOf('multihub', 'balances'),
    directory: join(home, 'data'),
  })
  try {
    return await use(await openLedgerStore(store, testKeys().journal))
  } finally {
    await store.close()
  }
}

const DAY_MS = 86_400_000

/** The day that began with so many days from now. */
const dayIn = (days: number): string => new Date(clock.now_ms() + days * DAY_MS).toISOString().slice(0, 10)

/** Archives as a run does two days later, when the batches of now are old enough. */
async function archiveLater(keys: Variables = {}): Promise<void> {
  const day = dayIn(1)
  using _later = {
    [Symbol.dispose]: useClock({ ...machineClock, now_ms: () => machineClock.now_ms() + 2 * DAY_MS }),
  }
  await runWith(keys, '--before', day)
}

test('all but the newest 1,024 batches of a shard are archived, checked and put back', async () => {
  await createLedger()
  await archiveLater()
  expect(lines).toContainEqual(
    expect.stringMatching(/^balances: 6 documents of journal were archived in journal-/),
  )
  await run('--check')
  expect(lines).toContain('balances: 6 archived documents of journal, 0 unreadable')
  const [file = ''] = await readdir(directory())
  const bytes = await readFile(join(directory(), file))
  await writeFile(join(directory(), file), bytes.subarray(0, 100))
  await expect(run('--check')).rejects.toThrow('docs/operators/archive.md says what to do')
  await expect(run('--restore')).rejects.toThrow('docs/operators/archive.md says what to do')
  await writeFile(join(directory(), file), bytes)
  await run('--restore')
  expect(lines).toContain('balances: 6 documents of journal were restored, 0 unreadable')
  expect(await useLedger((store) => verifyLedger(store))).toEqual({ entries: 1_030n, problems: [] })
})

test('a verification waits longer for a file than a request', async () => {
  await createLedger(BACKUP_ORDER)
  await archiveLater()
  const delays_ms: number[] = []
  const after: Clock['after'] = (delay_ms, action) => {
    delays_ms.push(delay_ms)
    return machineClock.after(delay_ms, action)
  }
  using _measured = { [Symbol.dispose]: useClock({ ...machineClock, after }) }
  await runVerify()
  expect(lines).toContain('balances: 6 archived documents of journal, 0 unreadable')
  expect(delays_ms.filter((delay_ms) => delay_ms > 1_900 && delay_ms <= 2_000)).toEqual([])
})

// B4.8
test('what stays of a batch is signed with the active key of the ledger', async () => {
  const old_key = testMasterKey('test')
  const rotated = {
    MULTIHUB_MASTER_KEYS: `${testMasterKey('new')},${old_key}`,
    MULTIHUB_ACTIVE_KEY: 'new',
  }
  await createLedger(BACKUP_ORDER)
  await archiveLater(rotated)
  await runVerify(rotated)
  await expect(runVerify()).rejects.toThrow('problem')
  expect(lines).toContainEqual(expect.stringContaining('was not signed with a key of the ledger (new)'))
})

// The first batches are of the first milliseconds of 1970.
test.each<[string, Date, string | undefined]>([
  ['now', new Date(), undefined],
  ['half a day after the third batch', new Date(43_200_003), '(4 documents)'],
])(
  'a restore needs the archived batches that a backup could lack: it began %s',
  async (_when, began_at, problem) => {
    await createLedger(BACKUP_ORDER)
    await archiveLater()
    const backup = join(home, 'backup')
    const output = { printLine: (line: string) => void lines.push(line), printProgress() {} }
    const keys = { MULTIHUB_MASTER_KEYS: testMasterKey('test') }
    await backUp(['--recipient', 'none', backup], { MULTIHUB_HOME: home, ...keys }, output)
    const { journal } = testKeys()
    const { product: _product, format: _format, ...manifest } = await readManifest(backup, journal)
    const ordered = { ...manifest, consistency: 'ordered', began_at: began_at.toISOString() } as const
    await rm(join(backup, 'manifest.json'))
    await writeManifest(backup, ordered, journal)
    await mkdir(join(home, 'restored'))
    const restored = { MULTIHUB_HOME: join(home, 'restored'), ...keys }
    const restoring = restore(['--erasures', 'none', backup], restored, output)
    if (problem === undefined) await restoring
    else await expect(restoring).rejects.toThrow('before --incomplete')
    expect(lines.filter((line) => line.startsWith('PROBLEM'))).toEqual(
      problem === undefined ? [] : [expect.stringContaining(problem)],
    )
  },
)

test('without the keys of the journal nothing is archived', async () => {
  await createLedger()
  const variables = { MULTIHUB_HOME: home, MULTIHUB_ARCHIVE: directory() }
  const output = { printLine: () => {}, printProgress: () => {} }
  const words = ['--before', dayIn(-2), directory()]
  await expect(archive(words, variables, output)).rejects.toThrow('key')
})

// What is refused although nothing is due: no database has a document.
test('a directory, databases or keys that cannot be right are refused before anything is walked', async () => {
  const before = ['--before', dayIn(-2)]
  await expect(run(...before)).rejects.toThrow('does not exist: set MULTIHUB_HOME')
  expect(await readdir(home)).toEqual([])
  await createLedger()
  const variables = { MULTIHUB_HOME: home, MULTIHUB_MASTER_KEYS: testMasterKey('other') }
  const archiveIn = (path: string): Promise<void> => {
    const output = { printLine: (line: string) => void lines.push(line), printProgress: () => {} }
    return archive([...before, path], { ...variables, MULTIHUB_ARCHIVE: path }, output)
  }
  await expect(archiveIn(directory())).rejects.toThrow('the given keys signed nothing in the ledger')
  await writeFile(join(home, 'file'), '')
  await expect(archiveIn(join(home, 'file'))).rejects.toThrow('cannot be written (ENOTDIR)')
  await expect(archiveIn(join(home, 'file', 'archive'))).rejects.toThrow('cannot be written (ENOTDIR)')
  await expect(archiveIn(join(home, 'missing', 'archive'))).rejects.toThrow('cannot be written (ENOENT)')
  expect([lines, (await readdir(home)).sort()]).toEqual([[], ['data', 'file']])
})

// O24.1
test.each([0, 1])('nothing is archived before a day that began %i days from now', async (days) => {
  await expect(run('--before', dayIn(days))).rejects.toThrow('24 hours ago or earlier')
})

test.each(['2026-02-30', '2026-1-1', '2026-01', '2026-01-01T00:00:00Z', 'January 1, 2026', ''])(
  '%j is not a day',
  async (text) => {
    await expect(run('--before', text)).rejects.toThrow(`${text} is not a day such as 2026-01-31`)
  },
)

test.each([
  [[]],
  [['--check', '--restore']],
  [['--before', '2026-01-01', '--check']],
  [['--check', 'other']],
])('the words %j name no task and directory', async (words) => {
  await expect(run(...words)).rejects.toThrow('name what to do and one directory')
})

test('the directory is the directory that MULTIHUB_ARCHIVE names for the processes, by whatever path', async () => {
  await createLedger()
  for (const words of [['--before', dayIn(-2)], ['--check'], ['--restore']]) {
    await expect(runWith({ MULTIHUB_ARCHIVE: undefined }, ...words)).rejects.toThrow('set MULTIHUB_ARCHIVE')
    await expect(runWith({ MULTIHUB_ARCHIVE: home }, ...words)).rejects.toThrow(`the processes read ${home}`)
  }
  await expect(runWith({ MULTIHUB_ARCHIVE: join(home, 'x', '..', 'archive') }, '--check')).resolves.toBe(
    undefined,
  )
  await mkdir(directory())
  await symlink(directory(), join(home, 'link'))
  await expect(runWith({ MULTIHUB_ARCHIVE: join(home, 'link') }, '--check')).resolves.toBe(undefined)
})
