import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../../test/support/eventually.ts'
import { FIRST_TOKEN, startDoor, type TestDoor } from '../backoffice.fixture.ts'

const WHO = 'multihub.backoffice.v1.PrincipalService/WhoAmI'

let door: TestDoor
beforeAll(async () => {
  door = await startDoor([])
})
afterAll(async () => door[Symbol.asyncDispose]())

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
  readonly body: any
}

async function send(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Answer> {
  const response = await fetch(`${door.url}/${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const signIn = (token: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  send('POST', 'session', { ...JSON_TYPE, ...headers }, JSON.stringify({ token }))

/** The name and value of the cookie that an answer sets. */
const cookieOf = ({ headers }: Answer): string => headers.get('set-cookie')?.split(';')[0] ?? ''

/** The headers of a call that a page of the back office makes. */
const ofPage = (cookie: string): Record<string, string> => ({
  ...JSON_TYPE,
  cookie,
  origin: door.url,
  'x-multihub-csrf': '1',
})

// O21
test('a token begins a session, whose cookie no script reads and no other site sends', async () => {
  const { token, id } = await door.newPrincipal(['read'])
  const began = await signIn(token, { origin: door.url })
  expect(began).toMatchObject({ status: 200, body: { principal_id: id } })
  const { port } = new URL(door.url)
  expect(began.headers.get('cache-control')).toBe('no-store')
  expect(began.headers.get('set-cookie')).toMatch(
    new RegExp(
      `^multihub-session-${port}=mhs_[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200$`,
    ),
  )
  const cookie = cookieOf(began)
  expect(await send('POST', WHO, ofPage(cookie), '{}')).toMatchObject({
    status: 200,
    body: { principal: { principalId: id } },
  })
  expect((await send('GET', 'session', { cookie })).body).toEqual({ signed_in: true, oidc: false })
  expect((await send('GET', 'session')).body).toEqual({ signed_in: false, oidc: false })
  const [, secret = ''] = cookie.split('=')
  expect(await door.call(secret, WHO, {})).toMatchObject({ status: 200 })
})

// O21
test('a session that was ended does not count any more, and its cookie is taken back', async () => {
  const cookie = cookieOf(await signIn((await door.newPrincipal(['read'])).token))
  const ended = await send('DELETE', 'session', ofPage(cookie))
  expect(ended.headers.get('set-cookie')).toContain('Max-Age=0')
  expect(await send('POST', WHO, ofPage(cookie), '{}')).toMatchObject({ status: 401 })
  expect((await send('DELETE', 'session', ofPage(cookie))).status).toBe(200)
})

// O21: a program that got the cookie of a person must not act as that person.
test('a request with a token is judged by the token alone, whatever cookie it has', async () => {
  const person = await door.newPrincipal(['read'])
  const program = await door.newPrincipal(['read'])
  const own = ofPage(cookieOf(await signIn(person.token)))
  const whoIs = async (authorization: string): Promise<Answer> =>
    await send('POST', WHO, { ...own, authorization }, '{}')
  expect((await whoIs(`Bearer ${program.token}`)).body.principal.principalId).toBe(program.id)
  for (const wrong of ['Bearer mhp_wrong', 'Bearer ', 'Basic YTpi'])
    expect((await whoIs(wrong)).status).toBe(401)
})

// O21: a token does not end after 12 hours, and a browser would send it by itself.
test('a cookie with a token instead of a session does not count', async () => {
  const { token } = await door.newPrincipal(['read'])
  const [name] = cookieOf(await signIn(token)).split('=')
  expect(await send('POST', WHO, ofPage(`${name}=${token}`), '{}')).toMatchObject({ status: 401 })
})

// O3, O21
test.each(['RevokePrincipal', 'RotateToken'])('%s ends the sessions of the token', async (rpc) => {
  const { token } = await door.newPrincipal(['admin'])
  const other = await door.newPrincipal(['read'])
  const cookie = cookieOf(await signIn(other.token))
  const request = { principalId: other.id, ...(rpc === 'RotateToken' ? {} : { reason: 'left' }) }
  await door.call(token, `multihub.backoffice.v1.PrincipalService/${rpc}`, request)
  await eventually(
    () => send('POST', WHO, ofPage(cookie), '{}'),
    (answer) => answer?.status === 401,
  )
})

// O21: a form of another site is sent with the cookie by old browsers, and by a page on another port of the same host.
test('a call with a session that another site makes is refused', async () => {
  const cookie = cookieOf(await signIn((await door.newPrincipal(['read'])).token))
  const own = ofPage(cookie)
  const { 'x-multihub-csrf': _header, ...without_header } = own
  const { origin: _origin, ...without_origin } = own
  for (const headers of [
    without_header,
    without_origin,
    { ...own, origin: 'http://127.0.0.1:1' },
    { ...own, origin: 'https://evil.example' },
    { ...own, origin: 'null' },
    { ...without_header, 'content-type': 'application/x-www-form-urlencoded' },
  ])
    expect(await send('POST', WHO, headers, '{}')).not.toMatchObject({ status: 200 })
  expect(await send('POST', WHO, without_origin, '{}')).toMatchObject({
    status: 403,
    body: { code: 'permission_denied' },
  })
  expect(await send('DELETE', 'session', { ...own, origin: 'https://evil.example' })).toMatchObject({
    status: 403,
  })
  expect(await send('GET', 'session', { cookie, 'sec-fetch-site': 'cross-site' })).toMatchObject({
    status: 403,
  })
  expect(await send('POST', WHO, own, '{}')).toMatchObject({ status: 200 })
})

// O21
test('a page of another site signs nobody in, and a wrong token begins no session', async () => {
  const { token } = await door.newPrincipal(['read'])
  const body = JSON.stringify({ token })
  for (const [status, headers, sent] of [
    [403, { ...JSON_TYPE, origin: 'https://evil.example' }, body],
    [400, { 'content-type': 'text/plain', origin: door.url }, body],
    [400, JSON_TYPE, '{"token":1}'],
    [400, JSON_TYPE, '{"token":"a","more":"b"}'],
    [400, JSON_TYPE, `{"token":"${'a'.repeat(20_000)}"}`],
    [401, JSON_TYPE, '{}'],
    [401, JSON_TYPE, `{"token":"mhp_${'0'.repeat(64)}"}`],
  ] as const) {
    const answer = await send('POST', 'session', headers, sent)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([status, null])
  }
  const [, secret = ''] = cookieOf(await signIn(token)).split('=')
  expect(await signIn(secret)).toMatchObject({ status: 401 })
})

// O15, O21
test('a session of the first token ends with the first token', async () => {
  await using other = await startDoor([])
  const before = door
  door = other
  try {
    const cookie = cookieOf(await signIn(FIRST_TOKEN))
    expect(await send('POST', WHO, ofPage(cookie), '{}')).toMatchObject({ status: 200 })
    await other.newPrincipal(['admin'])
    await eventually(
      () => send('POST', WHO, ofPage(cookie), '{}'),
      (answer) => answer?.status === 401,
    )
  } finally {
    door = before
  }
})

// O21: a name that an attacker points at this machine gets neither a session nor an answer for one.
test('a request with a session for another host is refused', async () => {
  const cookie = cookieOf(await signIn((await door.newPrincipal(['read'])).token))
  const statusFor = (host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { ...ofPage(cookie), host, origin: `http://${host}` }
      request(`${door.url}/${WHO}`, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .once('error', reject)
        .end('{}')
    })
  expect(await statusFor('evil.example')).toBe(403)
  expect(await statusFor(new URL(door.url).host)).toBe(200)
})

// O22: each sign-in leaves an entry permanently.
test('the sign-ins of one merchant count among its audited calls', async () => {
  const principals = await Promise.all(Array.from({ length: 6 }, () => door.newPrincipal(['read'], '7009')))
  const statuses: number[] = []
  for (const { token } of principals)
    for (let begun = 0; begun < 25; begun += 1) statuses.push((await signIn(token)).status)
  expect(statuses.slice(0, 120).every((status) => status === 200)).toBe(true)
  expect(statuses.slice(125)).toContain(429)
  expect(await signIn((await door.newPrincipal(['read'], '7010')).token)).toMatchObject({ status: 200 })
})

// O22: each sign-in stores a session for 12 hours.
test('a principal begins 30 sessions per minute, and nobody else has fewer by that', async () => {
  const { token } = await door.newPrincipal(['read'])
  const statuses = await Promise.all(Array.from({ length: 31 }, async () => (await signIn(token)).status))
  expect(statuses.filter((status) => status === 429)).toHaveLength(1)
  expect(statuses.filter((status) => status === 200)).toHaveLength(30)
  expect(await signIn((await door.newPrincipal(['read'])).token)).toMatchObject({ status: 200 })
})
