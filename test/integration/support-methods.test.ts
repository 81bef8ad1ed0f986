import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { SCOPES } from '#lib/contract/methods.ts'
import { eventually } from '../support/eventually.ts'
import { type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
beforeAll(async () => {
  system = await startSupport()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

const NOTHING = { identifiers: { c_id: 'none' } }

// A10
test('support methods are unknown until the operator switches their resource on', async () => {
  const shop = await system.newMerchant({ supportResources: [] })
  const off = await shop.call('ticket.get', NOTHING)
  const unknown = await shop.call('ticket.unknown', NOTHING)
  expect(off).toMatchObject({ http_status: 404, body: { error: { code: 1002 } } })
  expect(off.body.error).toEqual(unknown.body.error)

  const applicationId = shop.application_id
  const credentials = system.operator(CredentialService)
  await credentials.updateCredential({ applicationId, supportResources: { values: ['refund'] } })
  const { credential } = await credentials.updateCredential({
    applicationId,
    supportResources: { values: ['ticket'] },
  })
  expect(credential?.supportResources).toEqual(['ticket'])
  const on = await eventually(
    () => shop.call('ticket.get', NOTHING),
    (response) => response?.body.error.code !== 1002,
  )
  expect(on).toMatchObject({ http_status: 404, body: { error: { code: 10001 } } })
})

// A8
test('a support method needs its own scope', async () => {
  const shop = await system.newMerchant({ scopes: SCOPES.filter((scope) => scope !== 'tickets.read') })
  const refused = await shop.call('ticket.get', NOTHING)
  expect(refused).toMatchObject({ http_status: 403, body: { error: { code: 3008 } } })
})

// E13
test('a dependency of a support method that is down is HTTP 503', async () => {
  const shop = await system.newMerchant()
  system.roles.setStoreUnavailable('support', true)
  const refused = await shop.call('ticket.get', NOTHING)
  system.roles.setStoreUnavailable('support', false)
  expect(refused).toMatchObject({ http_status: 503, body: { error: { code: 2002 } } })
  expect(await shop.call('ticket.get', NOTHING)).toMatchObject({ http_status: 404 })
})
