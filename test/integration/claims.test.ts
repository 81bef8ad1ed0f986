import { afterAll, test } from '@jest/globals'
import { startAttachments } from '../../services/attachments/attachments.fixture.ts'
import { claimsSuite } from '../suites/claims.suite.ts'
import { mongodbForTests } from '../support/servers.ts'

const mongodb = await mongodbForTests()
afterAll(async () => {
  if ('stop' in mongodb) await mongodb.stop()
})

claimsSuite('embedded', () => startAttachments())

if ('skip' in mongodb) test.skip(`claims on mongodb: ${mongodb.skip}`, () => {})
else claimsSuite('mongodb', () => startAttachments(undefined, { mongodb_uri: mongodb.uri }))
