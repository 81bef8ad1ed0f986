import { afterEach, expect, jest, test } from '@jest/globals'
import { Db } from 'mongodb'
import { Secret } from '#lib/base/crypto/secret.ts'
import { openStore } from '../open.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

test('the commands that check the server name a time limit below that of the call', async () => {
  const command = jest.spyOn(Db.prototype, 'command').mockResolvedValue({ ok: 1, localTime: new Date(0) })
  const store = await openStore({
    database: 'ping',
    mongodb_uri: new Secret('mongodb://127.0.0.1:1'),
    timeout_ms: 1_000,
  })
  try {
    command.mockClear()
    await store.ping()
    await store.readClock()
  } finally {
    await store.close()
  }
  const sent = command.mock.calls.map(([document]) => document)
  expect(sent).toMatchObject([{ ping: 1 }, { hello: 1 }])
  for (const { maxTimeMS } of sent) {
    expect(maxTimeMS).toBeGreaterThan(0)
    expect(maxTimeMS).toBeLessThan(1_000)
  }
})
