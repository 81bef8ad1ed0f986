import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../../test/support/eventually.ts'
import { role as attachments } from '../../attachments/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'

const ATTACHMENTS = 'multihub.attachments.v1.AttachmentService'
const LIST = 'multihub.backoffice.v1.AuditService/ListAuditEntries'
const MERCHANT = '7001'
const CONTENT = Buffer.from('what the payer wrote\n')
const SCOPE = { merchantId: MERCHANT, environment: 'ENVIRONMENT_TEST' }

let door: TestDoor
let money: { id: string; token: string }
let admin: { id: string; token: string }
beforeAll(async () => {
  door = await startDoor([attachments], { MULTIHUB_SCANNER: 'none', MULTIHUB_ATTACHMENTS_PORT: '0' })
  money = await door.newPrincipal(['money'])
  admin = await door.newPrincipal(['admin'])
})
afterAll(async () => door[Symbol.asyncDispose]())

/** Opens a session for evidence and returns the id. */
async function prepare(name = 'Beleg "1".txt'): Promise<string> {
  const sha256 = createHash('sha256').update(CONTENT).digest('hex')
  const file = { name, mimeType: 'text/plain', sizeBytes: `${CONTENT.length}`, sha256 }
  const answer = await door.call(money.token, `${ATTACHMENTS}/PrepareEvidence`, {
    ...SCOPE,
    file,
    operationId: randomUUID(),
  })
  return answer.body.attachment.attachmentId
}

const urlOf = (id: string, query = `merchant_id=${MERCHANT}&environment=test`): string =>
  `${door.url}/files/${id}?${query}`

const put = (
  id: string,
  { token = money.token, headers = {}, content = CONTENT, url = urlOf(id) } = {},
): Promise<Response> =>
  fetch(url, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain', ...headers },
    body: new Uint8Array(content),
  })

const get = (id: string, token: string, query?: string): Promise<Response> =>
  fetch(urlOf(id, query), { headers: { authorization: `Bearer ${token}` } })

async function ready(): Promise<string> {
  const id = await prepare()
  expect((await put(id)).status).toBe(200)
  const request = { ...SCOPE, attachmentId: id, operationId: randomUUID() }
  await door.call(money.token, `${ATTACHMENTS}/FinalizeEvidence`, request)
  await eventually(
    () => door.call(money.token, `${ATTACHMENTS}/GetAttachments`, { ...SCOPE, attachmentIds: [id] }),
    (answer) => answer?.body.attachments[0].status === 'ATTACHMENT_STATUS_READY',
  )
  return id
}

// F2, F6, O21
test('evidence goes up and comes down through the back office, and a download leaves an entry', async () => {
  const id = await ready()
  const support = await door.newPrincipal(['support'])
  const downloaded = await get(id, support.token)
  expect(downloaded.status).toBe(200)
  expect(Buffer.from(await downloaded.arrayBuffer())).toEqual(CONTENT)
  expect(Object.fromEntries(downloaded.headers)).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'content-length': `${CONTENT.length}`,
    'content-disposition': expect.stringMatching(/^attachment; filename="Beleg _1_\.txt"/),
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, no-store',
  })
  const { body } = await door.call(admin.token, LIST, { principalId: support.id, pageSize: 10 })
  expect(body.entries).toMatchObject([
    { rpc: `${ATTACHMENTS}/GetAttachment`, outcome: 'AUDIT_OUTCOME_DONE', merchantId: MERCHANT },
  ])
})

// F2, F4
test('what cannot be the announced file is refused, and a later upload counts', async () => {
  const id = await prepare()
  for (const [status, code, given] of [
    [400, 'invalid_argument', { headers: { 'content-type': 'image/png' } }],
    [400, 'invalid_argument', { headers: { 'content-encoding': 'gzip' } }],
    [400, 'invalid_argument', { content: Buffer.alloc(CONTENT.length + 1) }],
    [400, 'invalid_argument', { url: urlOf(id, `merchant_id=${MERCHANT}`) }],
    [404, 'not_found', { url: urlOf(randomUUID()) }],
    [404, 'not_found', { url: urlOf(id, 'merchant_id=7002&environment=test') }],
  ] as const) {
    const answer = await put(id, given as Parameters<typeof put>[1])
    expect([answer.status, await answer.json()]).toMatchObject([status, { code }])
  }
  expect(await (await put(id)).json()).toMatchObject({
    attachment: { attachmentId: id, status: 'ATTACHMENT_STATUS_UPLOADED' },
  })
})

// O1, O2, O21
test('files need the right of their RPC, and a principal of a merchant sees its own files only', async () => {
  const id = await ready()
  const read = await door.newPrincipal(['read'])
  for (const answer of [await get(id, read.token), await put(id, { token: read.token })])
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'permission_denied' }])
  const stranger = await get(id, 'mhp_wrong')
  expect([stranger.status, await stranger.json()]).toMatchObject([401, { code: 'unauthenticated' }])
  const own = await door.newPrincipal(['reveal'], MERCHANT)
  expect((await get(id, own.token, 'environment=test')).status).toBe(200)
  const other = await door.newPrincipal(['reveal'], '7002')
  for (const query of ['environment=test', `merchant_id=${MERCHANT}&environment=test`])
    expect((await get(id, other.token, query)).status).toBe(404)
})

// O21
test('a browser downloads with its session, and no other site does', async () => {
  const id = await ready()
  const support = await door.newPrincipal(['support'])
  const began = await fetch(`${door.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: support.token }),
  })
  const cookie = began.headers.get('set-cookie')?.split(';')[0] ?? ''
  const statusFrom = async (site: string): Promise<number> =>
    (await fetch(urlOf(id), { headers: { cookie, 'sec-fetch-site': site } })).status
  expect([await statusFrom('same-origin'), await statusFrom('none')]).toEqual([200, 200])
  expect([await statusFrom('same-site'), await statusFrom('cross-site')]).toEqual([403, 403])
  const upload = await fetch(urlOf(id), { method: 'PUT', headers: { cookie }, body: 'a' })
  expect(upload.status).toBe(403)
})

// O3
test('a revoked token opens no file, and stores none', async () => {
  const revoked = await door.newPrincipal(['support', 'money'])
  const statusOf = async (method: 'GET' | 'PUT'): Promise<number> => {
    const headers = { authorization: `Bearer ${revoked.token}` }
    const body = method === 'PUT' ? { body: 'a' } : {}
    return (await fetch(urlOf('none'), { method, headers, ...body })).status
  }
  expect(await statusOf('GET')).toBe(404)
  const { token } = await door.newPrincipal(['admin'])
  const revoke = 'multihub.backoffice.v1.PrincipalService/RevokePrincipal'
  expect(await door.call(token, revoke, { principalId: revoked.id, reason: 'left' })).toMatchObject({
    status: 200,
  })
  await eventually(
    () => statusOf('GET'),
    (status) => status === 401,
  )
  expect(await statusOf('PUT')).toBe(401)
})

// O22: each of them would leave an entry permanently.
test('the principals of one merchant cannot fill the audit trail', async () => {
  const { token } = await door.newPrincipal(['reveal'], '7003')
  const request = { environment: 'ENVIRONMENT_TEST', attachmentId: 'none' }
  const codes = new Set<string>()
  for (let calls = 0; calls < 130; calls += 10) {
    const answers = Array.from({ length: 10 }, () =>
      door.call(token, `${ATTACHMENTS}/GetAttachment`, request),
    )
    for (const { body } of await Promise.all(answers)) codes.add(body.code)
  }
  expect([...codes]).toEqual(['not_found', 'resource_exhausted'])
  const other = await door.newPrincipal(['reveal'], '7004')
  expect(await door.call(other.token, `${ATTACHMENTS}/GetAttachment`, request)).toMatchObject({ status: 404 })
})
