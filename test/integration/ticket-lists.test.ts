import { afterAll, test } from '@jest/globals'

import { ticketListsSuite } from '../suites/ticket-lists.suite.ts'
import { mongodbForTests } from '../support/servers.ts'
import { startSupport } from './support.fixture.ts'

const mongodb = await mongodbForTests()
afterAll(async () => {
  if ('stop' in mongodb) await mongodb.stop()
})

ticketListsSuite('embedded', () => startSupport())

if ('skip' in mongodb) test.skip(`ticket lists on mongodb: ${mongodb.skip}`, () => {})
else ticketListsSuite('mongodb', () => startSupport(mongodb.uri))
