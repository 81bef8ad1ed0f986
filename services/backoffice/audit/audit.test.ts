import { describe, expect, test } from '@jest/globals'
import { currentRequest, withRequest } from '#lib/base/context.ts'
import { clock, machineClock, now, useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { intent, listAll, openAuditFixture } from './audit.fixture.ts'
import { COMPLETE_AFTER_MS, LAST_ASKED_AFTER_MS } from './complete-acts.ts'
import { EMPTY_HEAD, sealBatch } from './domain/audit-chain.ts'
import type { AuditLog } from './store/audit-log.ts'

// O4
test('an entry joins the intent and the outcome of an act', async () => {
  await using fixture = await openAuditFixture()
  const { audit } = fixture
  const audit_id = await audit.begin(intent())
  expect(await listAll(audit)).toEqual([
    expect.objectContaining({ ...intent({ deadline: expect.any(Date) as unknown as Date }), audit_id }),
  ])
  await audit.end(audit_id, { outcome: 'refused', error_code: 6004, before: '{}', after: '{}' })
  expect(await listAll(audit)).toMatchObject([
    { audit_id, outcome: 'refused', error_code: 6004, before: '{}', after: '{}', is_damaged: false },
  ])
  expect(await audit.verify()).toEqual({ entries: 1n, problems: [] })
})

// O4
test('each filter and each combination selects its entries, in pages, the newest first', async () => {
  await using fixture = await openAuditFixture()
  const { audit } = fixture
  const principals = ['p1', 'p2']
  const rpcs = ['a.A/B', 'a.A/C', 'a.A/D']
  const ids: string[] = []
  for (let n = 0; n < 60; n += 1) {
    const targets = [
      { kind: 'payment', id: `t${n % 5}` },
      { kind: 'refund', id: `t${n % 7}` },
    ]
    ids.push(
      await audit.begin(
        intent({
          principal_id: principals[n % 2] ?? '',
          rpc: rpcs[n % 3] ?? '',
          merchant_id: `m${n % 4}`,
          targets,
        }),
      ),
    )
  }
  const indexesOf = async (query: Parameters<typeof listAll>[1]): Promise<number[]> =>
    (await listAll(audit, query)).map(({ audit_id }) => ids.indexOf(audit_id))
  const expected = (wanted: (n: number) => boolean): number[] =>
    ids
      .map((_, n) => n)
      .filter(wanted)
      .reverse()
  expect(await indexesOf({})).toEqual(expected(() => true))
  expect(await indexesOf({ principal_id: 'p2' })).toEqual(expected((n) => n % 2 === 1))
  expect(await indexesOf({ rpc: 'a.A/C', merchant_id: 'm1' })).toEqual(
    expected((n) => n % 3 === 1 && n % 4 === 1),
  )
  expect(await indexesOf({ target_kind: 'refund', target_id: 't6' })).toEqual(expected((n) => n % 7 === 6))
  expect(await indexesOf({ target_kind: 'payment', principal_id: 'p1', target_id: 't0' })).toEqual(
    expected((n) => n % 10 === 0),
  )
  expect(await indexesOf({ target_kind: 'ticket' })).toEqual([])
  const [middle] = (await listAll(audit)).slice(30)
  const from = middle?.time ?? now()
  const since = await listAll(audit, { created_from: from })
  expect(since.every(({ time }) => time >= from)).toBe(true)
  const before = await listAll(audit, { created_to: from })
  expect(before.every(({ time }) => time < from)).toBe(true)
  expect(since.length + before.length).toBe(60)
})

// O16: nobody knows how old the act is that a page or a ticket names.
test('an entry is read by its id with the same few reads, however many are newer', async () => {
  await using fixture = await openAuditFixture()
  let reads = 0
  const audit = await fixture.open({
    wrap: (log): AuditLog => ({
      ...log,
      listNewest: () => Promise.reject(new Error('a list was read')),
      findWithBatch(...wanted) {
        reads += 1
        return log.findWithBatch(...wanted)
      },
    }),
  })
  const old = await audit.begin(intent({ request_id: 'old', principal_id: 'p2' }))
  await audit.end(old, { outcome: 'done', before: '{}', after: '{"n":1}' })
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => audit.begin(intent({ request_id: `r${n}` }))))
  const open = await audit.begin(intent({ request_id: 'open' }))
  expect(await audit.get(old)).toMatchObject({
    audit_id: old,
    request_id: 'old',
    outcome: 'done',
    after: '{"n":1}',
    is_damaged: false,
  })
  expect(reads).toBe(2)
  expect(await audit.get(open)).toMatchObject({ audit_id: open, request_id: 'open' })
  expect((await audit.get(open))?.outcome).toBeUndefined()
  for (const id of ['', 'none', `${old}:outcome`, `${old}:intent`])
    expect(await audit.get(id)).toBeUndefined()
  expect(await listAll(fixture.audit, { principal_id: 'p2' })).toEqual([await audit.get(old)])
})

// O19
test('a page token of another list is refused', async () => {
  await using fixture = await openAuditFixture()
  await expect(fixture.audit.list({ page_size: 5, page_token: 'x' })).rejects.toMatchObject({ code: 9000 })
  await expect(fixture.audit.list({ page_size: -1, page_token: '' })).rejects.toMatchObject({ code: 9000 })
})

// O4
test('processes that write at once chain their batches, and lose nothing', async () => {
  // On a slow machine a writer could give up, which is not what this test is about.
  using _patient = { [Symbol.dispose]: useClock({ ...machineClock, monotonic_ms: () => 0 }) }
  await using fixture = await openAuditFixture()
  const processes = [fixture.audit, await fixture.open(), await fixture.open()]
  const act = async (n: number): Promise<string> => {
    const audit = processes[n % 3] ?? fixture.audit
    const audit_id = await audit.begin(intent({ request_id: `r${n}` }))
    await audit.end(audit_id, { outcome: 'done' })
    return audit_id
  }
  const ids = await Promise.all(Array.from({ length: 300 }, (_, n) => act(n)))
  const entries = await listAll(fixture.audit, { page_size: 100 })
  expect(entries.map(({ audit_id }) => audit_id).sort()).toEqual(ids.sort())
  expect(entries.every(({ outcome }) => outcome === 'done')).toBe(true)
  expect(await fixture.audit.verify()).toEqual({ entries: 300n, problems: [] })
})

describe('an act whose process was lost', () => {
  test('is found by what it created, which its owner has kept, once, also when its process ends it later', async () => {
    const after = '{"credentials 1001":{"status":"active"},"creations x":{}}'
    await using fixture = await openAuditFixture(async () => ({ before: '{}', after }))
    const { audit } = fixture
    const lost = await audit.begin(intent({ deadline: new Date(now().getTime() + 1_000) }))
    fixture.advance(61_001)
    await audit.completeActs()
    const query = { target_kind: 'application', target_id: '1001' }
    const merchant = { kind: 'merchant', id: '1000' }
    const targets = [merchant, { kind: 'application', id: '1001' }]
    expect(await listAll(audit, query)).toMatchObject([{ audit_id: lost, outcome: 'done', targets }])
    const { principal_id, rpc } = intent()
    const added = { principal_id, rpc, merchant_id: '1000', targets: targets.slice(1) }
    await audit.end(lost, { outcome: 'done', added })
    expect(await listAll(audit, query)).toMatchObject([{ audit_id: lost, targets }])
    expect(await audit.verify()).toEqual({ entries: 1n, problems: [] })
  })

  test.each([
    [{ before: '{"n":1}', after: '{"n":2}' }, 'done'],
    [undefined, 'unknown'],
  ] as const)('is completed 60 s after its deadline: the owner has kept %j', async (kept, outcome) => {
    await using fixture = await openAuditFixture(async () => kept)
    const { audit } = fixture
    const lost = await audit.begin(intent({ deadline: new Date(now().getTime() + 1_000) }))
    const ended = await audit.begin(intent())
    await audit.end(ended, { outcome: 'done' })
    await audit.completeActs()
    expect((await listAll(audit)).map((entry) => entry.outcome)).toEqual(['done', undefined])
    fixture.advance(1_000 + COMPLETE_AFTER_MS)
    const other = await fixture.open()
    // Both follow the audit trail, and the act is completed once.
    await Promise.all([audit.completeActs(), other.completeActs()])
    expect(await listAll(audit)).toMatchObject([{ outcome: 'done' }, { outcome, ...kept }])
    // Now the owner is asked for the last time, and the sweep after it need not read the act again.
    fixture.advance(LAST_ASKED_AFTER_MS)
    await other.completeActs()
    await other.completeActs()
    expect(await fixture.log.getCompleted()).toBeGreaterThan(0n)
    await other.end(lost, { outcome: 'refused', error_code: 6004 })
    expect(await listAll(audit)).toMatchObject([{}, { outcome: 'refused', error_code: 6004 }])
    expect(await audit.verify()).toEqual({ entries: 2n, problems: [] })
  })
})

// O4: "unknown" for an act that its owner has done would stand in the audit trail permanently.
test('an act whose owner cannot be asked stays open, also for processes that start later', async () => {
  let is_down = true
  await using fixture = await openAuditFixture(async () => {
    if (is_down) throw new Unavailable('the owner does not answer')
    return { before: '{}', after: '{}' }
  })
  const { audit } = fixture
  await audit.begin(intent())
  await audit.end(await audit.begin(intent()), { outcome: 'done' })
  fixture.advance(300_000)
  await audit.completeActs()
  expect((await listAll(audit)).map(({ outcome }) => outcome)).toEqual(['done', undefined])
  is_down = false
  const other = await fixture.open()
  await other.completeActs()
  expect((await listAll(other)).map(({ outcome }) => outcome)).toEqual(['done', 'done'])
})

// O4: an owner that was paused can do an act after it was asked about it.
test.each([
  ['the same process', false],
  ['a process that starts later', true],
])('an act that its owner has only later becomes done when %s asks again', async (_who, is_other) => {
  let kept: { readonly before: string; readonly after: string } | undefined
  await using fixture = await openAuditFixture(async () => kept)
  const { audit } = fixture
  await audit.begin(intent())
  fixture.advance(10_000 + COMPLETE_AFTER_MS)
  await audit.completeActs()
  expect(await listAll(audit)).toMatchObject([{ outcome: 'unknown' }])
  kept = { before: '{}', after: '{"n":1}' }
  const asking = is_other ? await fixture.open() : audit
  fixture.advance(LAST_ASKED_AFTER_MS)
  await asking.completeActs()
  await audit.completeActs()
  expect(await listAll(audit)).toMatchObject([{ outcome: 'done', ...kept }])
  expect(await audit.verify()).toEqual({ entries: 1n, problems: [] })
})

test('many acts are asked about a few at a time, and an owner that is away delays no other', async () => {
  let [under_way, most, asked_away] = [0, 0, 0]
  await using fixture = await openAuditFixture(async ({ rpc }) => {
    if (rpc.startsWith('multihub.payments.')) {
      asked_away += 1
      throw new Unavailable('the owner does not answer')
    }
    under_way += 1
    most = Math.max(most, under_way)
    await new Promise((resolve) => setImmediate(resolve))
    under_way -= 1
    return { before: '{}', after: '{}' }
  })
  const { audit } = fixture
  const rpcs = ['multihub.payments.v1.PaymentService/RetryEffect', intent().rpc]
  await Promise.all(Array.from({ length: 100 }, (_, n) => audit.begin(intent({ rpc: rpcs[n % 2] ?? '' }))))
  fixture.advance(10_000 + COMPLETE_AFTER_MS)
  await audit.completeActs()
  const outcomes = (await listAll(audit, { page_size: 100 })).map(({ outcome }) => outcome)
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(50)
  expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(50)
  expect(most).toBeLessThanOrEqual(8)
  expect(asked_away).toBeLessThanOrEqual(8)
})

test.each([
  [{ before: '{}', after: '{}' }, { outcome: 'done' }],
  [undefined, { outcome: 'unknown', error_code: 2002 }],
] as const)(
  'an act whose owner gave no answer is asked for later: the owner has kept %j',
  async (kept, entry) => {
    await using fixture = await openAuditFixture(async () => kept)
    const { audit } = fixture
    await audit.end(await audit.begin(intent()), { outcome: 'unknown', error_code: 2002 })
    fixture.advance(300_000)
    await audit.completeActs()
    expect(await listAll(audit)).toMatchObject([entry])
    expect((await audit.verify()).problems).toEqual([])
  },
)

test('an outcome that cannot be written is written later, at the latest when the process stops, and no act begins meanwhile', async () => {
  await using fixture = await openAuditFixture()
  let is_down = false
  const audit = await fixture.open({
    wrap: (log): AuditLog => ({
      ...log,
      async append(...batch) {
        if (is_down) throw new Unavailable('thrown by the test')
        return await log.append(...batch)
      },
    }),
  })
  const audit_id = await audit.begin(intent())
  is_down = true
  await audit.end(audit_id, { outcome: 'done' })
  await expect(audit.begin(intent())).rejects.toThrow(Unavailable)
  is_down = false
  await audit.stop()
  expect(await listAll(fixture.audit)).toMatchObject([{ audit_id, outcome: 'done' }])
})

test('a lost answer of the store makes no second record', async () => {
  await using fixture = await openAuditFixture()
  let losses = 3
  const audit = await fixture.open({
    wrap: (log): AuditLog => ({
      ...log,
      async append(...batch) {
        const result = await log.append(...batch)
        losses -= 1
        return losses >= 0 ? 'unknown' : result
      },
    }),
  })
  const ids = await Promise.all(Array.from({ length: 5 }, () => audit.begin(intent())))
  for (const id of ids) await audit.end(id, { outcome: 'done' })
  // The same outcome again, as after a crash of the caller.
  for (const id of ids) await audit.end(id, { outcome: 'done' })
  expect(await listAll(audit)).toHaveLength(5)
  expect(await audit.verify()).toEqual({ entries: 5n, problems: [] })
})

// O4: the record that is there already must not take the others with it.
test('the deadline of one act does not end the commit that it shares with others', async () => {
  await using fixture = await openAuditFixture()
  const deadlines: unknown[] = []
  const audit = await fixture.open({
    wrap: (log): AuditLog => ({
      ...log,
      append(...batch) {
        deadlines.push(currentRequest()?.deadline_ms)
        return log.append(...batch)
      },
    }),
  })
  await withRequest({ deadline_ms: clock.monotonic_ms() + 1_000 }, () => audit.begin(intent()))
  expect(deadlines).toEqual([undefined])
})

test('acts that begin together with a repeated record are stored', async () => {
  await using fixture = await openAuditFixture()
  const { audit } = fixture
  const first = await audit.begin(intent())
  await audit.end(first, { outcome: 'done' })
  const begin = (n: number) => audit.begin(intent({ request_id: `r${n}` }))
  // The first of them is committed alone; the others wait for it and share a batch.
  const [one, , two, three] = await Promise.all([
    begin(1),
    audit.end(first, { outcome: 'done' }),
    begin(2),
    begin(3),
  ])
  expect((await listAll(audit)).map(({ audit_id }) => audit_id).sort()).toEqual(
    [first, one, two, three].sort(),
  )
  expect(await audit.verify()).toEqual({ entries: 4n, problems: [] })
})

// O4
test('no act begins while it is not known whether its intent was stored', async () => {
  await using fixture = await openAuditFixture()
  const audit = await fixture.open({
    wrap: (log): AuditLog => ({
      ...log,
      append: async () => 'unknown',
      readPosition: () => Promise.reject(new Unavailable('thrown by the test')),
    }),
  })
  await expect(audit.begin(intent())).rejects.toThrow(Unavailable)
  expect(await listAll(fixture.audit)).toEqual([])
})

// O4, O5: a process that was lost after its proposal was stored has done nothing.
test('a lost act whose proposal is stored waits for a second person, and its owner is not asked', async () => {
  const asked = () => Promise.reject(new Error('the owner was asked'))
  await using fixture = await openAuditFixture(asked, async () => 'a1')
  const { audit } = fixture
  await audit.begin(intent())
  fixture.advance(10_000 + COMPLETE_AFTER_MS)
  await audit.completeActs()
  expect(await listAll(audit)).toMatchObject([{ outcome: 'pending_approval', approval_id: 'a1' }])
})

test('the time of a batch is never before the time of the batch before', () => {
  const head = { ...EMPTY_HEAD, time_ms: 5_000 }
  const timeOf = (now_ms: number): number => sealBatch(head, now_ms, [], 'token').time.getTime()
  expect([timeOf(1_000), timeOf(6_000.7)]).toEqual([5_000, 6_000])
})

test('whatever a request has is stored within limits', async () => {
  await using fixture = await openAuditFixture()
  const { audit } = fixture
  const long = '\ud800'.repeat(50_000)
  const audit_id = await audit.begin(
    intent({
      merchant_id: long,
      targets: Array.from({ length: 50 }, () => ({ kind: long, id: long })),
      reason: long,
      request: JSON.stringify(long),
      approval_id: long,
    }),
  )
  const json = JSON.stringify(long)
  await audit.end(audit_id, { outcome: 'done', before: json, after: json })
  const [entry] = await listAll(audit)
  for (const shown of [entry?.before, entry?.after]) expect(shown).toMatch(/^\{"omitted_characters":\d+\}$/)
  expect(entry?.reason).toHaveLength(500)
  expect(entry?.request).toMatch(/^\{"omitted_characters":\d+\}$/)
  expect(entry?.targets).toHaveLength(8)
})
