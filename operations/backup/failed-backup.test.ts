import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { readConfig } from '#lib/base/config/config.ts'
import type { Store } from '#lib/store/store.ts'
import { BACKUP_ORDER, DATABASE_SETTINGS, databasesOf, loadOperations } from '../databases.ts'
import { backUp } from './backup.ts'

let parent: string
let directory: string
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'multihub-failed-'))
  directory = join(parent, 'backup')
})
afterEach(() => rm(parent, { recursive: true, force: true }))

const NO_DATABASES = 'does not exist: set MULTIHUB_HOME'

/** Runs the command, and `meanwhile` once the command has found its directory empty. Returns its progress. */
async function fail(reason: string, meanwhile = (): void => {}): Promise<readonly string[]> {
  const progress: string[] = []
  const printProgress = (line: string): void => {
    // The first line comes before the work, and the same line after it.
    if (progress.push(line) === 1) meanwhile()
  }
  const variables = { MULTIHUB_HOME: join(parent, 'home'), MULTIHUB_MASTER_KEYS: `local:${'1'.repeat(64)}` }
  await expect(backUp([directory], variables, { printLine: () => {}, printProgress })).rejects.toThrow(reason)
  return progress
}

/** Makes the databases of all roles; `prepare` gets each with its name. */
async function openDatabases(prepare: (role: string, store: Store) => Promise<unknown> = async () => {}) {
  const config = readConfig(DATABASE_SETTINGS, { MULTIHUB_HOME: join(parent, 'home') })
  const databases = databasesOf(config)
  for (const role of await loadOperations(BACKUP_ORDER)) {
    const store = await databases.openStore(role, 'create')
    await role.openCollections(store)
    await prepare(role.name, store)
    await store.close()
  }
}

// O23.6
test('a failed backup leaves no directory that it created, and one that was there stays', async () => {
  await fail(NO_DATABASES)
  expect(await readdir(parent)).toEqual([])
  mkdirSync(directory)
  await fail(NO_DATABASES)
  expect(await readdir(parent)).toEqual(['backup'])
})

test('a failed backup deletes nothing of another run on the same directory', async () => {
  const others = ['gateway.nonces.documents', 'manifest.json']
  await fail(NO_DATABASES, () => {
    for (const name of others) writeFileSync(join(directory, name), 'other')
  })
  expect((await readdir(directory)).sort()).toEqual(others)
})

test('of two backups into one directory the later one ends with what to do, and leaves the files of the other', async () => {
  await openDatabases()
  const others = 'payments.payments.documents'
  await fail(
    `another backup has created ${join(directory, others)}: name a new directory for each backup`,
    () => writeFileSync(join(directory, others), 'other'),
  )
  expect(await readdir(directory)).toEqual([others])
})

test('what cannot be deleted is progress, and the cause of the failure is the error', async () => {
  const progress = await fail(NO_DATABASES, () => {
    rmdirSync(directory)
    writeFileSync(directory, 'not a directory')
  })
  expect(progress).toContain(`cannot delete ${directory} of the failed backup (ENOTDIR)`)
})

test('a backup that fails in its last database leaves no files', async () => {
  await openDatabases(async (role, store) => {
    if (role === 'sandbox') await store.collection({ name: 'others', partition: ['id'], key: ['id'] })
  })
  mkdirSync(directory)
  const progress = await fail('has a collection others')
  expect(progress).toContainEqual(expect.stringMatching('^balances: '))
  expect(await readdir(directory)).toEqual([])
})
