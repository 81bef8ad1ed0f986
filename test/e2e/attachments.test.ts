import { test } from '@jest/globals'
import { mongodbForTests, natsForTests } from '../support/servers.ts'
import { startOneProcess, startProcessPerRole } from '../support/system.ts'
import { attachmentsSuite } from './attachments.suite.ts'

const variables = { MULTIHUB_SCANNER: 'none' }
attachmentsSuite('everything in one process', () => startOneProcess(variables))

const nats = await natsForTests()
const mongodb = await mongodbForTests()

if ('skip' in nats) test.skip(`files, one process per role: ${nats.skip}`, () => {})
else
  attachmentsSuite('one process per role, embedded stores', () =>
    startProcessPerRole(nats.url, undefined, { variables }),
  )

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in mongodb ? mongodb.skip : 'there is no NATS'
  test.skip(`files, one process per role on MongoDB: ${reason}`, () => {})
} else {
  attachmentsSuite('one process per role, MongoDB', () =>
    startProcessPerRole(nats.url, mongodb.uri, { variables }),
  )
}
