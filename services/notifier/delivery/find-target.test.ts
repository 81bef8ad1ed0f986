import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { SealedEndpointSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { deepFreeze } from '#lib/base/deep-freeze.ts'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import { delivery } from '../delivery.fixture.ts'
import { keys } from '../notifier.fixture.ts'
import { createFindTarget } from './find-target.ts'

/** The search for secrets with endpoints that have these sealed secrets, and the owners of what was decrypted. */
function searchIn(sealed_by_endpoint: Record<string, string | undefined>) {
  const unsealed: string[] = []
  const findTarget = createFindTarget(
    {
      merchantEndpoints: async () =>
        deepFreeze(
          Object.entries(sealed_by_endpoint).map(([endpointId, sealed]) =>
            create(SealedEndpointSchema, {
              endpoint: { endpointId },
              ...(sealed === undefined ? {} : { secret: { sealed } }),
            }),
          ),
        ),
    },
    {
      ...keys,
      endpoint: {
        ...keys.endpoint,
        unseal(sealed, owner) {
          unsealed.push(owner)
          return keys.endpoint.unseal(sealed, owner)
        },
      },
    },
  )
  const reveal = async (endpoint_id: string): Promise<string | undefined> =>
    (await findTarget(delivery({ endpoint_id })))?.secret.reveal()
  return { findTarget, reveal, unsealed }
}

const sealFor = (endpoint_id: string, secret: Secret): string =>
  keys.endpoint.seal(secret, ownerOfEndpointSecret(endpoint_id))

test('the secret of an endpoint is decrypted once, and again after a rotation', async () => {
  const [first, second] = [newSecret(), newSecret()]
  const sealed: Record<string, string> = { one: sealFor('one', first) }
  const { reveal, unsealed } = searchIn(sealed)
  for (let number = 0; number < 3; number += 1) expect(await reveal('one')).toBe(first.reveal())
  expect(unsealed).toHaveLength(1)
  sealed['one'] = sealFor('one', second)
  for (let number = 0; number < 3; number += 1) expect(await reveal('one')).toBe(second.reveal())
  expect(unsealed).toHaveLength(2)
})

test('a secret that was sealed for one endpoint never signs for another', async () => {
  const sealed = sealFor('one', newSecret())
  const { reveal } = searchIn({ one: sealed, two: sealed })
  await reveal('one')
  await expect(reveal('two')).rejects.toThrow()
})

test('there is none for an endpoint that is deleted or has none', async () => {
  const { reveal } = searchIn({ one: undefined })
  expect([await reveal('one'), await reveal('two')]).toEqual([undefined, undefined])
})

// N8
test('a payment with a webhook_url has its own', async () => {
  const secret = newSecret()
  const { findTarget } = searchIn({})
  const owner = 'webhook:7001:order-1'
  const own = delivery({ secret: { sealed: keys.webhook.seal(secret, owner), owner } })
  const target = await findTarget(own)
  expect(target?.secret.reveal()).toBe(secret.reveal())
  expect(target?.address.url).toBe(own.url)
})
