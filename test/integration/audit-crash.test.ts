import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock } from '#lib/base/time.ts'
import { COMPLETE_AFTER_MS } from '../../services/backoffice/audit/complete-acts.ts'
import type { AuditEntry } from '../../services/backoffice/audit/use-cases/list-entries.ts'
import { launch, runToEnd } from '../support/child.ts'
import { IS_WHOLE, propertyRuns } from '../support/property-runs.ts'
import { openActs, openAuditOf } from './audit-crash.fixture.ts'

const CHILD = 'test/integration/audit-crash.child.ts'
/** Processes that act at the same time. */
const PROCESSES = 3
const KILLS = IS_WHOLE ? 210 : 6
const ACTS_MIN = propertyRuns(1_000)

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-audit-crash-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** Starts processes one after another, each of which kills itself within some 200 ms after its start. */
async function killProcesses(kills: number): Promise<void> {
  for (let killed = 0; killed < kills; killed += 1) {
    const { child, log } = launch(CHILD, [directory, String(1 + Math.floor(randomFraction() * 200))], {})
    const [, signal] = await once(child, 'exit')
    if (signal !== 'SIGKILL') throw new Error(`the process ended by itself:\n${log()}`)
  }
}

// O4
test(`no act without an entry and no entry that lies, with ${KILLS} kills`, async () => {
  await Promise.all(Array.from({ length: PROCESSES }, () => killProcesses(KILLS / PROCESSES)))
  await runToEnd(CHILD, [directory, '0', String(ACTS_MIN)], {})

  const acts = await openActs(directory)
  // The processes are gone for longer than an act may be without an outcome.
  const later_ms = (): number => clock.now_ms() + COMPLETE_AFTER_MS + 2_000
  const audit = await openAuditOf(
    directory,
    async ({ audit_id }) => ((await acts.has(audit_id)) ? { before: '{}', after: '{}' } : undefined),
    later_ms,
  )
  await audit.completeActs()
  const entries: AuditEntry[] = []
  for (let page_token = ''; ; ) {
    const page = await audit.list({ page_size: 100, page_token })
    entries.push(...page.entries)
    page_token = page.next_page_token
    if (page_token === '') break
  }
  const done = new Set(await acts.all())
  const lies = entries.filter(({ audit_id, outcome, request }) => {
    const { is_refused } = JSON.parse(request)
    if (outcome === 'done') return is_refused || !done.has(audit_id)
    if (outcome === 'refused') return !is_refused || done.has(audit_id)
    // The owner can say whether it was done, so an unknown act was not.
    return outcome !== 'unknown' || done.has(audit_id)
  })
  expect(lies).toEqual([])
  const known = new Set(entries.map(({ audit_id }) => audit_id))
  expect([...done].filter((audit_id) => !known.has(audit_id))).toEqual([])
  expect(known.size).toBe(entries.length)
  expect(entries.length).toBeGreaterThanOrEqual(ACTS_MIN)
  expect(await audit.verify()).toEqual({ entries: BigInt(entries.length), problems: [] })
  await audit.stop()
  await acts.close()
}, 900_000)

// O4
test('three processes write at the same time, and each act has one entry', async () => {
  const outputs = await Promise.all(
    Array.from({ length: PROCESSES }, () => runToEnd(CHILD, [directory, '0', '300'], {})),
  )
  expect(outputs.flat().every((line) => / acts in \d+ ms$/.test(line))).toBe(true)
  process.stderr.write(`audit trail, ${PROCESSES} processes: ${outputs.flat().join('; ')}\n`)
  const audit = await openAuditOf(directory, async () => undefined)
  expect((await audit.verify()).problems).toEqual([])
  await audit.stop()
})
