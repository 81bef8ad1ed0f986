import { test } from '@jest/globals'
import { mongodbForTests, natsForTests } from '../support/servers.ts'
import { startOneProcess, startProcessPerRole } from '../support/system.ts'
import { withdrawalSuite } from './withdrawal.suite.ts'

// R4: the receiver of these tests is on 127.0.0.1.
withdrawalSuite('everything in one process', () => startOneProcess())

const nats = await natsForTests()
const mongodb = await mongodbForTests()

if ('skip' in nats) test.skip(`withdrawals, one process per role: ${nats.skip}`, () => {})
else withdrawalSuite('one process per role, embedded stores', () => startProcessPerRole(nats.url, undefined))

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in mongodb ? mongodb.skip : 'there is no NATS'
  test.skip(`withdrawals, one process per role on MongoDB: ${reason}`, () => {})
} else {
  withdrawalSuite('one process per role, MongoDB', () => startProcessPerRole(nats.url, mongodb.uri))
}
