import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { testKeys, testMasterKey } from '#lib/base/crypto/keys.fixture.ts'
import { clock } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import { databaseOf } from '../../app/roles.ts'
import { checkpointAt } from '../../services/balances/archive.fixture.ts'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { verifyLedger, writeJournal } from '../../services/balances/verification/verification.fixture.ts'
import { loadOperations } from '../databases.ts'
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
  const variables = { MULTIHUB_HOME: home, MULTIHUB_MASTER_KEYS: testMasterKey('test') }
  const output = { printLine: (line: string) => void lines.push(line), printProgress: () => {} }
  return archive([...words, directory()], variables, output)
}

/** The other databases that the command opens, and a ledger of 1,030 batches with a checkpoint and a verification at its end. */
async function createLedger() {
  for (const role of await loadOperations(['payments', 'balances'])) {
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

const tomorrow = (): string => new Date(clock.now_ms() + 86_400_000).toISOString().slice(0, 10)

test('all but the newest 1,024 batches of a shard are archived, checked and put back', async () => {
  await createLedger()
  await run('--before', tomorrow())
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

test('without the keys of the journal nothing is archived', async () => {
  await createLedger()
  const variables = { MULTIHUB_HOME: home }
  const output = { printLine: () => {}, printProgress: () => {} }
  const words = ['--before', tomorrow(), directory()]
  await expect(archive(words, variables, output)).rejects.toThrow('key')
})
