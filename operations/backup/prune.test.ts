import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { machineClock, useClock } from '#lib/base/time.ts'
import { writeManifest } from './manifest.ts'
import { deleteAbandoned, pruneBackups, replacedBackups } from './prune.ts'

const DAY_MS = 86_400_000
const SIGNER = testKeys().journal
/** A Wednesday. */
const TODAY = Date.parse('2026-11-25T03:00:00.000Z')

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)
/** The Monday of the week of a time, found without the rule under test. */
function mondayOf(ms: number): number {
  let day = dayOf(ms)
  while (new Date(day * DAY_MS).getUTCDay() !== 1) day -= 1
  return day
}
const newestDistinct = (numbers: readonly number[], count: number): readonly number[] =>
  [...new Set(numbers)].sort((one, other) => other - one).slice(0, count)

// O23.6
test('the newest backup, the newest of 7 days and of 4 weeks are kept, and none that no rule keeps', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 90 * DAY_MS }), { minLength: 1, maxLength: 60 }),
      (ages) => {
        const backups = ages.map((age_ms) => ({ began_at: new Date(TODAY - age_ms) }))
        const replaced = new Set(replacedBackups(backups))
        const kept = backups
          .filter((backup) => !replaced.has(backup))
          .map(({ began_at }) => began_at.getTime())
        const all = backups.map(({ began_at }) => began_at.getTime())
        expect(kept).toContain(Math.max(...all))
        const newestOf = (periods: readonly number[], periodOf: (ms: number) => number): readonly number[] =>
          periods.map((period) => Math.max(...all.filter((ms) => periodOf(ms) === period)))
        const daily = newestOf(newestDistinct(all.map(dayOf), 7), dayOf)
        const weekly = newestOf(newestDistinct(all.map(mondayOf), 4), mondayOf)
        expect(new Set(kept)).toEqual(new Set([...daily, ...weekly]))
        expect(kept.length).toBeLessThanOrEqual(11)
      },
    ),
  )
})

// O23.6
test('after each of many nights, some without a backup, 7 days and 4 weeks are still there', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 80 }), (nights) => {
      let backups: readonly { readonly began_at: Date }[] = []
      const made: number[] = []
      for (const [night, has_backup] of nights.entries()) {
        if (!has_backup) continue
        const began_at = new Date(TODAY + night * DAY_MS)
        made.push(began_at.getTime())
        backups = [...backups, { began_at }]
        const replaced = new Set(replacedBackups(backups))
        backups = backups.filter((backup) => !replaced.has(backup))
        const kept = backups.map((backup) => backup.began_at.getTime())
        const days = newestDistinct(made.map(dayOf), 7)
        expect(newestDistinct(kept.map(dayOf), 7)).toEqual(days)
        expect(newestDistinct(kept.map(mondayOf), 4)).toEqual(newestDistinct(made.map(mondayOf), 4))
      }
    }),
  )
})

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-prune-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const DATA = 'payments.payments.documents'

/** A backup with one file of `bytes`, of which its manifest says 3. A stuck one cannot be deleted: a directory is in the file's place. */
async function makeBackup(
  name: string,
  began_ms: number,
  { bytes = 3, system_name = 'multihub', signer = SIGNER, is_stuck = false } = {},
): Promise<void> {
  const path = join(directory, name)
  await mkdir(path)
  const data = join(path, DATA)
  await (is_stuck ? mkdir(data) : writeFile(data, 'x'.repeat(bytes)))
  const began_at = new Date(began_ms).toISOString()
  const content = { role: 'payments', kind: 'documents', name: 'payments', file: DATA } as const
  const contents = [{ ...content, frames: 1, bytes: is_stuck ? (await stat(data)).size : 3, sha256: '' }]
  const store = { store: 'embedded', consistency: 'instant' } as const
  const times = { began_at, ended_at: began_at }
  await writeManifest(
    path,
    { version: '1', system_name, ...store, ...times, recipients: [], contents },
    signer,
  )
}

async function linesOf(remove: (printLine: (line: string) => void) => Promise<unknown>) {
  const lines: string[] = []
  await remove((line) => lines.push(line.replaceAll(directory, '')))
  return lines.sort()
}

const prune = (unreadable: readonly string[] = []): Promise<readonly string[]> =>
  linesOf((printLine) =>
    pruneBackups({
      directory,
      system_name: 'multihub',
      newest_began_at: new Date(TODAY),
      signer: SIGNER,
      printLine,
      unreadable,
    }),
  )

// O23.6
test('only what newer complete backups replace is deleted', async () => {
  const hour_ms = 3_600_000
  await makeBackup('newest', TODAY)
  await makeBackup('same-day', TODAY - hour_ms)
  await makeBackup('clock-ahead', TODAY + DAY_MS)
  await makeBackup('damaged', TODAY - 2 * hour_ms, { bytes: 2 })
  await makeBackup('foreign', TODAY - hour_ms, { system_name: 'other' })
  await makeBackup('forged', TODAY - hour_ms, { signer: testKeys('other').journal })
  await mkdir(join(directory, 'lost+found'))
  // It cannot be read.
  await mkdir(join(directory, 'endless'))
  await symlink('manifest.json', join(directory, 'endless', 'manifest.json'))
  await writeFile(join(directory, 'erasures.jsonl'), '')
  await symlink(join(directory, 'same-day'), join(directory, 'link'))
  expect(await prune()).toEqual([
    'deleted /same-day, the backup of 2026-11-25T02:00:00.000Z, which newer ones replace',
    'left alone, and not counted as a backup: /damaged/payments.payments.documents is missing or has another size',
    'left alone, and not counted as a backup: /endless cannot be read (ELOOP)',
    'left alone, and not counted as a backup: /foreign is a backup of the system other',
    expect.stringMatching(
      '^left alone, and not counted as a backup: /forged/manifest.json was not signed by this',
    ),
  ])
  const left = [
    'clock-ahead',
    'damaged',
    'endless',
    'erasures.jsonl',
    'foreign',
    'forged',
    'link',
    'lost+found',
    'newest',
  ]
  expect((await readdir(directory)).sort()).toEqual(left)
})

test('a backup that cannot be deleted does not keep the others, and is the error at the end', async () => {
  await makeBackup('newest', TODAY)
  await makeBackup('older', TODAY - 2 * 3_600_000)
  await makeBackup('stuck', TODAY - 3_600_000, { is_stuck: true })
  await expect(prune()).rejects.toThrow(
    `the new backup is complete, but old ones cannot be deleted: ${join(directory, 'stuck')}`,
  )
  expect((await readdir(directory)).sort()).toEqual(['newest', 'stuck'])
})

test('a directory that is already printed as unreadable is not printed again', async () => {
  const unreadable = join(directory, 'unreadable')
  await mkdir(unreadable)
  await symlink('manifest.json', join(unreadable, 'manifest.json'))
  expect(await prune()).toHaveLength(1)
  expect(await prune([unreadable])).toEqual([])
})

test('a backup that another run deletes at the same time is deleted', async () => {
  for (let age = 0; age < 30; age += 1) await makeBackup(`age-${age}`, TODAY - age * DAY_MS)
  const newest = { directory, system_name: 'multihub', newest_began_at: new Date(TODAY), signer: SIGNER }
  await pruneBackups({
    ...newest,
    unreadable: [],
    // The first line is of the first deletion.
    printLine: () => rmSync(join(directory, 'age-29'), { recursive: true, force: true }),
  })
  expect(await readdir(directory)).not.toContain('age-29')
})

test('files without a manifest are deleted when nothing was written to them for a day', async () => {
  const later_ms = Date.now() + 2 * DAY_MS
  for (const [name, file, modified_ms] of [
    ['killed', DATA, Date.now()],
    ['killed-at-its-end', 'manifest.json.draft', Date.now()],
    // As `cp -a` and rsync copy it.
    ['copied-in', DATA, Date.now() - 2 * DAY_MS],
    ['still-runs', DATA, later_ms],
    ['notes', 'notes.txt', Date.now()],
  ] as const) {
    await mkdir(join(directory, name))
    await writeFile(join(directory, name, file), 'x')
    const modified = new Date(modified_ms)
    await utimes(join(directory, name, file), modified, modified)
  }
  const deleteLines = () => linesOf((printLine) => deleteAbandoned({ directory, printLine }))
  expect(await deleteLines()).toEqual([])
  using _clock = { [Symbol.dispose]: useClock({ ...machineClock, now_ms: () => later_ms }) }
  expect(await deleteLines()).toEqual([
    'deleted /copied-in, a backup that was not completed',
    'deleted /killed, a backup that was not completed',
    'deleted /killed-at-its-end, a backup that was not completed',
  ])
  expect((await readdir(directory)).sort()).toEqual(['notes', 'still-runs'])
})
