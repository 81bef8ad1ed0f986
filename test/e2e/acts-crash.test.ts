import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { sleep } from '#lib/base/time.ts'
import type { RoleName } from '#lib/role/role.ts'
import { type ReadyUrls, type SystemProcess, startProcess } from '../support/child.ts'
import { DOWNTIME_FILE } from '../support/downtime.ts'
import { eventually } from '../support/eventually.ts'
import { startPrivateNats } from '../support/servers.ts'
import { createSystemSettings, type SystemSettings } from '../support/system-settings.ts'

/** How many processes are killed; `ACT_KILLS=210` is the whole proof, of some minutes. */
const KILLS = Number(process.env['ACT_KILLS'] ?? 6)
const WORKERS = 8
const KILLERS = 3
const PLACES = ['backoffice-1', 'backoffice-2', 'merchants', 'balances'] as const
const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const CREATE = 'multihub.merchants.v1.MerchantService/CreateMerchant'
const APPROVALS = 'multihub.backoffice.v1.ApprovalService'

const nats = await startPrivateNats()

if ('skip' in nats) test.skip(`acts while processes are killed: ${nats.skip}`, () => {})
else {
  let home: string
  let settings: SystemSettings
  const running = new Map<string, SystemProcess & { readonly urls: ReadyUrls }>()

  async function start(place: (typeof PLACES)[number]): Promise<void> {
    const [name = ''] = place.split('-')
    const role = name as RoleName
    const own_port = place === 'backoffice-2' ? { MULTIHUB_GRPC_PORT: '0' } : {}
    const variables = {
      ...settings.variablesOf(role),
      ...own_port,
      NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, '..', 'support', 'downtime.ts'))}`,
    }
    running.set(place, await startProcess('test/support/local-roles.ts', [role], variables))
  }

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'multihub-acts-'))
    settings = await createSystemSettings({ home, nats_url: nats.url, mongodb_uri: undefined })
    await Promise.all(PLACES.map(start))
  })
  afterAll(async () => {
    await Promise.all([...running.values()].map((one) => one.kill()))
    await nats.stop()
    await rm(home, { recursive: true, force: true })
  })

  /** Calls one of the back offices, with 3 s for the answer. A killed one gives none. */
  async function call(token: string, rpc: string, request: object, limit_ms = 3_000) {
    const place = Math.random() < 0.5 ? 'backoffice-1' : 'backoffice-2'
    const headers = {
      'content-type': 'application/json',
      'connect-timeout-ms': String(limit_ms),
      authorization: `Bearer ${token}`,
    }
    const url = `${running.get(place)?.urls['backoffice_url']}/${rpc}`
    const body = JSON.stringify(request)
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body,
        signal: AbortSignal.timeout(limit_ms),
      })
      // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
      const answer: any = await response.json()
      return { status: response.status, body: answer }
    } catch {
      await sleep(20)
      return undefined
    }
  }
  const must = (token: string, rpc: string, request: object) =>
    eventually(
      () => call(token, rpc, request),
      (answer) => answer?.status === 200,
    )

  async function newPrincipal(token: string, rights: readonly string[]): Promise<string> {
    const fields = { name: rights.join(), kind: 'PRINCIPAL_KIND_PERSON', rights, operationId: randomUUID() }
    const answer = await call(token, 'multihub.backoffice.v1.PrincipalService/CreatePrincipal', fields)
    return String(answer?.body.token)
  }

  /** Kills a process that no other killer has, and starts it again. */
  async function kill(free: (typeof PLACES)[number][]): Promise<void> {
    await sleep(Math.random() * 1_000)
    const [place] = free.splice(Math.floor(Math.random() * free.length), 1)
    if (place === undefined) return
    await running.get(place)?.kill()
    await start(place)
    free.push(place)
  }

  async function listAll(token: string, rpc: string, field: string, filter: object = {}) {
    const all = []
    for (let pageToken = ''; ; ) {
      const { body } = (await must(token, rpc, { ...filter, pageSize: 500, pageToken })) ?? {}
      all.push(...(body[field] ?? []))
      pageToken = body.nextPageToken ?? ''
      if (pageToken === '') return all
    }
  }

  // O4, O5
  test(`no act without an entry, no entry that lies, and each approved act once, with ${KILLS} kills`, async () => {
    const admin = await newPrincipal(settings.operator_token, ['admin', 'read'])
    const proposer = await newPrincipal(admin, ['money'])
    const approver = await newPrincipal(admin, ['money'])
    const environment = 'ENVIRONMENT_TEST'
    const created = await must(admin, CREATE, {
      name: 'books',
      timezone: 'UTC',
      environments: [environment],
      operationId: randomUUID(),
    })
    const merchantId: string = created?.body.merchant.merchantId
    await must(admin, `${APPROVALS}/SetApprovalPolicy`, { rpc: ADJUST, currency: 'USD', aboveMinor: '0' })

    let is_over = false
    let acts = 0
    const act = async (): Promise<void> => {
      const kind = acts % 3
      acts += 1
      const operationId = `act-${acts}-${randomUUID()}`
      const adjust = (currency: string) => ({
        merchantId,
        environment,
        amount: { minor: '1', currency },
        reason: 'a test',
        operationId,
      })
      if (kind === 0) {
        const fields = { name: operationId, timezone: 'UTC', environments: [environment], operationId }
        await call(admin, CREATE, fields)
      } else if (kind === 1) await call(proposer, ADJUST, adjust('INR'))
      else {
        const proposed = await call(proposer, ADJUST, adjust('USD'))
        const detail = proposed?.body.details?.[0]?.debug?.detailsJson
        const approvalId = JSON.parse(detail || '{}').approval_id
        if (approvalId !== undefined)
          await call(approver, `${APPROVALS}/Approve`, { approvalId, reason: 'checked' })
      }
    }
    let killed = 0
    const free = [...PLACES]
    const killers = Array.from({ length: KILLERS }, async () => {
      while (killed < KILLS) {
        killed += 1
        await kill(free)
      }
    })
    const workers = Array.from({ length: WORKERS }, async () => {
      while (!is_over) await act()
    })
    await Promise.all(killers)
    is_over = true
    await Promise.all(workers)

    // By the clock of the back offices, each owner is asked about its acts for the last time.
    await writeFile(join(home, DOWNTIME_FILE), '900000')
    for (const place of PLACES) {
      await running.get(place)?.kill()
      await start(place)
    }
    const entriesOf = (rpc: string) =>
      listAll(admin, 'multihub.backoffice.v1.AuditService/ListAuditEntries', 'entries', { rpc })
    const approvals = await eventually(
      () => listAll(admin, `${APPROVALS}/ListApprovals`, 'approvals'),
      (found) => found?.every(({ status }) => status !== 'APPROVAL_STATUS_APPROVED') === true,
    )
    const merchants = await listAll(admin, 'multihub.merchants.v1.MerchantService/ListMerchants', 'merchants')
    const booked = await listAll(admin, 'multihub.balances.v1.BalanceService/ListEntries', 'entries', {
      merchantId,
      environment,
    })
    const done = new Map<string, number>()
    const operations = [
      ...merchants.map(({ name }) => name).filter((name) => name !== 'books'),
      ...booked.map(({ entryId }) => entryId.split(':').at(-1)),
    ]
    for (const operation of operations) done.set(operation, (done.get(operation) ?? 0) + 1)
    // What was approved is an act of the second person: the proposer's own call changed nothing.
    const isOfProposer = (operationId: string) => approvals.some((one) => one.operationId === operationId)
    const readEntries = async () =>
      (await Promise.all([entriesOf(CREATE), entriesOf(ADJUST), entriesOf(`${APPROVALS}/Approve`)])).flat()
    const entries = await eventually(
      readEntries,
      (found) => found?.every(({ outcome }) => outcome !== 'AUDIT_OUTCOME_UNSPECIFIED') === true,
    )

    const lies = entries.filter(({ outcome, rpc, request, targets }) => {
      if (rpc.endsWith('/Approve')) {
        const approval = approvals.find(({ approvalId }) => approvalId === targets[0].id)
        return (outcome === 'AUDIT_OUTCOME_DONE') !== (approval.status === 'APPROVAL_STATUS_EXECUTED')
      }
      const { operationId, name } = JSON.parse(request)
      if (name === 'books' || outcome === 'AUDIT_OUTCOME_PENDING_APPROVAL') return false
      return !isOfProposer(operationId) && (outcome === 'AUDIT_OUTCOME_DONE') !== done.has(operationId)
    })
    expect(lies).toEqual([])
    const known = new Set(entries.map(({ request }) => JSON.parse(request).operationId))
    expect([...done.keys()].filter((operation) => !known.has(operation))).toEqual([])
    // Each once, an approved one too; what was not approved was not done.
    expect([...done.values()].filter((times) => times !== 1)).toEqual([])
    for (const { status, operationId } of approvals)
      expect({ operationId, is_done: done.has(operationId) }).toEqual({
        operationId,
        is_done: status === 'APPROVAL_STATUS_EXECUTED',
      })
    const verified = await must(admin, 'multihub.backoffice.v1.AuditService/VerifyAudit', {})
    expect(verified?.body).toMatchObject({ consistent: true })
    const unknown = entries.filter(({ outcome }) => outcome === 'AUDIT_OUTCOME_UNKNOWN').length
    process.stderr.write(
      `${killed} kills, ${acts} acts, ${entries.length} entries, ${unknown} unknown, ${done.size} done, ${approvals.length} approvals\n`,
    )
  }, 1_500_000)
}
