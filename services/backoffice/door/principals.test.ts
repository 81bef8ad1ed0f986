import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { clock, machineClock, useClock } from '#lib/base/time.ts'
import { FIRST_TOKEN, startDoor, type TestDoor } from '../backoffice.fixture.ts'

const PRINCIPALS = 'multihub.backoffice.v1.PrincipalService'
const WHO = `${PRINCIPALS}/WhoAmI`

let door: TestDoor
let admin: string
/** How far the clock is ahead of the machine's: time that has passed for the back office, and for no test. */
let ahead_ms = 0
beforeAll(async () => {
  useClock({
    ...machineClock,
    now_ms: () => machineClock.now_ms() + ahead_ms,
    monotonic_ms: () => machineClock.monotonic_ms() + ahead_ms,
  })
  door = await startDoor([])
  admin = (await door.newPrincipal(['admin'])).token
})
afterAll(async () => door[Symbol.asyncDispose]())

const GIVEN = { name: 'Asha', kind: 'PRINCIPAL_KIND_PERSON', rights: ['money', 'read'], operationId: 'asha' }

/** The status of a call 2 s later: changes of principals that were made before count then (O3). */
async function statusLater(token: string, rpc = WHO): Promise<number> {
  ahead_ms += 2_000
  return (await door.call(token, rpc, {})).status
}

// O3, O15
test('a token is shown once, and a repetition answers the principal without it', async () => {
  const created = await door.call(admin, `${PRINCIPALS}/CreatePrincipal`, GIVEN)
  expect(created).toMatchObject({
    status: 200,
    body: {
      token: expect.stringMatching(/^mhp_[0-9a-f]{64}$/),
      principal: {
        name: 'Asha',
        kind: 'PRINCIPAL_KIND_PERSON',
        rights: ['read', 'money'],
        merchantId: '',
        status: 'PRINCIPAL_STATUS_ACTIVE',
      },
    },
  })
  const repeated = await door.call(admin, `${PRINCIPALS}/CreatePrincipal`, GIVEN)
  expect(repeated.body).toEqual({ ...created.body, token: '' })
  expect(await door.call(admin, `${PRINCIPALS}/CreatePrincipal`, { ...GIVEN, name: 'Other' })).toMatchObject({
    body: { code: 'aborted' },
  })
  expect((await door.call(created.body.token, WHO, {})).body.principal).toEqual(created.body.principal)
  const folder = door.roles.directory
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (file.isFile())
      expect((await readFile(join(file.parentPath, file.name))).includes(created.body.token)).toBe(false)
})

// O3
test('a change of rights, a rotation and a revocation count within 2 s', async () => {
  const { id, token } = await door.newPrincipal(['read'])
  const list = `${PRINCIPALS}/ListPrincipals`
  expect(await door.call(token, list, {})).toMatchObject({ status: 403 })
  await door.call(admin, `${PRINCIPALS}/UpdatePrincipal`, { principalId: id, rights: ['admin'] })
  expect(await statusLater(token, list)).toBe(200)

  const rotate = { principalId: id, overlapSeconds: 60 }
  const rotated = await door.call(admin, `${PRINCIPALS}/RotateToken`, rotate)
  for (const one of [token, rotated.body.token]) expect(await statusLater(one)).toBe(200)
  await door.call(admin, `${PRINCIPALS}/RotateToken`, { ...rotate, overlapSeconds: 0 })
  for (const one of [token, rotated.body.token]) expect(await statusLater(one)).toBe(401)

  const other = await door.newPrincipal(['read'])
  expect(await statusLater(other.token)).toBe(200)
  const revoked = await door.call(admin, `${PRINCIPALS}/RevokePrincipal`, {
    principalId: other.id,
    reason: 'left',
  })
  expect(revoked.body.principal.status).toBe('PRINCIPAL_STATUS_REVOKED')
  expect(await statusLater(other.token)).toBe(401)
  for (const [rpc, fields] of [
    ['RotateToken', {}],
    ['UpdatePrincipal', { rights: ['admin'] }],
  ] as const)
    expect(
      await door.call(admin, `${PRINCIPALS}/${rpc}`, { principalId: other.id, ...fields }),
    ).toMatchObject({
      body: { code: 'failed_precondition' },
    })
})

// O3
test.each([-1, 30 * 86_400 + 1])('an overlap of %d seconds is refused', async (overlapSeconds) => {
  const { id: principalId } = await door.newPrincipal(['read'])
  expect(await door.call(admin, `${PRINCIPALS}/RotateToken`, { principalId, overlapSeconds })).toMatchObject({
    status: 400,
    body: { code: 'invalid_argument' },
  })
})

// O12, O15
test('a repeated rotation issues no second token, and answers without the first', async () => {
  const { id, token } = await door.newPrincipal(['read'])
  const rotate = (fields: object) =>
    door.call(admin, `${PRINCIPALS}/RotateToken`, { principalId: id, operationId: 'one', ...fields })
  const first = await rotate({ overlapSeconds: 60 })
  const again = await rotate({ overlapSeconds: 60 })
  expect([again.status, again.body.principal.principalId, again.body.token]).toEqual([200, id, ''])
  expect(await rotate({})).toMatchObject({ status: 409 })
  for (const one of [token, first.body.token]) expect(await statusLater(one)).toBe(200)
})

// O1
test('a principal stops to count at its expiry, and gets no other token', async () => {
  const expires_at = new Date(clock.now_ms() + 60_000)
  const created = await door.call(admin, `${PRINCIPALS}/CreatePrincipal`, {
    ...GIVEN,
    operationId: 'short',
    expiresAt: expires_at.toISOString(),
  })
  expect(await statusLater(created.body.token)).toBe(200)
  ahead_ms += 60_000
  expect(await statusLater(created.body.token)).toBe(401)
  const { principalId } = created.body.principal
  expect(await door.call(admin, `${PRINCIPALS}/RotateToken`, { principalId })).toMatchObject({
    body: { code: 'failed_precondition' },
  })
})

// O14, O15
test.each([
  ['rights', { ...GIVEN, rights: [] }],
  ['rights.1', { ...GIVEN, rights: ['read', 'everything'] }],
  ['rights.0', { ...GIVEN, rights: ['money'], merchantId: '7001' }],
  ['kind', { ...GIVEN, kind: 0 }],
  ['name', { ...GIVEN, name: '' }],
  ['operation_id', { ...GIVEN, operationId: '' }],
  ['expires_at', { ...GIVEN, operationId: 'past', expiresAt: '2020-01-01T00:00:00Z' }],
])('a wrong %s is refused, and nothing is stored', async (path, request) => {
  const before = await door.call(admin, `${PRINCIPALS}/ListPrincipals`, {})
  const answer = await door.call(admin, `${PRINCIPALS}/CreatePrincipal`, request)
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_argument' } })
  expect(Buffer.from(answer.body.details[0].value, 'base64').toString()).toContain(`"description":"${path}"`)
  expect(await door.call(admin, `${PRINCIPALS}/ListPrincipals`, {})).toMatchObject({ body: before.body })
})

// O15
test('a principal that does not exist is NOT_FOUND, and the first token counts again without an administrator', async () => {
  expect(
    await door.call(admin, `${PRINCIPALS}/RevokePrincipal`, { principalId: 'nobody', reason: 'x' }),
  ).toMatchObject({ status: 404 })
  await using other = await startDoor([])
  const { id } = await other.newPrincipal(['admin'])
  expect(await other.call(FIRST_TOKEN, WHO, {})).toMatchObject({ status: 401 })
  const backoffice = other.roles
  expect(backoffice.urls['backoffice_url']).toBe(other.url)
  const { PrincipalService } = await import('#gen/multihub/backoffice/v1/principal_service_pb.ts')
  await backoffice.client(PrincipalService, 'backoffice').revokePrincipal({ principalId: id, reason: 'left' })
  ahead_ms += 2_000
  expect(await other.call(FIRST_TOKEN, WHO, {})).toMatchObject({ status: 200 })
})
