import { expect, test } from '@jest/globals'
import { role as notifier } from '../../notifier/service.ts'
import { startDoor } from '../backoffice.fixture.ts'

const DELIVERIES = 'multihub.notifier.v1.DeliveryService'

// O15.3
test('a destination that does not exist is NOT_FOUND, with the detail of its owner', async () => {
  await using door = await startDoor([notifier])
  const { token } = await door.newPrincipal(['support'])
  for (const rpc of ['GetDestination', 'ProbeDestination'])
    expect(await door.call(token, `${DELIVERIES}/${rpc}`, { destinationKey: 'endpoint:none' })).toMatchObject(
      { status: 404, body: { code: 'not_found', details: [{ debug: { code: 1003 } }] } },
    )
})
