import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../../test/support/eventually.ts'
import { freePort } from '../../../test/support/free-port.ts'
import {
  createTestBrowser,
  OPEN_ID_CLIENT,
  startOpenIdProvider,
  type TestBrowser,
  type TestOpenIdProvider,
} from '../../../test/support/open-id-provider.ts'
import { FIRST_TOKEN, startDoor, type TestDoor } from '../backoffice.fixture.ts'

const WHO = 'multihub.backoffice.v1.PrincipalService/WhoAmI'
const PRINCIPALS = 'multihub.backoffice.v1.PrincipalService'

let door: TestDoor
let provider: TestOpenIdProvider
beforeAll(async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  provider = await startOpenIdProvider(`${url}/session/callback`)
  door = await startDoor([], {
    MULTIHUB_BACKOFFICE_PORT: `${port}`,
    MULTIHUB_BACKOFFICE_URL: url,
    MULTIHUB_OIDC_ISSUER: provider.issuer,
    MULTIHUB_OIDC_CLIENT_ID: OPEN_ID_CLIENT.id,
    MULTIHUB_OIDC_CLIENT_SECRET: OPEN_ID_CLIENT.secret,
    MULTIHUB_OIDC_SCOPES: 'openid profile groups',
    MULTIHUB_OIDC_GROUPS: '/support=support+reveal,/admins=admin',
  })
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

/** Signs a person in with a new browser. */
async function signIn(person: string, groups: readonly string[]) {
  provider.person = person
  provider.groups.set(person, groups)
  const browser = createTestBrowser()
  return { browser, page: await browser.open(`${door.url}/session/oidc`) }
}

async function whoIs(browser: TestBrowser) {
  const response = await fetch(`${door.url}/${WHO}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      cookie: browser.cookiesOf(door.url),
      origin: door.url,
      'x-multihub-csrf': '1',
    },
    body: '{}',
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
  const body: any = await response.json()
  return { status: response.status, principal: body.principal }
}

// O21
test('a person signs in, has the rights of its groups, and fewer when a group is gone', async () => {
  const { browser, page } = await signIn('asha', ['/support', '/admins', '/unknown'])
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('http-equiv="refresh"') })
  expect(page.text).not.toContain('<script')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.headers.getSetCookie().find((line) => line.includes('session'))).toContain('SameSite=Strict')
  const first = await whoIs(browser)
  expect(first).toMatchObject({
    status: 200,
    principal: { name: 'Person asha', kind: 'PRINCIPAL_KIND_PERSON', rights: ['support', 'admin', 'reveal'] },
  })
  const again = await signIn('asha', ['/support'])
  expect((await whoIs(again.browser)).principal).toMatchObject({
    principalId: first.principal.principalId,
    rights: ['support', 'reveal'],
  })
  // The earlier session has lost the right too.
  expect((await whoIs(browser)).principal.rights).toEqual(['support', 'reveal'])
})

// O21
test('a person without a group with rights is not signed in, and keeps no right', async () => {
  const before = await signIn('leela', ['/support'])
  const { browser, page } = await signIn('leela', ['/unknown'])
  expect(page).toMatchObject({ status: 403, text: expect.stringContaining('none of your groups') })
  expect(browser.cookiesOf(door.url)).toBe('')
  await eventually(
    () => whoIs(before.browser),
    (answer) => answer?.status === 403,
  )
})

// O3, O21
test('a revoked person is out within 2 s, and does not sign in again', async () => {
  const admin = await door.newPrincipal(['admin'])
  const { browser } = await signIn('ravi', ['/support'])
  const { principalId } = (await whoIs(browser)).principal
  // Rights follow the groups, also those that its groups give.
  for (const rights of [['admin'], ['support']])
    expect(
      await door.call(admin.token, `${PRINCIPALS}/UpdatePrincipal`, { principalId, rights }),
    ).toMatchObject({ body: { code: 'failed_precondition' } })
  expect(await door.call(admin.token, `${PRINCIPALS}/RotateToken`, { principalId })).toMatchObject({
    body: { code: 'failed_precondition' },
  })
  await door.call(admin.token, `${PRINCIPALS}/RevokePrincipal`, { principalId, reason: 'left' })
  await eventually(
    () => whoIs(browser),
    (answer) => answer?.status === 401,
  )
  const { page } = await signIn('ravi', ['/admins'])
  expect(page).toMatchObject({ status: 403, text: expect.stringContaining('revoked') })
})

// O15
test.each([
  ['support', 200],
  ['admin', 401],
])(
  'before there is a principal, where a group has the right %s, the first token is answered %d',
  async (right, status) => {
    await using other = await startDoor([], {
      MULTIHUB_BACKOFFICE_URL: 'http://127.0.0.1',
      MULTIHUB_OIDC_ISSUER: provider.issuer,
      MULTIHUB_OIDC_CLIENT_ID: OPEN_ID_CLIENT.id,
      MULTIHUB_OIDC_GROUPS: `group=${right}`,
    })
    expect(await other.call(FIRST_TOKEN, WHO, {})).toMatchObject({ status })
  },
)

// O21
test('a callback that this browser did not begin signs nobody in', async () => {
  provider.person = 'asha'
  const other = createTestBrowser()
  const begun = await fetch(`${door.url}/session/oidc`, { redirect: 'manual' })
  expect(begun.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Lax; Max-Age=600$/)
  for (const query of ['', '?code=a&state=b', '?error=access_denied&state=<b>']) {
    const page = await other.open(`${door.url}/session/callback${query}`)
    expect(page).toMatchObject({ status: 403, text: expect.stringContaining('begin again') })
  }
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const forged = await fetch(`${door.url}/session/callback?code=a&state=b`, { headers: { cookie } })
  expect([forged.status, (await forged.text()).includes('begin again')]).toEqual([403, true])
  // The address of the page has the code of the provider.
  expect(forged.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect([forged.headers.get('cache-control'), forged.headers.get('referrer-policy')]).toEqual([
    'no-store',
    'no-referrer',
  ])
})

// O21: a visitor can begin a sign-in and write the callback: its text is not shown, and is no cause of a line of the log.
test.each([
  ['access_denied', 'refused the sign-in: access_denied'],
  ['call_my_number', 'refused the sign-in: an error of its own'],
])('the error %s of a callback is shown as %s', async (error, shown) => {
  const begun = await fetch(`${door.url}/session/oidc`, { redirect: 'manual' })
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
  const query = new URLSearchParams({ error, state, iss: provider.issuer })
  const answer = await fetch(`${door.url}/session/callback?${query}`, { headers: { cookie } })
  expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining(shown)])
})

// O21: else a person could work, without a notice, under the name of an attacker.
test('the callback of the sign-in of another browser signs nobody in, and is used once', async () => {
  provider.person = 'mallory'
  provider.groups.set('mallory', ['/support'])
  const attacker = createTestBrowser()
  const callback = `${door.url}/session/callback`
  const answer = await attacker.openUntil(`${door.url}/session/oidc`, callback)
  const victim = createTestBrowser()
  // It has begun a sign-in of its own.
  await victim.openUntil(`${door.url}/session/oidc`, provider.issuer)
  // The state is compared before the provider is asked, which would refuse it too.
  expect(await victim.open(answer)).toMatchObject({
    status: 403,
    text: expect.stringContaining('does not prove the sign-in; begin again'),
  })
  expect(victim.cookiesOf(door.url)).toBe('')
  expect(await attacker.open(answer)).toMatchObject({ status: 200 })
  expect(await attacker.open(answer)).toMatchObject({ status: 403 })
})

async function device(fields: object) {
  const response = await fetch(`${door.url}/session/device`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
  return { status: response.status, body: (await response.json()) as any }
}

// O21
test('a command line signs in by a device flow, which a person confirms in a browser', async () => {
  provider.person = 'asha'
  provider.groups.set('asha', ['/support'])
  const begun = await device({})
  expect(begun).toMatchObject({ status: 200, body: { user_code: expect.any(String), interval_seconds: 5 } })
  const { device: sealed, verification_uri_complete, user_code } = begun.body
  expect(await device({ device: sealed })).toEqual({ status: 202, body: { status: 'pending' } })
  expect(await device({ device: `${sealed}x` })).toMatchObject({ status: 401 })

  const browser = createTestBrowser()
  let page = await browser.open(verification_uri_complete)
  for (const confirm of [{}, { confirm: 'yes' }]) {
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page.text) ?? []
    page = await browser.open(`${provider.issuer}/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ xsrf, user_code, ...confirm }).toString(),
    })
  }
  const signed_in = await device({ device: sealed })
  expect(signed_in).toMatchObject({ status: 200, body: { status: 'signed_in', name: 'Person asha' } })
  expect(await door.call(signed_in.body.session, WHO, {})).toMatchObject({
    status: 200,
    body: { principal: { rights: ['support', 'reveal'] } },
  })
  expect(await device({ device: sealed })).toMatchObject({ status: 401 })
})

test('a provider that does not answer is UNAVAILABLE, and tokens go on', async () => {
  await using other = await startDoor([], {
    MULTIHUB_BACKOFFICE_URL: 'http://127.0.0.1',
    MULTIHUB_OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
    MULTIHUB_OIDC_CLIENT_ID: 'a',
    MULTIHUB_OIDC_GROUPS: 'support=support',
  })
  const response = await fetch(`${other.url}/session/device`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'unavailable' }])
  expect(await other.call(FIRST_TOKEN, WHO, {})).toMatchObject({ status: 200 })
})

test('an incomplete or wrong configuration of OpenID Connect refuses the start', async () => {
  const issuer = { MULTIHUB_OIDC_ISSUER: 'https://id.example/realms/main' }
  const complete = {
    ...issuer,
    MULTIHUB_OIDC_CLIENT_ID: 'a',
    MULTIHUB_OIDC_GROUPS: 'support=support',
    MULTIHUB_BACKOFFICE_URL: 'https://backoffice.example',
  }
  for (const variables of [
    issuer,
    { ...complete, MULTIHUB_OIDC_ISSUER: 'http://id.example' },
    { ...complete, MULTIHUB_OIDC_GROUPS: 'support=everything' },
    { ...complete, MULTIHUB_OIDC_GROUPS: 'support=support,support=admin' },
  ])
    await expect(startDoor([], variables)).rejects.toThrow('MULTIHUB_OIDC')
})

describe('while a policy exists', () => {
  const approvals = 'multihub.backoffice.v1.ApprovalService'
  const policy = { rpc: 'multihub.balances.v1.BalanceService/Adjust', currency: 'INR', aboveMinor: '1' }
  let admin: { id: string; token: string }
  beforeAll(async () => {
    admin = await door.newPrincipal(['admin'])
    await signIn('kiran', ['/admins'])
    expect(await door.call(admin.token, `${approvals}/SetApprovalPolicy`, policy)).toMatchObject({
      status: 200,
    })
  })

  async function listPending(proposerId: string) {
    const { body } = await door.call(admin.token, `${approvals}/ListApprovals`, {
      status: 'APPROVAL_STATUS_PENDING',
    })
    return body.approvals.filter((one: { readonly proposerId: string }) => one.proposerId === proposerId)
  }

  // O5
  test('a group makes nobody an administrator alone: a second person approves what it gives', async () => {
    const { browser } = await signIn('nadia', ['/admins'])
    const { principalId, rights } = (await whoIs(browser)).principal
    expect(rights).toEqual(['read'])
    await signIn('nadia', ['/admins'])
    const pending = await listPending(principalId)
    expect(pending).toMatchObject([{ rpc: `${PRINCIPALS}/UpdatePrincipal` }])
    expect(JSON.parse(pending[0].request)).toMatchObject({ rights: ['admin'] })
    const decision = { approvalId: pending[0].approvalId, reason: 'she is on the team' }
    const { body } = await door.call(admin.token, `${approvals}/Approve`, decision)
    expect(body.approval).toMatchObject({ status: 'APPROVAL_STATUS_EXECUTED', errorCode: 0 })
    await eventually(
      () => whoIs(browser),
      (answer) => answer?.principal.rights[0] === 'admin',
    )
    const again = await signIn('nadia', ['/admins'])
    expect((await whoIs(again.browser)).principal.rights).toEqual(['admin'])
    // Whoever has left the group needs a second person to come back.
    await signIn('nadia', ['/support'])
    const back = await signIn('nadia', ['/admins', '/support'])
    expect((await whoIs(back.browser)).principal.rights).toEqual(['support', 'reveal'])
  })

  // O5
  test('what groups gave before stays, and nobody approves more than they give now', async () => {
    const kiran = await signIn('kiran', ['/admins', '/support'])
    expect((await whoIs(kiran.browser)).principal.rights).toEqual(['support', 'admin', 'reveal'])
    const { browser } = await signIn('omar', ['/admins', '/support'])
    const { principalId } = (await whoIs(browser)).principal
    const [{ approvalId }] = await listPending(principalId)
    await signIn('omar', ['/support'])
    const decision = { approvalId, reason: 'too late' }
    const { body } = await door.call(admin.token, `${approvals}/Approve`, decision)
    expect(body.approval).toMatchObject({ status: 'APPROVAL_STATUS_EXECUTED', errorCode: 1003 })
    expect((await whoIs(browser)).principal.rights).toEqual(['support', 'reveal'])
  })
})

// O4, O21
test('each sign-in leaves an entry with what it changed of the principal, a refused one too', async () => {
  const reader = await door.newPrincipal(['admin'])
  const listSignIns = async (principalId: string) => {
    const request = { principalId, rpc: 'multihub.backoffice.v1.Session/SignIn' }
    const { body } = await door.call(
      reader.token,
      'multihub.backoffice.v1.AuditService/ListAuditEntries',
      request,
    )
    return body.entries
  }
  const { browser } = await signIn('uma', ['/support'])
  const { principalId } = (await whoIs(browser)).principal
  await signIn('uma', [])
  const [refused, first] = await listSignIns(principalId)
  expect(first).toMatchObject({ outcome: 'AUDIT_OUTCOME_DONE', principalName: 'Person uma' })
  expect(JSON.parse(first.request)).toEqual({ method: 'open_id', address: '127.0.0.1' })
  expect(JSON.parse(first.after)[`principals ${principalId}`].rights).toEqual(['support', 'reveal'])
  expect(refused).toMatchObject({ outcome: 'AUDIT_OUTCOME_REFUSED' })
  await fetch(`${door.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: reader.token }),
  })
  const [with_token] = await listSignIns(reader.id)
  expect(JSON.parse(with_token.request)).toMatchObject({ method: 'token' })
})
