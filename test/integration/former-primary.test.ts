import { afterEach, expect, test } from '@jest/globals'
import { type Document, Long } from 'mongodb'
import { Secret } from '#lib/base/crypto/secret.ts'
import { createRunStore, type RunDocument, type Runs, startRuns } from '#lib/patterns/effects/runs.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { type ScriptedServer, startScriptedServer } from '../../lib/store/mongodb/scripted-server.fixture.ts'
import { trustedClock } from '../support/clock-guard.ts'
import { eventually } from '../support/eventually.ts'

// FerretDB has no replica sets, so a server with a script answers like a former primary of one.

const LONG_MS = 600_000
const MAJORITY = { w: 'majority', j: true }

let server: ScriptedServer
let store: Store | undefined
let runs: Runs | undefined
afterEach(async () => {
  await runs?.stop()
  await store?.close()
  await server.close()
})

/** Starts runs on a server that answers `get`s, lists and updates as the test says. */
async function start(answers: {
  readonly get?: (id: string) => readonly Document[]
  readonly list?: () => readonly Document[]
  readonly update?: (changed: Document) => number
}): Promise<Runs> {
  server = await startScriptedServer((command) => {
    if (command['update'] === 'members') {
      const n = answers.update?.(command['updates'][0].u) ?? 1
      return { ok: 1, n, nModified: n }
    }
    if (command['insert'] !== undefined) return { ok: 1, n: 1 }
    if (command['find'] !== 'members')
      return { ok: 1, cursor: { id: Long.ZERO, ns: 'runs.any', firstBatch: [] } }
    const is_get = command['readConcern'].level === 'linearizable'
    const found = is_get ? answers.get?.(command['filter']._id) : answers.list?.()
    return { ok: 1, cursor: { id: Long.ZERO, ns: 'runs.members', firstBatch: found ?? [] } }
  })
  store = await openStore({ database: 'runs', mongodb_uri: new Secret(server.uri), timeout_ms: 5_000 })
  const members = await store.collection<RunDocument>(MEMBERS_SPEC)
  runs = await startRuns(createRunStore(members, 'orders', store), trustedClock)
  return runs
}

const inserted = (): readonly Document[] =>
  server.commands.filter((command) => command['insert'] === 'members').map(({ documents }) => documents[0])
const updates = (): readonly Document[] => server.commands.filter((command) => 'update' in command)

test(
  'what a former primary shows for five seconds makes no run dead',
  async () => {
    const expires_at = new Date(Date.now() + LONG_MS)
    const other = { _id: 'other', role: 'orders', address: 'other', expires_at, version: 1 }
    const started = await start({
      list: () => [other],
      // The other process has had heartbeats that the reader did not see.
      update: ({ is_dead }) => (is_dead === true ? 0 : 1),
    })
    const declarations = () => updates().filter(({ updates }) => updates[0].u.is_dead === true)
    await eventually(
      async () => declarations(),
      (found = []) => found.length > 1,
    )
    expect(declarations()[0]).toMatchObject({ writeConcern: MAJORITY, updates: [{ q: { version: 1 } }] })
    expect(started.dead()).toEqual([])
  },
  LONG_MS,
)

test(
  'a run whose heartbeat fails learns from a linearizable read whether it was declared dead',
  async () => {
    let is_declared = false
    const started = await start({
      get: (id) => {
        const run = inserted().find(({ _id }) => _id === id)
        return is_declared && run ? [{ ...run, is_dead: true, version: 9 }] : []
      },
      update: () => (is_declared ? 0 : 1),
    })
    const { run_id } = started
    await eventually(
      async () => updates(),
      (found = []) => found.length > 0,
    )
    expect(started.run_id).toBe(run_id)
    expect(updates()[0]).toMatchObject({ writeConcern: MAJORITY })
    is_declared = true
    await eventually(
      async () => started.run_id,
      (present) => present !== run_id,
    )
    expect(inserted().map(({ address }) => address)).toEqual([run_id, started.run_id])
  },
  LONG_MS,
)
