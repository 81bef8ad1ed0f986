import { afterAll, test } from '@jest/globals'
import { natsForTests } from '../support/servers.ts'
import { processPerRoleSuite } from './process-per-role.suite.ts'

const nats = await natsForTests()
afterAll(async () => {
  if ('stop' in nats) await nats.stop()
})

if ('skip' in nats) test.skip(`one process per role: ${nats.skip}`, () => {})
else processPerRoleSuite('one process per role, embedded stores', nats.url)
