import { afterAll, test } from '@jest/globals'
import { mongodbForTests, natsForTests } from '../support/servers.ts'
import { processPerRoleSuite } from './process-per-role.suite.ts'

const nats = await natsForTests()
const mongodb = await mongodbForTests()
afterAll(async () => {
  if ('stop' in nats) await nats.stop()
  if ('stop' in mongodb) await mongodb.stop()
})

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in mongodb ? mongodb.skip : 'there is no NATS'
  test.skip(`one process per role on MongoDB: ${reason}`, () => {})
} else {
  processPerRoleSuite('one process per role, MongoDB', nats.url, mongodb.uri)
}
