import { afterAll, test } from '@jest/globals'
import { mongodbForTests, natsForTests } from '../support/servers.ts'
import { startOneProcess, startProcessPerRole } from '../support/system.ts'
import { resendSuite } from './resend.suite.ts'

resendSuite('everything in one process', () => startOneProcess(), { roles_apart: false })

const nats = await natsForTests()
const mongodb = await mongodbForTests()
afterAll(async () => {
  if ('stop' in nats) await nats.stop()
  if ('stop' in mongodb) await mongodb.stop()
})

if ('skip' in nats) test.skip(`repeated callbacks, one process per role: ${nats.skip}`, () => {})
else {
  const uri = 'skip' in mongodb ? undefined : mongodb.uri
  const name = `one process per role, ${uri === undefined ? 'embedded stores' : 'MongoDB'}`
  resendSuite(name, () => startProcessPerRole(nats.url, uri), { roles_apart: true })
}
