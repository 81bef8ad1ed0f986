import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { clock } from '#lib/base/time.ts'
import { role as balances } from '../../balances/service.ts'
import { role as merchants } from '../../merchants/service.ts'
import { role as notifier } from '../../notifier/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'

const OF_MERCHANTS = 'multihub.merchants.v1'
const ROTATE = `${OF_MERCHANTS}.CredentialService/RotateSecret`

interface Merchant {
  readonly id: string
  readonly application_id: string
}

let door: TestDoor
let own: Merchant
let other: Merchant
let token: string
beforeAll(async () => {
  door = await startDoor([merchants, balances, notifier])
  own = await newMerchant('own')
  other = await newMerchant('other')
  token = (await door.newPrincipal(['read', 'rotate'], own.id)).token
})
afterAll(async () => door[Symbol.asyncDispose]())

async function newMerchant(name: string): Promise<Merchant> {
  const { merchant } = await door.roles
    .client(MerchantService, 'backoffice')
    .createMerchant({ name, timezone: 'Asia/Kolkata', environments: [Environment.TEST] })
  const id = merchant?.merchantId ?? ''
  const { credential } = await door.roles.client(CredentialService, 'backoffice').createCredential({
    merchantId: id,
    apiVersion: ApiVersion.V1,
    environment: Environment.TEST,
  })
  return { id, application_id: String(credential?.applicationId) }
}

// O2
test('sees its own merchant, also when the request leaves it out', async () => {
  const list = `${OF_MERCHANTS}.CredentialService/ListCredentials`
  for (const request of [{}, { merchantId: own.id }])
    expect(await door.call(token, list, request)).toMatchObject({
      status: 200,
      body: { credentials: [{ applicationId: own.application_id }] },
    })
})

// O2
test('another merchant is like one that does not exist, in content and in time', async () => {
  const timed = async (rpc: string, request: object) => {
    const started_ms = clock.monotonic_ms()
    const { status, body } = await door.call(token, rpc, request)
    return { answer: { status, body }, elapsed_ms: clock.monotonic_ms() - started_ms }
  }
  for (const [rpc, of] of [
    [`${OF_MERCHANTS}.MerchantService/GetMerchant`, (id: string) => ({ merchantId: id })],
    ['multihub.balances.v1.BalanceService/GetBalances', (id: string) => ({ merchantId: id })],
    ['multihub.notifier.v1.DeliveryService/ListDeliveries', (id: string) => ({ merchantId: id })],
  ] as const) {
    const [missing, foreign] = [await timed(rpc, of('999999')), await timed(rpc, of(other.id))]
    expect(foreign.answer).toEqual(missing.answer)
    expect(missing.answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    for (const { elapsed_ms } of [missing, foreign]) expect(elapsed_ms).toBeGreaterThanOrEqual(49)
  }
  const [missing, foreign] = [
    await timed(ROTATE, { applicationId: '999999' }),
    await timed(ROTATE, { applicationId: other.application_id }),
  ]
  expect(foreign.answer).toEqual(missing.answer)
  expect(missing.answer).toMatchObject({ status: 404 })
})

// O2
test('rotates the secrets of its own credentials only with the right for it', async () => {
  const request = { applicationId: own.application_id, overlapSeconds: 60 }
  expect(await door.call(token, ROTATE, request)).toMatchObject({
    status: 200,
    body: { secret: expect.stringMatching(/^[0-9a-f]{64}$/) },
  })
  const { token: reader } = await door.newPrincipal(['read'], own.id)
  expect(await door.call(reader, ROTATE, request)).toMatchObject({ body: { code: 'permission_denied' } })
})

// O1, O14
test('RPCs about no single merchant, and other changes, are closed to it', async () => {
  for (const rpc of [
    `${OF_MERCHANTS}.MerchantService/ListMerchants`,
    `${OF_MERCHANTS}.MerchantService/UpdateMerchant`,
    'multihub.balances.v1.BalanceService/Adjust',
  ])
    expect(await door.call(token, rpc, { merchantId: own.id })).toMatchObject({
      status: 403,
      body: { code: 'permission_denied' },
    })
})

// O1
test('an instance for merchants accepts no principal of the operator', async () => {
  await using public_door = await startDoor([merchants], { MULTIHUB_BACKOFFICE_AUDIENCE: 'merchants' })
  const who = 'multihub.backoffice.v1.PrincipalService/WhoAmI'
  const operator = await public_door.newPrincipal(['admin'])
  const developer = await public_door.newPrincipal(['read'], '7001')
  expect(await public_door.call(operator.token, who, {})).toMatchObject({ status: 401 })
  expect(await public_door.call(developer.token, who, {})).toMatchObject({
    status: 200,
    body: { principal: { principalId: developer.id, merchantId: '7001' } },
  })
})
