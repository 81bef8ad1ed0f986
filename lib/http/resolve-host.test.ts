import { expect, test } from '@jest/globals'
import { answerEveryName } from '../../test/support/name-server.ts'
import { createHostResolver } from './resolve-host.ts'

test('uses at most 16 addresses of a host', async () => {
  const addresses = Array.from({ length: 17 }, (_, number) => `192.0.2.${number}`)
  using _name_server = answerEveryName(...addresses)
  const resolved = await createHostResolver()('shop.example')
  expect(resolved).toEqual(addresses.slice(0, 16).map((address) => ({ address, family: 4 })))
})
