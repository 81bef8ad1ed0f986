import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { ARCHIVE_FILES, type ArchiveFileRecord } from '#lib/store/archive/archive-files.ts'
import type { Collection } from '#lib/store/store.ts'
import { PAYMENTS } from '../../services/payments/store/payments.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import { checkArchiveFiles } from './archive-files.ts'

let directory: string
let opened: TestStore
let records: Collection<ArchiveFileRecord>
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-archive-'))
  opened = await openTestStore()
  records = await opened.store.collection<ArchiveFileRecord>(ARCHIVE_FILES)
})
afterEach(async () => {
  await opened[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const nameOf = (number: number): string => `payments-2026-01-01-${String(number).padStart(12, '0')}.jsonl.gz`

/** Stores the record of a run that has ended with so many bytes, and writes as many bytes to its file. */
async function addFile(number: number, bytes: number, written: number | undefined): Promise<void> {
  const file = nameOf(number)
  const at = now()
  await records.insert({ collection: 'payments', file, began_at: at, ended_at: at, bytes, documents: 1 })
  if (written !== undefined) await writeFile(join(directory, file), 'x'.repeat(written))
}

const check = (from = directory): Promise<void> =>
  checkArchiveFiles({ archives: [{ spec: PAYMENTS, async *list() {} }] }, opened.store, from)

test('a file that has fewer bytes than its run has written is missing; one that grew is not', async () => {
  await addFile(1, 3, 4)
  await addFile(2, 3, 3)
  await check()
  await addFile(3, 3, 2)
  await expect(check()).rejects.toThrow(`${nameOf(3)} has 2 bytes instead of 3: docs/operators/archive.md`)
})

test('the last of more files than one read has is looked for too', async () => {
  const at = now()
  await writeFile(join(directory, nameOf(0)), '')
  const file = nameOf(0)
  await records.insert({ collection: 'payments', file, began_at: at })
  await Promise.all(
    Array.from({ length: 1_000 }, (_, number) => addFile(number + 1, 0, number < 999 ? 0 : undefined)),
  )
  await expect(check()).rejects.toThrow(`${nameOf(1_000)} cannot be read (ENOENT)`)
})

test('a directory that cannot be read is a problem, also while nothing is archived', async () => {
  await check()
  const away = join(directory, 'away')
  await expect(check(away)).rejects.toThrow(`${away} (MULTIHUB_ARCHIVE) cannot be read (ENOENT)`)
})
