import { afterAll, test } from '@jest/globals'

import { refundListsSuite } from '../suites/refund-lists.suite.ts'
import { mongodbForTests } from '../support/servers.ts'
import { startSupport } from './support.fixture.ts'

const mongodb = await mongodbForTests()
afterAll(async () => {
  if ('stop' in mongodb) await mongodb.stop()
})

refundListsSuite('embedded', () => startSupport())

if ('skip' in mongodb) test.skip(`refund lists on mongodb: ${mongodb.skip}`, () => {})
else refundListsSuite('mongodb', () => startSupport(mongodb.uri))
